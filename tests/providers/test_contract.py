"""The types that everybody shares survive a journal and a process boundary."""

import pickle

import msgspec
import pytest

from providers.contract import (
    AssistantMessage,
    Fault,
    Message,
    ProviderFault,
    Reply,
    Request,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    UserMessage,
)

REPLY = Reply(
    native='{"role":"assistant","content":"caf\\u00e9"}',
    text="café",
    tool_calls=(ToolCall("c", "look", "{}"), ToolCall("d", "seal", "{", cut=True)),
    stop="tool_calls",
    stop_reason="tool_calls",
    usage=Usage(120, 100, 30, 20),
    requested_model="analyst-1",
    returned_model="analyst-1-0601",
    request_id="req-1",
    fingerprint=None,
    latency_seconds=1.5,
    first_token_seconds=None,
    has_reasoning=True,
    is_only_reasoning=False,
)
REQUEST = Request(
    "You are the CEO.",
    (UserMessage("Day 7."), AssistantMessage(REPLY.native), ToolResult("c", '{"rows":[]}')),
    (ToolDefinition("look", "Look.", {"type": "object"}),),
    2_048,
)


@pytest.mark.parametrize("value", [REPLY, REQUEST, Fault(kind="transient", message="Busy.")])
def test_values_come_back_from_json_and_message_pack(value: msgspec.Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=type(value)) == value


def test_messages_are_told_apart() -> None:
    encoded = msgspec.json.encode(REQUEST.messages)
    assert msgspec.json.decode(encoded, type=tuple[Message, ...]) == REQUEST.messages
    assert encoded.startswith(b'[["user","Day 7."],["assistant",')


def test_a_fault_crosses_a_process_boundary() -> None:
    fault = Fault(kind="too_long", message="Too long.", status=400, code="context_length_exceeded")
    error = pickle.loads(pickle.dumps(ProviderFault(fault)))
    assert error.fault == fault
    assert str(error) == "too_long: Too long."
