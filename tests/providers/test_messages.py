"""Replies over Messages, read and sent back (providers.md section 1)."""

import json
from typing import Any

import pytest

from manifests.errors import InputError
from providers import replying
from providers.contract import (
    AssistantMessage,
    Fault,
    Message,
    Reply,
    Request,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from providers.messages_stream import usage_of
from tests.providers.asking import HELLO, TOOLS, faulted, provider_of, replied, route, sent
from tests.providers.chat_service import MODEL, Answer, event, refusal, stream
from tests.providers.recorded import recorded, text

CALLING = recorded("messages_tool_use")
MARK = {"type": "ephemeral", "ttl": "5m"}


def ask(answer: Answer, **changes: Any) -> Reply:
    return replied(answer, protocol="messages", **changes)


def fault(answer: Answer, **changes: Any) -> Fault:
    return faulted(answer, protocol="messages", **changes)


def body(*messages: Message, **changes: Any) -> Any:
    request = Request("You are the CEO.", messages, (), 2_048)
    return sent(request, protocol="messages", **changes)


def written_input(text: str) -> Answer:
    """An answer whose one call has this text for input."""
    told = ('"partial_json":"{}"', f'"partial_json":{json.dumps(text)}')
    return recorded("messages_signature_only", told)


def returned(native: str) -> Any:
    return body(UserMessage("Go."), AssistantMessage(native), UserMessage("On."))["messages"]


def test_a_reply_is_read_whole() -> None:
    reply = ask(CALLING)
    assert (reply.stop, reply.stop_reason) == ("tool_calls", "tool_use")
    assert reply.text == "I look first."
    assert reply.tool_calls == (
        ToolCall("toolu_01", "look", '{"sql": "select \\"a\\""}'),
        ToolCall("toolu_02", "seal", "{}"),
    )
    assert reply.usage == Usage(12 + 640 + 4_096, 4_096, 310, 256, 640)
    assert (reply.requested_model, reply.returned_model) == (MODEL, MODEL)
    assert reply.request_id == "msg_01XyZ"
    assert (reply.has_reasoning, reply.is_only_reasoning) == (True, False)


def test_the_blocks_go_back_in_place_and_as_they_came() -> None:
    reply = ask(CALLING)
    blocks = json.loads(reply.native)
    assert blocks == [
        {
            "type": "thinking",
            "thinking": 'Stock is low; "A" \u2028 first.',
            "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=",
        },
        {
            "type": "redacted_thinking",
            "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP",
        },
        {"type": "text", "text": "I look first."},
        {"type": "tool_use", "id": "toolu_01", "name": "look", "input": {"sql": 'select "a"'}},
        {"type": "tool_use", "id": "toolu_02", "name": "seal", "input": {}},
    ]
    conversation = Request("", (UserMessage("Go."), AssistantMessage(reply.native)), TOOLS, 16)
    assert reply.native.encode() in provider_of(route(protocol="messages")).wire(conversation)


def test_results_stand_directly_after_their_calls_in_one_message() -> None:
    reply = ask(CALLING)
    turns = body(
        UserMessage("Day 7."),
        AssistantMessage(reply.native),
        ToolResult("toolu_01", "[]"),
        ToolResult("toolu_02", "ok"),
        UserMessage("Finalization has begun."),
        chat=None,
    )["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"] == json.loads(reply.native)
    assert turns[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_01", "content": "[]"},
        {"type": "tool_result", "tool_use_id": "toolu_02", "content": "ok"},
        {"type": "text", "text": "Finalization has begun.", "cache_control": MARK},
    ]


def test_a_request_names_its_ceiling_and_marks_what_repeats() -> None:
    request = sent(
        HELLO,
        protocol="messages",
        options={"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
    )
    assert request == {
        "model": MODEL,
        "max_tokens": 2_048,
        "system": [{"type": "text", "text": "You are the CEO.", "cache_control": MARK}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Day 7.", "cache_control": MARK}],
            }
        ],
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            }
            for tool in TOOLS
        ],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "max"},
        "stream": True,
    }


@pytest.mark.parametrize("ttl", ["5m", "1h", "none"])
def test_the_end_of_this_request_and_of_the_last_one_are_marked(ttl: str) -> None:
    said = AssistantMessage('[{"type":"text","text":"x"}]')
    request = body(
        *(UserMessage("1"), said, UserMessage("2"), said, UserMessage("3")),
        messages={"cache_breakpoints": ttl},
    )
    blocks = [block for turn in request["messages"] for block in turn["content"]]
    marks = [block.get("cache_control") for block in [*request["system"], *blocks]]
    mark = None if ttl == "none" else {"type": "ephemeral", "ttl": ttl}
    # The model's own blocks stay as they came.
    assert marks == [mark, None, None, mark, None, mark]


