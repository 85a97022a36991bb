"""Replies over Responses, read and sent back (providers.md section 1)."""

import json
from typing import Any

import pytest

from manifests.errors import InputError
from providers import replying
from providers.contract import (
    AssistantMessage,
    Fault,
    Reply,
    Request,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from providers.responses_stream import usage_of
from tests.providers.asking import HELLO, TOOLS, faulted, provider_of, replied, route, sent
from tests.providers.chat_service import MODEL, Answer, event, refusal, stream
from tests.providers.recorded import recorded, text

CALLING = recorded("responses_tool_calls")


def ask(answer: Answer, **changes: Any) -> Reply:
    return replied(answer, protocol="responses", **changes)


def fault(answer: Answer, **changes: Any) -> Fault:
    return faulted(answer, protocol="responses", **changes)


def body(request: Request = HELLO, **changes: Any) -> Any:
    return sent(request, protocol="responses", **changes)


def test_a_reply_is_read_whole() -> None:
    reply = ask(CALLING)
    assert reply.stop == "tool_calls"
    assert reply.stop_reason == "completed"
    assert reply.text == "I look first."
    assert reply.tool_calls == (
        ToolCall("call_3", "look", '{"sql":"select \\"a\\""}'),
        ToolCall("call_4", "seal", "{}"),
    )
    assert reply.usage == Usage(5_120, 4_096, 310, 256, 1_024)
    assert (reply.requested_model, reply.returned_model) == (MODEL, MODEL)
    assert reply.request_id == "resp_0b1c"
    assert (reply.has_reasoning, reply.is_only_reasoning) == (True, False)
    assert 0 < (reply.first_token_seconds or 0) <= reply.latency_seconds


def test_the_served_build_is_told_where_a_service_names_one() -> None:
    assert ask(CALLING).fingerprint is None
    build = '"store":false,"system_fingerprint":"fp-7"'
    named = recorded("responses_tool_calls", ('"store":false', build))
    assert ask(named).fingerprint == "fp-7"


def test_the_items_go_back_in_place_and_as_they_came() -> None:
    reply = ask(CALLING)
    items = json.loads(reply.native)
    assert [item["type"] for item in items] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    # As they were when done: the item that began had another encrypted content.
    assert items[0]["encrypted_content"] == "gAAAAABo+x/Zk1=="
    assert items[1]["id"] == "msg_0b1c02"
    assert items[1]["phase"] == "commentary"
    conversation = Request(
        "You are the CEO.",
        (
            UserMessage("Day 7."),
            AssistantMessage(reply.native),
            ToolResult("call_3", "[]"),
            ToolResult("call_4", "ok"),
        ),
        TOOLS,
        2_048,
    )
    assert reply.native[1:-1].encode() in provider_of(route(protocol="responses")).wire(
        conversation
    )
    assert body(conversation)["input"] == [
        {"type": "message", "role": "user", "content": "Day 7."},
        *items,
        {"type": "function_call_output", "call_id": "call_3", "output": "[]"},
        {"type": "function_call_output", "call_id": "call_4", "output": "ok"},
    ]


def test_a_request_stores_nothing_and_asks_for_encrypted_reasoning() -> None:
    request = body(options={"reasoning": {"effort": "max"}})
    assert request == {
        "model": MODEL,
        "instructions": "You are the CEO.",
        "input": [{"type": "message", "role": "user", "content": "Day 7."}],
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in TOOLS
        ],
        "reasoning": {"effort": "max"},
        "max_output_tokens": 2_048,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
    }
    assert "include" not in body(responses={"encrypted_reasoning": False})


@pytest.mark.parametrize("option", ["store", "include", "previous_response_id", "input"])
def test_an_option_that_the_protocol_fills_is_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"the option {option} is filled by the protocol"):
        provider_of(route(protocol="responses", options={option: True}))


def test_a_reply_cut_by_length_says_so() -> None:
    reply = ask(recorded("responses_incomplete"))
    assert (reply.stop, reply.stop_reason) == ("length", "max_output_tokens")
    assert reply.tool_calls == (ToolCall("call_3", "look", '{"sql":"sel'),)
    assert json.loads(reply.native)[1]["status"] == "incomplete"


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("content_filter", "content_filter"), ("steered", "other"), ("brand_new", "other")],
)
def test_other_reasons_to_be_incomplete(reason: str, stop: str) -> None:
    reply = ask(recorded("responses_incomplete", ('max_output_tokens"}', f'{reason}"}}')))
    assert (reply.stop, reply.stop_reason) == (stop, reason)


def test_reasoning_alone_is_told() -> None:
    content = event(
        {
            "type": "response.incomplete",
            "response": {
                "model": MODEL,
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [{"id": "rs_1", "type": "reasoning", "summary": []}],
                "usage": {"input_tokens": 9, "output_tokens": 16},
            },
        }
    )
    reply = ask(stream(content))
    # A service that tells its items at the end alone is heard too.
    assert (reply.has_reasoning, reply.is_only_reasoning) == (True, True)
    assert reply.usage == Usage(9, 0, 16, 0)


