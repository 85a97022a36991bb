"""The stream of one Responses reply.

The service repeats each item of its output whole when the item is done; these very bytes are kept.
Fragments before that are counted and not read. Events and items that nobody here knows are passed
over, or kept, and never an error.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from providers import replying
from providers.contract import ProviderFault, Reply, StopKind, ToolCall, Usage
from providers.faults import Scrub, error_in, fault_of
from providers.rawjson import (
    NULL,
    NotJson,
    array_text,
    elements,
    encoded,
    member,
    members,
    object_text,
    parsed,
    sound,
    text_of,
)
from providers.replying import LONGEST_NAME, Answerer, chunk_of, count_of, cut_off, given_up
from providers.routes import Route
from providers.sse import Event
from providers.transport import Exchanged, unreadable

# A fragment of a few characters comes in an event of a few hundred bytes, and all of it thrice.
LARGEST_STREAM_BYTES: Final = 64 * replying.LARGEST_REPLY_BYTES

_BEGINNINGS: Final = frozenset({"response.created", "response.in_progress", "response.queued"})
_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_STOPS: Final[Mapping[str, StopKind]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_CALL: Final = "function_call"
_REASONING: Final = "reasoning"

_RawObject = Mapping[str, msgspec.Raw]


class ResponsesStream:
    """One reply on its way; a `ReplyStream`."""

    def __init__(self, route: Route, scrub: Scrub) -> None:
        self.done = False
        self.begun = False
        self._route = route
        self._scrub = scrub
        self._answerer = Answerer(route, scrub)
        self._items: dict[int, bytes] = {}
        self._item_bytes = 0
        self._stream_bytes = 0
        self._response: _RawObject = {}

    def take(self, event: Event) -> None:
        """The next event.

        Raises:
            ProviderFault: an error, another model, or what is no event of a reply at all.
        """
        self._stream_bytes += len(event.data)
        if self._stream_bytes > LARGEST_STREAM_BYTES:
            raise ProviderFault(unreadable(replying.TOO_LARGE))
        if event.name.endswith(b".delta"):
            self.begun = True
            return
        if event.data == b"[DONE]":
            return
        try:
            self._take(event, members(event.data))
        except NotJson:
            if event.name and not event.name.startswith(b"response."):
                return
            fault = unreadable(self._scrub(chunk_of(event)))
        else:
            return
        raise ProviderFault(fault)

    def reply(self, exchanged: Exchanged) -> Reply:
        """The whole reply; see `ReplyStream`."""
        request_id = exchanged.request_id or self._name(self._response, "id") or None
        if not self.done:
            raise cut_off(request_id)
        status = self._name(self._response, "status")
        if status in ("failed", "cancelled"):
            raise given_up(status, request_id)
        items = self._whole_items()
        kinds = [text_of(member(members(item), "type")) for item in items]
        calls = tuple(_call(item) for item in items if _is(item, _CALL))
        replying.check_ids(calls, request_id)
        stop, word = self._stop(status, bool(calls))
        return Reply(
            native=sound(array_text(_bounded(item) for item in items)),
            text="".join(_text(item) for item in items if _is(item, "message")),
            tool_calls=calls,
            stop=stop,
            stop_reason=word,
            usage=usage_of(parsed(member(self._response, "usage"))),
            requested_model=self._route.model,
            returned_model=self._answerer.model,
            request_id=request_id,
            fingerprint=self._name(self._response, "system_fingerprint") or None,
            latency_seconds=exchanged.latency_seconds,
            first_token_seconds=exchanged.first_token_seconds,
            has_reasoning=_REASONING in kinds,
            is_only_reasoning=bool(kinds) and set(kinds) == {_REASONING},
        )

    def _take(self, event: Event, data: _RawObject) -> None:
        kind = text_of(member(data, "type")) or event.name.decode("utf-8", "replace")
        if kind == "error" or (not kind and member(data, "error") != NULL):
            raise self._error(parsed(event.data))
        if kind.endswith(".delta"):
            self.begun = True
        elif kind in _BEGINNINGS or kind in _ENDS:
            self._take_response(kind, members(member(data, "response")))
        elif kind == "response.output_item.done":
            self._take_item(data)

    def _take_response(self, kind: str, response: _RawObject) -> None:
        self._answerer.says(text_of(member(response, "model")))
        if kind not in _ENDS:
            return
        if member(response, "error") != NULL:
            raise self._error({"error": parsed(member(response, "error"))})
        self._response = response
        self.done = True

    def _take_item(self, data: _RawObject) -> None:
        self.begun = True
        item = member(data, "item")
        self._item_bytes += len(item)
        if self._item_bytes > replying.LARGEST_REPLY_BYTES:
            raise ProviderFault(unreadable(replying.TOO_LARGE))
        index = member(data, "output_index")
        place = int(index) if index.isdigit() and len(index) < 10 else len(self._items)
        members(item)
        self._items[place] = item

    def _whole_items(self) -> list[bytes]:
        """The items as they were when they were done; a service may also tell them at the end
        alone.
        """
        done = [item for _, item in sorted(self._items.items())]
        output = member(self._response, "output")
        told = [bytes(item) for item in elements(output)] if output != NULL else []
        return told if len(told) > len(done) else done

    def _stop(self, status: str, has_calls: bool) -> tuple[StopKind, str]:
        """How the reply ended, and the service's word for it."""
        if status == "incomplete":
            details = member(self._response, "incomplete_details")
            reason = self._name(members(details), "reason") if details != NULL else ""
            return _STOPS.get(reason, "other"), reason or status
        if status in ("completed", ""):
            return ("tool_calls" if has_calls else "finished"), status or "completed"
        return "other", status

    def _error(self, value: Any) -> ProviderFault:
        now = datetime.now(UTC)
        error = error_in(value)
        return ProviderFault(fault_of(error, None, headers={}, now=now, scrub=self._scrub))

    def _name(self, holder: _RawObject, key: str) -> str:
        return self._scrub(text_of(member(holder, key)), LONGEST_NAME)