def test_an_option_that_the_protocol_fills_is_refused() -> None:
    with pytest.raises(InputError, match="the option max_tokens is filled by the protocol"):
        provider_of(route(protocol="messages", options={"max_tokens": 7}))


def test_a_thought_that_is_a_signature_alone_is_kept() -> None:
    reply = ask(recorded("messages_signature_only"))
    signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk="
    assert json.loads(reply.native)[0] == {
        "type": "thinking",
        "thinking": "",
        "signature": signature,
    }
    assert returned(reply.native)[1]["content"] == json.loads(reply.native)
    assert reply.has_reasoning


def test_an_empty_thought_is_kept() -> None:
    empty = ("Stock is ", ""), ('low; \\"A\\" \u2028 first.', "")
    assert json.loads(ask(recorded("messages_tool_use", *empty)).native)[0]["thinking"] == ""


def test_a_cut_call_comes_back_as_a_call_without_input() -> None:
    """The service takes objects alone: half of one must not poison the next request."""
    reply = ask(recorded("messages_max_tokens"))
    assert (reply.stop, reply.stop_reason) == ("length", "max_tokens")
    assert reply.tool_calls == (ToolCall("toolu_01", "look", '{"sql": "sel'),)
    assert json.loads(reply.native)[1]["input"] == {}


@pytest.mark.parametrize("written", ["[1]", "null", '{"a":NaN}', '{"a":1}}', "{"])
def test_input_that_is_no_object_is_told_and_not_sent(written: str) -> None:
    reply = ask(written_input(written))
    assert reply.tool_calls[0].arguments == written
    assert json.loads(reply.native)[1]["input"] == {}


def test_input_stays_as_the_model_wrote_it() -> None:
    written = '{"n": 1.10, "big":123456789012345678901234567890, "e":"\\u00e9"}'
    reply = ask(written_input(written))
    assert f'"input":{written}' in reply.native
    assert reply.tool_calls[0].arguments == written


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "finished"),
        ("stop_sequence", "finished"),
        ("refusal", "content_filter"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "other"),
        ("brand_new", "other"),
    ],
)
def test_reasons_to_stop_known_and_unknown(reason: str, stop: str) -> None:
    changed = recorded("messages_refusal", ('"stop_reason":"refusal"', f'"stop_reason":"{reason}"'))
    reply = ask(changed)
    assert (reply.stop, reply.stop_reason, reply.text) == (stop, reason, "I cannot.")


def test_thinking_alone_is_told() -> None:
    thought = recorded("messages_max_tokens", cut_after='"content_block_stop","index":0')
    assert fault(thought).code == "stream_cut"
    events = text("messages_max_tokens").decode().split("\n\n")
    kept = [f"{one}\n\n".encode() for one in events if one and '"index":1' not in one]
    reply = ask(stream(*kept, done=False))
    assert (reply.has_reasoning, reply.is_only_reasoning, reply.stop) == (True, True, "length")


def test_a_reply_that_says_nothing_is_not_sent_back() -> None:
    """The service ends so now and then, and refuses its own empty message (and blank texts)."""
    turns = returned("[]")
    assert [turn["role"] for turn in turns] == ["user"]
    assert [block["text"] for block in turns[0]["content"]] == ["Go.", "On."]
    for blank in ("", " ", "\\n\\n", "\\t \\r"):
        assert len(returned(f'[{{"type":"text","text":"{blank}"}}]')) == 1
    assert len(returned('[{"type":"text","text":"\\n."}]')) == 3
    kept = returned('[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":""}]')
    assert kept[1]["content"] == [{"type": "thinking", "thinking": "", "signature": "s"}]
    quoted = '[{"type":"tool_use","id":"t","name":"look","input":{"type":"x","text":""}}]'
    assert returned(quoted)[1]["content"] == json.loads(quoted)


