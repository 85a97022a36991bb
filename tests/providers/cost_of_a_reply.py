"""Measures the processor time that one Chat reply costs the client, from request to `Reply`.

Run it: python -m tests.providers.cost_of_a_reply

The service is a process of its own on loopback; the conversation has a system prompt, 18 tools and
10 turns. Prints JSON: milliseconds of this process per reply, by shape of the stream.
"""

import asyncio
import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from typing import Final

from providers.chat import ChatProvider
from providers.contract import (
    AssistantMessage,
    Message,
    Request,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from tests.providers.asking import ENVIRONMENT, route
from tests.providers.chat_service import (
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


def conversation(chunks: int, gap: float) -> Request:
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
        calls = [
            {
                "id": f"call-{turn}-{n}",
                "type": "function",
                "function": {"name": "query_company", "arguments": '{"sql":"select * from x"}'},
            }
            for n in range(3)
        ]
        said = {"role": "assistant", "reasoning_content": "think " * 300, "tool_calls": calls}
        messages.append(AssistantMessage(json.dumps(said)))
        messages.extend(ToolResult(str(call["id"]), rows) for call in calls)
    return Request("You are the CEO. " * 700, tuple(messages), tools, 8_192)


async def _answer(received: Received, wire: Wire) -> None:
    first_line = received.json["messages"][1]["content"].partition("\n")[0]
    chunks, gap = first_line.split(" ")
    await begin(wire)
    for place in range(int(chunks)):
        await wire.piece(event(chunk({"reasoning_content": f" word{place}"})))
        if float(gap):
            await asyncio.sleep(float(gap))
    for item in (chunk(finish="stop"), usage_chunk(), "[DONE]"):
        await wire.piece(event(item))
    await wire.end()


def serve(place: Connection) -> None:
    """Serve on loopback until the process is ended, and tell where."""

    async def run() -> None:
        async with ChatService((_answer,)) as service:
            place.send(service.base_url)
            await asyncio.Event().wait()

    asyncio.run(run())


async def _measure(base_url: str) -> dict[str, float]:
    provider = ChatProvider(route(base_url), environment=ENVIRONMENT)
    figures = {}
    for name, (chunks, gap, at_once, replies) in SHAPES.items():
        request = conversation(chunks, gap)
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
        figures = asyncio.run(_measure(here.recv()))
    finally:
        server.terminate()
        server.join()
    sys.stdout.write(json.dumps({"client_cpu_ms_per_reply": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
