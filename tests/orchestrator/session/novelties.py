"""A vendor that changes its protocol overnight: a proxy in front of the rehearsal gateway.

Every event of a reply has fields that nobody knows, unknown events stand between them, and some
replies end for a reason that nobody has heard of. What it adds to a reply it wants back, and takes
out again before the gateway, which knows nothing of it, sees the request.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx2

from tests.providers.chat_service import ChatService, Received, Wire, begin, event

NOVEL: Final = "x_novel"
NEWS: Final = {"since": "overnight", "amount": 1.10}
REASON: Final = "brand_new_reason"
# Every so many replies of a protocol end for the new reason.
STRANGE_ENDS: Final = 3

_ENDS: Final = {
    "chat": ('"finish_reason":"tool_calls"', f'"finish_reason":"{REASON}"'),
    "messages": ('"stop_reason":"tool_use"', f'"stop_reason":"{REASON}"'),
    "responses": ('"status":"completed","background"', f'"status":"{REASON}","background"'),
}


class Novelties:
    """The proxy; `returned` counts what came back of its own, `ended` its strange ends."""

    def __init__(self, gateway: str) -> None:
        self._gateway = gateway
        self.returned: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self._replies: Counter[str] = Counter()

    async def answer(self, received: Received, wire: Wire) -> None:
        """Ask the gateway, and tell its answer with novelties."""
        protocol = _protocol(received.target)
        body = self._without_news(received.json, protocol)
        headers = {
            name: value
            for name, value in received.headers.items()
            if name in ("authorization", "content-type", "anthropic-version")
        }
        async with httpx2.AsyncClient() as client:
            url = self._gateway.removesuffix("/v1") + received.target
            answer = await client.post(url, content=json.dumps(body), headers=headers, timeout=60)
        if not answer.is_success:
            await wire.head(answer.status_code, {"content-length": str(len(answer.content))})
            await wire.raw(answer.content)
            return
        await begin(wire)
        for item in self._with_news(answer.text, protocol):
            await wire.piece(item)
        await wire.end()

    def _with_news(self, text: str, protocol: str) -> Iterator[bytes]:
        self._replies[protocol] += 1
        is_strange = self._replies[protocol] % STRANGE_ENDS == 0
        for one in text.strip().split("\n\n"):
            yield event({"type": "brand_new", "index": 0, "delta": 7}, "brand_new")
            *head, data = one.split("\n")
            name = head[0].removeprefix("event: ") if head else ""
            told = data.removeprefix("data: ")
            if is_strange and _ENDS[protocol][0] in told:
                self.ended[protocol] += 1
                told = told.replace(*_ENDS[protocol])
            if told == "[DONE]":
                yield event(told)
            else:
                yield event(_renewed(json.loads(told)), name)

    def _without_news(self, value: Any, protocol: str) -> Any:
        if isinstance(value, list):
            return [self._without_news(item, protocol) for item in value]
        if not isinstance(value, dict):
            return value
        if NOVEL in value:
            assert value[NOVEL] == NEWS
            self.returned[protocol] += 1
        return {
            key: self._without_news(item, protocol) for key, item in value.items() if key != NOVEL
        }


def _protocol(target: str) -> str:
    return target.rpartition("/")[2].replace("completions", "chat")


def _renewed(data: dict[str, Any]) -> dict[str, Any]:
    """An event with news around, and in what of it becomes part of the conversation."""
    for part in ("content_block", "item"):
        if part in data:
            data[part][NOVEL] = NEWS
    for choice in data.get("choices", []):
        if choice["delta"].get("role"):
            choice["delta"][NOVEL] = NEWS
    return {NOVEL: [None, {"deep": [1]}], **data}


@contextmanager
def serving(novelties: Novelties) -> Iterator[tuple[Novelties, str]]:
    """The proxy and its base URL; it serves in a thread of its own."""
    started: list[str] = []
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with ChatService((novelties.answer,)) as service:
            started.append(service.base_url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield novelties, started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
