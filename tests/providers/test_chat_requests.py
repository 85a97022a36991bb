"""What the Chat provider sends (providers.md section 1)."""

import asyncio
import json

import msgspec
import pytest

from manifests.errors import InputError
from providers.chat import ChatProvider
from providers.contract import (
    AssistantMessage,
    Request,
    ToolResult,
    UserMessage,
)
from tests.providers.asking import (
    HELLO,
    KEY,
    TOOLS,
    ask_at,
    route,
    sent,
)
from tests.providers.chat_service import (
    HELLO_REPLY,
    MODEL,
    ChatService,
    Received,
)


def test_a_request_has_the_documented_shape() -> None:
    conversation = (
        UserMessage("Day 7."),
        AssistantMessage('{"role":"assistant","content":"Looking."}'),
        UserMessage("Go on."),
    )
    body = sent(Request("You are the CEO.", conversation, TOOLS[:1], 2_048))
    assert body == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You are the CEO."},
            {"role": "user", "content": "Day 7."},
            {"role": "assistant", "content": "Looking."},
            {"role": "user", "content": "Go on."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look",
                    "description": "Look at a table.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "max_tokens": 2_048,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_tool_result_names_its_call() -> None:
    body = sent(Request("", (ToolResult("call-1", '{"rows":[]}'),), (), 16))
    assert body["messages"][1] == {
        "role": "tool",
        "tool_call_id": "call-1",
        "content": '{"rows":[]}',
    }
    assert "tools" not in body


def test_options_pass_through_as_they_are() -> None:
    options = {"reasoning_effort": "max", "thinking": {"type": "enabled"}, "seed": 7}
    body = sent(HELLO, options=options)
    assert {key: body[key] for key in options} == options


def test_the_dialect_names_the_limit_and_leaves_usage_unasked() -> None:
    body = sent(HELLO, chat={"output_limit_field": "max_completion_tokens", "ask_usage": False})
    assert body["max_completion_tokens"] == 2_048
    assert "max_tokens" not in body
    assert "stream_options" not in body


@pytest.mark.parametrize("option", ["messages", "model", "n", "stream", "stream_options", "tools"])
def test_an_option_cannot_replace_what_the_protocol_fills(option: str) -> None:
    with pytest.raises(InputError, match=rf"the option {option} is filled by the protocol"):
        ChatProvider(route(options={option: 1}))


def test_nor_the_output_limit() -> None:
    with pytest.raises(InputError, match="max_tokens"):
        ChatProvider(route(options={"max_tokens": 1}))


def test_half_a_character_does_not_spoil_a_request() -> None:
    body = sent(
        Request("a\ud83d", (UserMessage("\ud83d\ude00"), ToolResult("c", "\ude00")), (), 16)
    )
    contents = [message["content"] for message in body["messages"]]
    assert contents == ["a\ufffd", "\U0001f600", "\ufffd"]


def test_what_is_sent_is_the_wire_form_with_the_key() -> None:
    async def run() -> tuple[Received, bytes]:
        async with ChatService((HELLO_REPLY,)) as service:
            await ask_at(service.base_url)
            return service.requests[0], ChatProvider(route(service.base_url)).wire(HELLO)

    received, wire = asyncio.run(run())
    assert received.body == wire
    assert received.target == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["accept-encoding"] == "identity"


def test_a_name_goes_into_a_header_and_nowhere_else() -> None:
    async def run() -> tuple[Received, Received, bytes]:
        async with ChatService((HELLO_REPLY,)) as service:
            named = msgspec.structs.replace(HELLO, name="small/s11/version-0/request-1")
            await ask_at(service.base_url, named)
            await ask_at(service.base_url)
            first, second = service.requests
            return first, second, ChatProvider(route(service.base_url)).wire(named)

    named, nameless, wire = asyncio.run(run())
    assert named.headers["x-client-request-id"] == "small/s11/version-0/request-1"
    assert "x-client-request-id" not in nameless.headers
    assert named.body == nameless.body == wire


def test_no_key_sends_no_authorization() -> None:
    async def run() -> Received:
        async with ChatService((HELLO_REPLY,)) as service:
            await ask_at(service.base_url, credentials="no key", environment={})
            return service.requests[0]

    assert "authorization" not in asyncio.run(run()).headers


def test_settings_for_the_library_do_not_reach_a_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "stray-key")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "stray-admin-key")
    monkeypatch.setenv("OPENAI_ORG_ID", "stray-organization")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "stray-project")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/stray")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Stray: stray\nAuthorization: Bearer stray")

    async def run() -> Received:
        async with ChatService((HELLO_REPLY,)) as service:
            await ask_at(service.base_url)
            return service.requests[0]

    received = asyncio.run(run())
    assert "stray" not in json.dumps(received.headers).lower()
    assert received.headers["authorization"] == f"Bearer {KEY}"


def test_what_repeats_is_marked_where_the_service_caches_what_is_marked() -> None:
    said = AssistantMessage('{"role":"assistant","content":"x"}')
    request = Request("You are the CEO.", (UserMessage("1"), said, ToolResult("c", "[]")), (), 16)
    mark = {"type": "ephemeral"}
    system, first, reply, result = sent(request, chat={"cache_breakpoints": True})["messages"]
    assert system["content"] == [
        {"type": "text", "text": "You are the CEO.", "cache_control": mark}
    ]
    assert (first["content"], reply["content"]) == ("1", "x")
    assert result["content"] == [{"type": "text", "text": "[]", "cache_control": mark}]
