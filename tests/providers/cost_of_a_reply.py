"""Measures the processor time that one reply costs the client, from request to `Reply`.

Run it: python -m tests.providers.cost_of_a_reply [chat|responses|messages ...]

The service is a process of its own on loopback; the conversation has a system prompt, 18 tools and
10 turns. Prints JSON: milliseconds of this process per reply, by protocol and shape of the stream.
"""

import asyncio
import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from typing import Any, Final

from providers.contract import (
    AssistantMessage,
    Message,
    Request,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from tests.providers.asking import provider_of, route
from tests.providers.chat_service import (
    MODEL,
    ChatService,
    Received,
    Wire,
    begin,
    chunk,
    event,
    usage_chunk,
)

# Name: chunks of a reply, seconds between them, requests at once, replies in all.
SHAPES: Final = {
    "one_chunk": (1, 0.0, 1, 60),
    "20_chunks": (20, 0.0, 1, 60),
    "500_chunks_at_once": (500, 0.0, 1, 40),
    "20_chunks_over_1_s_240_at_once": (20, 0.05, 240, 240),
    "500_chunks_over_5_s_240_at_once": (500, 0.01, 240, 240),
}


def conversation(protocol: str, chunks: int, gap: float) -> Request:
    """A company-window after ten turns, about 120 kB; its first line shapes the stream."""
    schema = {
        "type": "object",
        "properties": {
            f"field_{place}": {"type": "integer", "minimum": 0, "description": "cents " * 12}
            for place in range(5)
        },
        "additionalProperties": False,
    }
    tools = tuple(ToolDefinition(f"tool_{n}", "What it does. " * 20, schema) for n in range(18))
    messages: list[Message] = [UserMessage(f"{chunks} {gap}\n" + "briefing " * 900)]
    rows = json.dumps([{"day": day, "revenue_cents": 123_456} for day in range(60)])
    for turn in range(10):
        ids = [f"call-{turn}-{n}" for n in range(3)]
        messages.append(AssistantMessage(json.dumps(_SAID[protocol](ids))))
        messages.extend(ToolResult(identity, rows) for identity in ids)
    return Request("You are the CEO. " * 700, tuple(messages), tools, 8_192)


_THOUGHT: Final = "think " * 300
_QUERY: Final = {"sql": "select * from x"}


def _chat(ids: list[str]) -> Any:
    function = {"name": "query_company", "arguments": json.dumps(_QUERY)}
    calls = [{"id": identity, "type": "function", "function": function} for identity in ids]
    return {"role": "assistant", "reasoning_content": _THOUGHT, "tool_calls": calls}


def _responses(ids: list[str]) -> Any:
    call = {"type": "function_call", "name": "query_company", "arguments": json.dumps(_QUERY)}
    reasoning = {"id": "rs", "type": "reasoning", "summary": [], "encrypted_content": _THOUGHT}
    return [reasoning, *({"id": f"fc-{one}", **call, "call_id": one} for one in ids)]


def _messages(ids: list[str]) -> Any:
    call = {"type": "tool_use", "name": "query_company", "input": _QUERY}
    return [
        {"type": "thinking", "thinking": _THOUGHT, "signature": "s"},
        *({**call, "id": identity} for identity in ids),
    ]


_SAID: Final = {"chat": _chat, "responses": _responses, "messages": _messages}


def _shape(body: Any) -> list[str]:
    """The first words of the briefing: chunks, seconds between them."""
    said = body["input"] if "input" in body else body["messages"]
    content = next(item["content"] for item in said if item["role"] == "user")
    text = content if isinstance(content, str) else content[0]["text"]
    return str(text).partition("\n")[0].split(" ")


def _stream(target: str, chunks: int) -> list[bytes]:
    if target.endswith("/responses"):
        return _responses_stream(chunks)
    if target.endswith("/messages"):
        return _messages_stream(chunks)
    said = [event(chunk({"reasoning_content": f" word{place}"})) for place in range(chunks)]
    return [*said, *(event(item) for item in (chunk(finish="stop"), usage_chunk(), "[DONE]"))]


def _responses_stream(chunks: int) -> list[bytes]:
    text = "".join(f" word{place}" for place in range(chunks))
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    done = {**item, "content": [part]}
    usage = {"input_tokens": 120, "output_tokens": 30}
    begun = {"id": "resp", "model": MODEL, "status": "in_progress", "output": []}
    ended = {**begun, "status": "completed", "output": [done], "usage": usage}
    kind = "response.output_text.delta"
    return [
        _named({"type": "response.created", "response": begun}),
        *(
            _named({"type": kind, "item_id": "m", "output_index": 0, "delta": f" word{place}"})
            for place in range(chunks)
        ),
        _named({"type": "response.output_item.done", "output_index": 0, "item": done}),
        _named({"type": "response.completed", "response": ended}),
    ]


def _messages_stream(chunks: int) -> list[bytes]:
    message = {"id": "m", "model": MODEL, "usage": {"input_tokens": 120, "output_tokens": 1}}
    block = {"type": "thinking", "thinking": "", "signature": ""}
    start, kind = {"type": "content_block_start", "index": 0}, "content_block_delta"
    return [
        _named({"type": "message_start", "message": message}),
        _named({**start, "content_block": block}),
        *(
            _named(
                {
                    "type": kind,
                    "index": 0,
                    "delta": {"type": "thinking_delta", "thinking": f" word{place}"},
                }
            )
            for place in range(chunks)
        ),
        _named({"type": "content_block_stop", "index": 0}),
        _named(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 30},
            }
        ),
        _named({"type": "message_stop"}),
    ]


def _named(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


async def _answer(received: Received, wire: Wire) -> None:
    chunks, gap = _shape(received.json)
    await begin(wire)
    for item in _stream(received.target, int(chunks)):
        await wire.piece(item)
        if float(gap):
            await asyncio.sleep(float(gap))
    await wire.end()


def serve(place: Connection) -> None:
    """Serve on loopback until the process is ended, and tell where."""

    async def run() -> None:
        async with ChatService((_answer,)) as service:
            place.send(service.base_url)
            await asyncio.Event().wait()

    asyncio.run(run())


async def _measure(base_url: str, protocol: str) -> dict[str, float]:
    provider = provider_of(route(base_url, protocol=protocol))
    figures = {}
    for name, (chunks, gap, at_once, replies) in SHAPES.items():
        request = conversation(protocol, chunks, gap)
        await provider.ask(request)
        before = time.process_time()
        for _ in range(replies // at_once):
            await asyncio.gather(*(provider.ask(request) for _ in range(at_once)))
        figures[name] = round((time.process_time() - before) * 1_000 / replies, 2)
    await provider.close()
    return figures


def main() -> None:
    """Measure every shape and print the figures."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    try:
        base_url = here.recv()
        protocols = sys.argv[1:] or list(_SAID)
        figures = {each: asyncio.run(_measure(base_url, each)) for each in protocols}
    finally:
        server.terminate()
        server.join()
    sys.stdout.write(json.dumps({"client_cpu_ms_per_reply": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