def test_an_error_in_the_stream_is_what_its_type_says() -> None:
    found = fault(recorded("messages_overloaded"))
    assert (found.kind, found.code, found.maybe_billed) == ("transient", "overloaded_error", True)
    billing = recorded("messages_overloaded", ("overloaded_error", "billing_error"))
    assert fault(billing).kind == "refused"


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (529, {"type": "overloaded_error", "message": "Overloaded"}, "transient"),
        (429, {"type": "rate_limit_error", "message": "Slow down."}, "transient"),
        (
            429,
            {
                "type": "rate_limit_error",
                "message": "Spend limit.",
                "details": {"error_code": "enforced_spend_limit_reached"},
            },
            "refused",
        ),
        (401, {"type": "authentication_error", "message": "invalid x-api-key"}, "refused"),
        (404, {"type": "not_found_error", "message": "model: x"}, "refused"),
        (413, {"type": "request_too_large", "message": "Too large."}, "too_long"),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"},
            "too_long",
        ),
        (
            400,
            {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 9 + 1 > 8",
            },
            "too_long",
        ),
        (400, {"type": "invalid_request_error", "message": "bad"}, "bad_request"),
    ],
)
def test_refusals_are_what_they_say(status: int, error: dict[str, Any], kind: str) -> None:
    answer = refusal(status, {"type": "error", "error": error, "request_id": "r"}, request_id="req")
    found = fault(answer)
    assert (found.kind, found.status, found.request_id) == (kind, status, "req")
    assert error["message"] in found.message


def test_another_model_is_noticed_with_the_first_event() -> None:
    found = fault(
        recorded("messages_tool_use", ("analyst-1", "cheap-1"), cut_after="message_start")
    )
    assert (found.kind, found.code) == ("identity", "model_mismatch")
    assert '"analyst-1"' in found.message
    assert '"cheap-1"' in found.message
    silent = fault(recorded("messages_tool_use", ('"model":"analyst-1",', "")))
    assert (silent.kind, silent.code) == ("identity", "model_missing")


def test_unknown_events_blocks_fragments_and_fields_are_kept_or_passed_over() -> None:
    new = [
        event({"type": "brand_new", "index": 0}, "brand_new"),
        event(
            {
                "type": "content_block_start",
                "index": 9,
                "content_block": {"type": "novel", "part": "a", "n": 1.10, "deep": {"x": [1]}},
            },
            "content_block_start",
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 9,
                "delta": {"type": "novel_delta", "part": "b", "more": {"y": 2}},
            },
            "content_block_delta",
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "citations_delta", "citation": {"cited_text": "c"}},
            },
            "content_block_delta",
        ),
    ]
    events = text("messages_tool_use").decode().split("\n\n")
    joined = [f"{one}\n\n".encode() for one in events if one]
    blocks = json.loads(ask(stream(*joined[:-2], *new, *joined[-2:], done=False)).native)
    assert blocks[-1] == {
        "type": "novel",
        "part": "ab",
        "n": 1.1,
        "deep": {"x": [1]},
        "more": {"y": 2},
    }
    assert blocks[2]["citations"] == [{"cited_text": "c"}]


def test_usage_is_counted_once_and_missing_when_it_is_not_there() -> None:
    assert usage_of({"input_tokens": 7, "output_tokens": 2}) == Usage(7, 0, 2, 0)
    assert usage_of({"input_tokens": 7}) is None
    assert usage_of({"output_tokens": 7}) is None
    assert usage_of({"input_tokens": 0, "output_tokens": 0}) is None
    # What the first event says of the output is not yet that of the reply.
    without = recorded("messages_tool_use", ('"usage":{"output_tokens":310,', '"no_usage":{'))
    assert ask(without).usage is None
    # Counts at the end replace those of the beginning.
    later = recorded(
        "messages_tool_use",
        ('"usage":{"output_tokens":310,', '"usage":{"input_tokens":20,"output_tokens":310,'),
    )
    assert ask(later).usage == Usage(20 + 640 + 4_096, 4_096, 310, 256, 640)


def test_huge_input_is_cut_on_arrival_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replying, "LARGEST_ARGUMENTS_BYTES", 12)
    reply = ask(CALLING)
    assert [call.cut for call in reply.tool_calls] == [True, False]
    assert json.loads(reply.native)[3]["input"] == {}
    monkeypatch.setattr(replying, "LARGEST_REPLY_BYTES", 100)
    assert "larger than any route's ceiling" in fault(CALLING).message


def test_what_is_no_stream_of_a_reply() -> None:
    assert fault(stream(b"data: what?\n\n", done=False)).kind == "protocol"
    assert (
        fault(stream(b'event: message_start\ndata: {"type":"message_start"}\n\n')).kind
        == "protocol"
    )
