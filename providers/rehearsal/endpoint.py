"""The way of one request, in whatever protocol: in, checked, answered, written, counted."""

import asyncio
import hashlib
import re
import time
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from providers.rehearsal.access import Keeper
from providers.rehearsal.agents import AGENTS
from providers.rehearsal.faults import Strike, Striker
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.performance import next_reply
from providers.rehearsal.question import Answer, Question, WireProtocol
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.replies import SpokenReply, cut, tally
from providers.rehearsal.statistics import Entry, Statistics

LARGEST_BODY: Final = 64 * 2**20
# How many events are written before others have their turn.
EVENTS_IN_A_ROW: Final = 16

_REQUEST_NAME: Final = re.compile(r"[\x20-\x7e]{1,512}")


class _Gone(Exception):
    """The connection is at its end: the client has closed it, or a fault breaks it."""


class Endpoint:
    """The address of a protocol, an ASGI application of its own."""

    def __init__(
        self,
        protocol: WireProtocol,
        options: GatewayOptions,
        keeper: Keeper,
        statistics: Statistics,
        striker: Striker,
        label: Mapping[str, str],
    ) -> None:
        self._protocol = protocol
        self._options = options
        self._keeper = keeper
        self._statistics = statistics
        self._striker = striker
        self._label = label

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; a client that goes away ends it."""
        self._statistics.arrived()
        try:
            await self._serve(scope, receive, send)
        except Refusal as refusal:
            self._statistics.refused(refusal.status)
            await self._refused(refusal)(scope, receive, send)
        except _Gone:
            pass
        finally:
            self._statistics.left()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._keeper.admit(headers, self._protocol.key_headers)
        self._check_headers(headers)
        name = _request_name(headers)
        _check_media_type(headers)
        body = await _read_body(receive)
        question = self._protocol.read(body)
        strike = self._striker.strike(question.conversation)
        strike.refuse()
        digest = _digest(question)
        reply = self._reply(question, strike)
        ceiling = strike.ceiling(question.ceiling)
        usage = tally(question.conversation, question.offer.text, reply, ceiling)
        if usage.input_tokens + question.ceiling > self._options.context_tokens:
            raise self._protocol.too_long(question, usage, self._options.context_tokens)
        model = question.conversation.model
        self._statistics.note(Entry("asked", model, digest, name))
        answer = Answer(
            question,
            reply,
            usage,
            strike.model(model),
            digest,
            question.reports_usage and not strike.leaves_out_usage,
            created=int(time.time()),
        )
        leaving = asyncio.ensure_future(receive())
        try:
            await _pause(self._options.reply_delay_seconds + strike.delay_seconds, leaving)
            answered = Entry("answered", model, digest, name)
            if question.streams:
                events = self._protocol.stream(answer, self._options.chunks_per_reply)
                await self._send_events(list(events), strike, answered, leaving, send)
            else:
                written = self._protocol.whole(answer)
                response = Response(written, headers=self._headers(), media_type="application/json")
                self._statistics.note(answered)
                await response(scope, receive, send)
        finally:
            leaving.cancel()

    def _reply(self, question: Question, strike: Strike) -> SpokenReply:
        spoken = next_reply(
            AGENTS[question.conversation.model],
            question.conversation,
            thinks=question.thinks,
            one_call_at_a_time=question.one_call_at_a_time,
        )
        return cut(strike.spoken(spoken), strike.ceiling(question.ceiling))

    def _refused(self, refusal: Refusal) -> Response:
        headers = {**self._headers(), **refusal.headers}
        if refusal.page is not None:
            return Response(refusal.page, refusal.status, headers=headers, media_type="text/html")
        body = self._protocol.refusal(refusal, headers[self._protocol.request_id_header])
        return Response(body, refusal.status, headers=headers, media_type="application/json")

    def _check_headers(self, headers: Headers) -> None:
        for name in self._protocol.required_headers:
            if name not in headers:
                raise bad_request(f"{name}: header is required")

    async def _send_events(
        self,
        events: list[bytes],
        strike: Strike,
        answered: Entry,
        leaving: "asyncio.Future[Any]",
        send: Send,
    ) -> None:
        headers = {**self._headers(), "content-type": "text/event-stream; charset=utf-8"}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        pause = self._options.stream_seconds / max(1, len(events) - 1)
        broken = strike.broken(len(events))
        *events, last = events
        for number, event in enumerate(events if broken is None else events[: broken.position], 1):
            await send({"type": "http.response.body", "body": event, "more_body": True})
            if pause or number % EVENTS_IN_A_ROW == 0:
                await _pause(pause, leaving)
        if broken is not None:
            await _pause(broken.seconds, leaving)
            if broken.error is None:
                # Left without its end, the response makes the server close the connection.
                raise _Gone
            last = self._protocol.error_event(*broken.error)
            await send({"type": "http.response.body", "body": last, "more_body": False})
            return
        # Counted before the client can know that the reply is whole, lest a kill come in between.
        self._statistics.note(answered)
        await send({"type": "http.response.body", "body": last, "more_body": False})

    def _headers(self) -> dict[str, str]:
        name = self._protocol.request_id_header
        return {name: f"req_{uuid4().hex}", "cache-control": "no-cache", **self._label}


async def _pause(seconds: float, leaving: "asyncio.Future[Any]") -> None:
    """Wait, at least for everybody else's turn, unless the client leaves."""
    if seconds > 0:
        await asyncio.wait({leaving}, timeout=seconds)
    else:
        await asyncio.sleep(0)
    if leaving.done():
        raise _Gone


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            raise Refusal(413, f"The request body is larger than {LARGEST_BODY} bytes.")
        if not message.get("more_body", False):
            return b"".join(parts)


def _request_name(headers: Headers) -> str | None:
    """The name that the client gave its request."""
    name = headers.get("x-client-request-id")
    if name is not None and not _REQUEST_NAME.fullmatch(name):
        raise bad_request("X-Client-Request-Id must be 1 to 512 printable ASCII characters.")
    return name


def _check_media_type(headers: Headers) -> None:
    given = headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != "application/json":
        raise bad_request(
            f"Unsupported content type: '{given}'. This API method only accepts "
            "'application/json' requests.",
            code="unsupported_content_type",
        )


def _digest(question: Question) -> str:
    """What tells requests apart: model, tools and conversation, in hexadecimal."""
    talk = question.conversation
    parts = (talk.model.encode(), question.offer.text.encode(), talk.place)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
