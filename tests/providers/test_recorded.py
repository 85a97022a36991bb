"""The recorded streams are of the vendors' types, and our reading is the vendors' own."""

import asyncio
import json
from typing import Any, get_args

import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.providers.asking import KEY, replied
from tests.providers.chat_service import MODEL, ChatService
from tests.providers.recorded import FOLDER, recorded, text

NAMES = sorted(path.stem for path in FOLDER.glob("*.sse"))
RESPONSES = [name for name in NAMES if name.startswith("responses_")]
MESSAGES = [name for name in NAMES if name.startswith("messages_")]
WHOLE_MESSAGES = [name for name in MESSAGES if name != "messages_overloaded"]


def events(name: str) -> list[tuple[str, dict[str, Any]]]:
    """(name, data) of each event."""
    found = []
    for one in text(name).decode().split("\n\n"):
        if one:
            head, data = one.split("\n", 1)
            found.append((head.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.parametrize("name", RESPONSES)
def test_every_event_of_responses_is_of_the_vendors_type(name: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(get_args(ResponseStreamEvent)[0])
    for kind, data in events(name):
        parsed = adapter.validate_python(data)
        assert parsed.type == kind == data["type"]


@pytest.mark.parametrize("name", MESSAGES)
def test_every_event_of_messages_is_of_the_vendors_type(name: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(get_args(RawMessageStreamEvent)[0])
    for kind, data in events(name):
        # These two are in no union of the types; the library looks at their names.
        if kind not in ("ping", "error"):
            assert adapter.validate_python(data).type == kind == data["type"]


def put_together(name: str) -> Message:
    """The message that the vendor's own client makes of a stream."""

    async def run() -> Message:
        async with ChatService((recorded(name),)) as service:
            client = AsyncAnthropic(base_url=service.base_url.removesuffix("/v1"), api_key=KEY)
            async with (
                client,
                client.messages.stream(
                    model=MODEL, max_tokens=16, messages=[{"role": "user", "content": "x"}]
                ) as stream,
            ):
                return await stream.get_final_message()

    return asyncio.run(run())


@pytest.mark.parametrize("name", WHOLE_MESSAGES)
def test_a_message_is_put_together_as_the_vendors_client_does(name: str) -> None:
    message = put_together(name)
    reply = replied(recorded(name), protocol="messages")
    theirs = [block.to_dict() for block in message.content]
    ours = json.loads(reply.native)
    for block in (*theirs, *ours):
        # What the client makes of half an object is its own affair.
        if block["type"] == "tool_use" and reply.stop == "length":
            block.pop("input")
    assert ours == theirs
    assert reply.stop_reason == message.stop_reason
    assert reply.usage is not None
    assert reply.usage.output_tokens == message.usage.output_tokens


@pytest.mark.parametrize("name", ["responses_tool_calls", "responses_incomplete"])
def test_the_items_are_those_of_the_final_response(name: str) -> None:
    final = events(name)[-1][1]["response"]
    assert json.loads(replied(recorded(name), protocol="responses").native) == final["output"]
