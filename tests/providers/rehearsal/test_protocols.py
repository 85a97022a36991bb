"""The gateway over its three protocols: the same agents, in each vendor's shape."""

import json
from itertools import pairwise
from typing import Any, get_args

import pytest
from anthropic import Anthropic
from anthropic.types import Message as SdkMessage
from anthropic.types import RawMessageStreamEvent
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from providers.rehearsal import RunningGateway
from providers.rehearsal.agents import AGENTS
from tests.providers.rehearsal.client import sdk
from tests.providers.rehearsal.windows import PROTOCOLS, THINKING, Played, played
from tests.providers.rehearsal.wires import (
    ANALYST,
    Wire,
    messages_body,
    messages_tools,
    post,
    responses_body,
    responses_tools,
)


@pytest.mark.parametrize("model", sorted(AGENTS))
def test_an_agent_decides_the_same_over_every_protocol(gateway: RunningGateway, model: str) -> None:
    """One of them reads its decisions off a digest of everything that was said."""
    chat, responses, messages = (
        played(gateway.base_url, protocol, model) for protocol in PROTOCOLS
    )
    for other in (responses, messages):
        assert other.company.sealed == chat.company.sealed
        assert other.company.called == chat.company.called
        assert other.said == chat.said
        assert other.heard == chat.heard
        assert _outputs(other) == _outputs(chat)


def _outputs(window: Played) -> list[tuple[int, int]]:
    return [
        (reply.usage.output_tokens, reply.usage.reasoning_tokens)
        for reply in window.replies
        if reply.usage is not None
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_last_request_brought_is_cached(gateway: RunningGateway, protocol: str) -> None:
    usages = [reply.usage for reply in played(gateway.base_url, protocol, ANALYST).replies]
    assert None not in usages
    found = [usage for usage in usages if usage is not None]
    assert found[0].cached_input_tokens == 0
    for before, usage in pairwise(found):
        assert 0 < usage.cached_input_tokens <= before.input_tokens < usage.input_tokens
        assert usage.cached_input_tokens + usage.cache_written_tokens <= usage.input_tokens


def test_without_marks_messages_caches_nothing(gateway: RunningGateway) -> None:
    window = played(gateway.base_url, "messages", ANALYST, messages={"cache_breakpoints": "none"})
    assert {reply.usage and reply.usage.cached_input_tokens for reply in window.replies} == {0}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_window_of_cut_replies_still_ends(gateway: RunningGateway, protocol: str) -> None:
    window = played(gateway.base_url, protocol, ANALYST, ceiling=60)
    assert "length" in {reply.stop for reply in window.replies}
    assert window.company.sealed is not None


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("responses", {"reasoning": {"effort": "high", "summary": "auto"}}),
        ("responses", {"reasoning": {"effort": "none"}}),
        ("messages", {"thinking": {"type": "adaptive", "display": "omitted"}}),
        ("messages", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
        ("messages", {"thinking": {"type": "disabled"}}),
        ("messages", {}),
    ],
)
def test_thoughts_that_are_shown_hidden_or_none(
    gateway: RunningGateway, protocol: str, options: dict[str, Any]
) -> None:
    window = played(gateway.base_url, protocol, ANALYST, options=options)
    assert window.company.sealed == played(gateway.base_url, "chat", ANALYST).company.sealed
    none = options in ({}, {"reasoning": {"effort": "none"}}, {"thinking": {"type": "disabled"}})
    assert {reply.has_reasoning for reply in window.replies} == {not none}


def test_some_thoughts_come_redacted_and_some_as_signatures_alone(gateway: RunningGateway) -> None:
    omitted = {"thinking": {"type": "adaptive", "display": "omitted"}}
    first: list[Wire] = []
    for model in AGENTS:
        window = played(gateway.base_url, "messages", model, options=omitted)
        first += [json.loads(reply.native)[0] for reply in window.replies]
    assert {block["type"] for block in first} == {"thinking", "redacted_thinking"}
    assert {block["thinking"] for block in first if block["type"] == "thinking"} == {""}


def extras(model: Any) -> set[str]:
    """The fields, at any depth, that the vendor's type does not have."""
    found: set[str] = set(model.model_extra or ())
    for name in type(model).model_fields:
        value = getattr(model, name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, BaseModel):
                found |= extras(item)
    return found


def stream_of(gateway: RunningGateway, protocol: str, body: Wire) -> list[tuple[str, Wire]]:
    content = post(gateway, protocol, body | {"stream": True}).text
    found = []
    for one in content.strip().split("\n\n"):
        head, data = one.split("\n", 1)
        found.append((head.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_every_event_of_responses_is_of_the_vendors_type(gateway: RunningGateway) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(get_args(ResponseStreamEvent)[0])
    options = {"reasoning": {"effort": "high", "summary": "detailed"}}
    body = responses_body(tools=responses_tools(), **options)
    events = stream_of(gateway, "responses", body)
    for number, (kind, data) in enumerate(events):
        assert data["sequence_number"] == number
        parsed = adapter.validate_python(data, strict=True)
        assert parsed.type == kind
        # The vendor pads its events and says what it stores, and its types do not tell so.
        assert extras(parsed) <= {"obfuscation", "store"}
    kinds = [kind for kind, _ in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    final = events[-1][1]["response"]
    done = [data["item"] for kind, data in events if kind == "response.output_item.done"]
    assert final["output"] == done
    whole = post(gateway, "responses", body).json()
    assert Response.model_validate(whole).usage is not None
    assert whole["output"] == done
    assert whole["usage"] == final["usage"]


def test_every_event_of_messages_is_of_the_vendors_type(gateway: RunningGateway) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(get_args(RawMessageStreamEvent)[0])
    body = messages_body(tools=messages_tools(), **THINKING["messages"])
    events = stream_of(gateway, "messages", body)
    for kind, data in events:
        if kind != "ping":
            parsed = adapter.validate_python(data, strict=True)
            assert parsed.type == kind
            assert extras(parsed) == set()
    assert events[0][0] == "message_start"
    assert events[-1][0] == "message_stop"
    whole = post(gateway, "messages", body).json()
    assert extras(SdkMessage.model_validate(whole)) == set()
    first, second, *_ = (block["type"] for block in whole["content"])
    assert first in ("thinking", "redacted_thinking")
    assert second == "tool_use"


def test_the_vendors_clients_play_with_the_gateway(gateway: RunningGateway) -> None:
    with Anthropic(
        base_url=gateway.base_url.removesuffix("/v1"), api_key="k", max_retries=0
    ) as anthropic:
        with anthropic.messages.stream(**messages_body(tools=messages_tools())) as stream:
            message = stream.get_final_message()
        assert message.stop_reason == "tool_use"
        assert message.usage.output_tokens > 0
    with sdk(gateway.base_url) as openai:
        response = openai.responses.create(**responses_body(tools=responses_tools()))
        assert response.status == "completed"
        assert {item.type for item in response.output} == {"reasoning", "function_call"}


def test_either_header_may_hold_the_key_of_messages(gateway: RunningGateway) -> None:
    body = messages_body()
    assert post(gateway, "messages", body, authorization="").status_code == 401
    assert (
        post(gateway, "messages", body, **{"authorization": "", "x-api-key": "k"}).status_code
        == 200
    )
    refused = post(gateway, "responses", responses_body(), authorization="", **{"x-api-key": "k"})
    assert refused.status_code == 401