def test_an_error_in_the_stream_is_what_its_code_says() -> None:
    assert fault(recorded("responses_error")) == Fault(
        kind="transient",
        message="an error inside the stream (rate_limit_exceeded): Rate limit reached for "
        "analyst-1 on tokens per min.",
        code="rate_limit_exceeded",
        maybe_billed=True,
    )
    failed = fault(recorded("responses_failed"))
    assert (failed.kind, failed.code, failed.maybe_billed) == ("transient", "server_error", True)
    assert "failed to generate" in failed.message
    quota = recorded("responses_failed", ("server_error", "insufficient_quota"))
    assert fault(quota).kind == "refused"
    nameless = recorded("responses_failed", ('"error":{"code":"server_error",', '"no_error":{'))
    assert fault(nameless).code == "failed"


def test_a_stream_that_ends_before_its_reply_is_no_reply() -> None:
    cut = fault(recorded("responses_tool_calls", cut_after="function_call_arguments.done"))
    assert (cut.kind, cut.code, cut.maybe_billed) == ("transient", "stream_cut", True)


def test_another_model_is_noticed_with_the_first_event() -> None:
    other = recorded("responses_tool_calls", ("analyst-1", "cheap-1"), cut_after="created")
    found = fault(other)
    assert (found.kind, found.code) == ("identity", "model_mismatch")
    assert '"analyst-1"' in found.message
    assert '"cheap-1"' in found.message
    accepted = recorded("responses_tool_calls", ("analyst-1", "cheap-1"))
    assert ask(accepted, accepted_aliases=["cheap-1"]).returned_model == "cheap-1"
    silent = fault(recorded("responses_tool_calls", ('"model":"analyst-1",', "")))
    assert (silent.kind, silent.code) == ("identity", "model_missing")


def test_a_stream_without_names_of_events_is_read_too() -> None:
    lines = [line for line in _lines("responses_tool_calls") if not line.startswith("event:")]
    assert ask(stream("\n".join(lines).encode())).native == ask(CALLING).native


def test_unknown_events_items_and_fields_never_matter() -> None:
    new = {"id": "nw_1", "type": "new_item", "deep": [1.10, {"z": 1}]}
    events = "\n".join(_lines("responses_tool_calls")).split("\n\n")
    more = [
        event({"type": "response.brand_new", "response": 7}, "response.brand_new"),
        event({"type": "response.output_item.done", "output_index": 9, "item": new}),
        event({"type": "heartbeat"}, "heartbeat"),
        event("tick", "heartbeat"),
        event({"type": "response.new.delta", "delta": {"x": 1}}, "response.new.delta"),
    ]
    joined = [f"{one}\n\n".encode() for one in events if one]
    reply = ask(stream(*joined[:-1], *more, joined[-1]))
    assert json.loads(reply.native)[-1] == new
    assert '"deep":[1.1,{"z":1}]' in reply.native
    assert reply.stop == "tool_calls"
    weird = recorded("responses_tool_calls", ('"status":"completed"', '"status":"odd","novel":1'))
    assert (ask(weird).stop, ask(weird).stop_reason) == ("other", "odd")


def test_what_is_no_stream_of_a_reply() -> None:
    for content in (b"data: what?\n\n", b'event: response.created\ndata: {"type"\n\n'):
        assert fault(stream(content)).kind == "protocol"


def test_huge_arguments_are_cut_on_arrival_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replying, "LARGEST_ARGUMENTS_BYTES", 12)
    reply = ask(CALLING)
    assert [call.cut for call in reply.tool_calls] == [True, False]
    items = json.loads(reply.native)
    assert items[2]["arguments"] == reply.tool_calls[0].arguments == '{"sql":"sele'
    assert items[2]["id"] == "fc_0b1c03"


def test_a_reply_beyond_any_ceiling_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replying, "LARGEST_REPLY_BYTES", 100)
    assert "larger than any route's ceiling" in fault(CALLING).message


def test_usage_that_is_not_sent_is_missing_and_not_zero() -> None:
    assert usage_of(None) is None
    assert usage_of({"input_tokens": 0, "output_tokens": 0}) is None
    assert usage_of({"input_tokens": 5}) is None
    assert usage_of({"input_tokens": 5, "output_tokens": 0}) == Usage(5, 0, 0, 0)


def test_encrypted_reasoning_under_another_key_names_the_change() -> None:
    """The vendor's own words for reasoning that it cannot read."""
    rejected = refusal(
        400,
        {
            "error": {
                "message": "The encrypted content gAAA...1== could not be verified.",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_encrypted_content",
            }
        },
    )
    mark = ask(CALLING).key_mark
    assert mark is not None
    assert len(mark) == 6
    same = Request("", (UserMessage("x"),), (), 16, key_mark=mark)
    assert fault(rejected, request=same).kind == "bad_request"
    other = Request("", (UserMessage("x"),), (), 16, key_mark="000000")
    changed = fault(rejected, request=other)
    assert (changed.kind, changed.code) == ("refused", "credentials_changed")
    assert "another key than ANALYST_KEY holds now" in changed.message
    assert "could not be verified" in changed.message


def _lines(name: str) -> list[str]:
    return text(name).decode().split("\n")
