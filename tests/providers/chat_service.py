"""A Chat Completions service on loopback whose answers a test writes, down to the byte.

A real HTTP server, and no double of our own client: it speaks HTTP/1.1 with chunked streaming,
keeps connections open, and can break them wherever a test wants.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

MODEL = "analyst-1"
USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """The way back to the client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def raw(self, content: bytes) -> None:
        self._writer.write(content)
        await self._writer.drain()

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in headers.items())]
        await self.raw("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def piece(self, content: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(content), content))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def hung_up(self) -> None:
        """Wait until the client closes its connection."""
        await self._reader.read(1)

    def cut(self) -> None:
        """Break the connection at once, as a dying proxy does."""
        self._writer.transport.abort()


Answer = Callable[[Received, Wire], Awaitable[None]]


@dataclass
class ChatService:
    """Gives the answers in order, the last one again and again."""

    answers: tuple[Answer, ...]
    requests: list[Received] = field(default_factory=list)
    in_flight: int = 0
    peak_in_flight: int = 0
    connections: int = 0
    base_url: str = ""

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, backlog=1024, limit=2**24
        )
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer, self.connections))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        try:
            while True:
                request = await _receive(reader, connection)
                self.requests.append(request)
                self.in_flight += 1
                self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
                answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
                try:
                    await answer(request, Wire(reader, writer))
                finally:
                    self.in_flight -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The client has gone.
        finally:
            writer.close()


async def _receive(reader: asyncio.StreamReader, connection: int) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(first.split(" ")[1], headers, body, connection)


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event; JSON unless it is text or bytes already."""
    text = data if isinstance(data, bytes) else str(data).encode()
    if isinstance(data, dict | list):
        text = json.dumps(data, separators=(",", ":")).encode()
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + text + b"\n\n"


def chunk(
    delta: dict[str, Any] | None = None, finish: str | None = None, **members: Any
) -> dict[str, Any]:
    """A chunk of the usual shape; `members` are added around, or replace, the usual ones."""
    choices = [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": choices,
        **members,
    }


def call_delta(index: int | None, arguments: str, **members: Any) -> dict[str, Any]:
    """A delta with one fragment of one tool call."""
    function = {"arguments": arguments}
    if "name" in members:
        function = {"name": members.pop("name"), **function}
    own = {} if index is None else {"index": index}
    return {"tool_calls": [{**own, **members, "function": function}]}


def usage_chunk(**members: Any) -> dict[str, Any]:
    """The last chunk of a stream that was asked for usage."""
    return chunk(choices=[], **{"usage": USAGE, **members})


def stream(*events: Any, done: bool = True, **headers: str) -> Answer:
    """A stream of these events, ended properly."""

    async def answer(_: Received, wire: Wire) -> None:
        await begin(wire, **headers)
        for item in events:
            await wire.piece(item if isinstance(item, bytes) else event(item))
        if done:
            await wire.piece(event("[DONE]"))
        await wire.end()

    return answer


def reply(*deltas: dict[str, Any], finish: str = "stop", **members: Any) -> Answer:
    """A whole reply of these deltas."""
    chunks = [chunk(delta, **members) for delta in deltas]
    return stream(*chunks, chunk(finish=finish, **members), usage_chunk(**members))


def refusal(status: int, body: Any, **headers: str) -> Answer:
    """A refusal with this body; JSON unless it is text or bytes already."""
    content = body if isinstance(body, bytes) else str(body).encode()
    if isinstance(body, dict | list):
        content = json.dumps(body).encode()

    async def answer(_: Received, wire: Wire) -> None:
        own = {"content-length": str(len(content)), "content-type": "application/json"}
        await wire.head(status, {**own, **_header_names(headers)})
        await wire.raw(content)

    return answer


async def begin(wire: Wire, **headers: str) -> None:
    """The head of a stream."""
    own = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
    await wire.head(200, {**own, **_header_names(headers)})


def _header_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


HELLO_REPLY = reply({"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo."})