def usage_of(usage: Any) -> Usage | None:
    """The tokens that a usage object states (section 3): cached ones are in the input, reasoning in
    the output. None when it does not state both; no request is without input.
    """
    if not isinstance(usage, dict):
        return None
    read, wrote = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    if not read or wrote is None:
        return None
    cached = count_of(usage.get("input_tokens_details"), "cached_tokens") or 0
    written = count_of(usage.get("input_tokens_details"), "cache_write_tokens") or 0
    reasoning = count_of(usage.get("output_tokens_details"), "reasoning_tokens") or 0
    return Usage(read, min(cached, read), wrote, min(reasoning, wrote), min(written, read))


def _is(item: bytes, kind: str) -> bool:
    return text_of(member(members(item), "type")) == kind


def _call(item: bytes) -> ToolCall:
    call = members(item)
    text = member(call, "arguments")
    cut = len(text) > replying.LARGEST_ARGUMENTS_BYTES
    arguments = text_of(_shortened(text) if cut else text) or "{}"
    return ToolCall(text_of(member(call, "call_id")), text_of(member(call, "name")), arguments, cut)


def _bounded(item: bytes) -> bytes:
    """The item as it came, unless it calls with arguments longer than a reply may carry."""
    fields = {key: bytes(value) for key, value in members(item).items()}
    text = fields.get("arguments", NULL)
    if len(text) <= replying.LARGEST_ARGUMENTS_BYTES or not _is(item, _CALL):
        return item
    return object_text({**fields, "arguments": _shortened(text)})


def _shortened(arguments: bytes) -> bytes:
    return encoded(text_of(arguments)[: replying.LARGEST_ARGUMENTS_BYTES])


def _text(item: bytes) -> str:
    content = parsed(member(members(item), "content"))
    parts = content if isinstance(content, list) else []
    texts = [part.get("text", part.get("refusal")) for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))
