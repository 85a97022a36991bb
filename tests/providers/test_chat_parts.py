"""The parts of a Chat reply that need no network: fragments, calls, usage, dialects."""

import json
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from manifests.errors import InputError
from providers import replying
from providers.chat_message import AssistantDraft, returned
from providers.chat_stream import usage_of
from providers.contract import ToolCall, Usage
from providers.opening import open_provider
from providers.rawjson import NotJson, members
from providers.routes import ChatDialect
from tests.providers.asking import PROVIDERS, route

IN_TOTAL = ChatDialect(reasoning_tokens="in total only")


def draft(*deltas: dict[str, Any] | bytes) -> AssistantDraft:
    made = AssistantDraft()
    for delta in deltas:
        made.add(members(delta if isinstance(delta, bytes) else json.dumps(delta).encode()))
    return made


def native(*deltas: dict[str, Any] | bytes) -> Any:
    return json.loads(draft(*deltas).native())


def calls(*fragments: dict[str, Any]) -> list[tuple[str, str, str]]:
    made = draft(*({"tool_calls": [fragment]} for fragment in fragments)).calls()
    return [(call.call_id, call.name, call.arguments) for call in made]


# --- fragments ----------------------------------------------------------------------------------


def test_strings_are_joined_and_names_are_not() -> None:
    assert native(
        {"role": "assistant", "content": "a", "thought": "x"},
        {"role": "assistant", "content": None, "thought": "y"},
        {"role": "", "content": "b"},
    ) == {"role": "assistant", "content": "ab", "thought": "xy"}


def test_members_keep_the_order_in_which_they_came() -> None:
    made = draft({"reasoning_content": "r"}, {"content": "c"}, {"z": 1, "a": 2})
    assert list(json.loads(made.native())) == ["role", "reasoning_content", "content", "z", "a"]


def test_objects_and_lists_are_merged() -> None:
    assert native(
        {"content": "", "extra": {"s": "a", "n": 1, "deep": {"k": None}, "id": "i"}},
        {"extra": {"s": "b", "n": 2, "deep": {"k": "v"}, "id": "i", "more": [1]}},
        {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "T"}]},
        {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "U"}]},
        {"reasoning_details": [{"index": 1, "signature": "S"}, "plain"]},
        {"extra": None},
    ) == {
        "role": "assistant",
        "content": "",
        "extra": {"s": "ab", "n": 2, "deep": {"k": "v"}, "id": "i", "more": [1]},
        "reasoning_details": [
            {"index": 0, "type": "reasoning.text", "text": "TU"},
            {"index": 1, "signature": "S"},
            "plain",
        ],
    }


def test_a_value_that_changes_its_kind_is_the_later_one() -> None:
    assert native({"content": "", "x": "text"}, {"x": {"a": 1}})["x"] == {"a": 1}
    assert native({"content": "", "x": {"a": 1}}, {"x": "text"})["x"] == "text"
    assert native({"content": "", "x": True}, {"x": False})["x"] is False


def test_a_character_split_over_two_fragments_is_whole_again() -> None:
    made = draft(b'{"content":"a\\ud83d"}', b'{"content":"\\ude00b"}')
    assert made.text() == "a\U0001f600b"
    assert made.native() == b'{"role":"assistant","content":"a\\ud83d\\ude00b"}'


def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}]
    made = draft({"content": parts}, {"content": [{"type": "text", "text": "b"}]})
    assert made.text() == "ab"
    assert json.loads(made.native())["content"] == [*parts, {"type": "text", "text": "b"}]
    assert draft({"content": {"odd": 1}}).text() == ""


def test_only_reasoning_means_nothing_else() -> None:
    reasoning = ("reasoning_content",)
    assert draft({"reasoning_content": "x", "content": "", "refusal": None}).holds_only(reasoning)
    assert not draft({"reasoning_content": "x", "content": "y"}).holds_only(reasoning)
    assert not draft({"reasoning_content": "x", "signature": "y"}).holds_only(reasoning)
    assert not draft({"tool_calls": [{"id": "a"}]}).holds_only(reasoning)


# --- calls --------------------------------------------------------------------------------------


def fragment(arguments: Any = None, name: str | None = None, **own: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {**own, "function": {key: item for key, item in function.items() if item is not None}}


def test_one_index_for_all_calls_but_ids_of_their_own() -> None:
    assert calls(
        fragment("{}", "look", index=0, id="a"), fragment("{}", "seal", index=0, id="b")
    ) == [("a", "look", "{}"), ("b", "seal", "{}")]


def test_no_index_but_ids() -> None:
    assert calls(
        fragment('{"x', "look", id="a"),
        fragment("{}", "seal", id="b"),
        fragment('":1}', id="a"),
    ) == [("a", "look", '{"x":1}'), ("b", "seal", "{}")]


def test_neither_index_nor_ids() -> None:
    assert calls(
        fragment('{"x', "look"), fragment('":1}'), {"extra": {"s": 1}}, fragment("{}", "seal")
    ) == [("", "look", '{"x":1}'), ("", "seal", "{}")]


def test_two_calls_may_share_an_id_where_their_indexes_differ() -> None:
    assert calls(
        fragment("{}", "look", index=0, id="a"), fragment("{}", "seal", index=1, id="a")
    ) == [("a", "look", "{}"), ("a", "seal", "{}")]


def test_names_and_ids_that_are_repeated_or_emptied() -> None:
    assert calls(
        fragment('{"x', "look", index=0, id="a", type="function"),
        fragment('":1', "look", index=0, id="a", type="function"),
        fragment("}", "", index=0, id="", type=None),
    ) == [("a", "look", '{"x":1}')]


def test_a_name_may_come_in_fragments() -> None:
    assert calls(fragment("", "set_", index=0, id="a"), fragment("", "product", index=0)) == [
        ("a", "set_product", "")
    ]


def test_arguments_that_do_not_come_or_are_no_string() -> None:
    assert calls({"index": 0, "id": "a", "function": {"name": "seal"}}) == [("a", "seal", "{}")]
    assert calls(fragment({"x": 1}, "look", index=0, id="a")) == [("a", "look", '{"x": 1}')]
    assert calls({"index": 0, "id": "a", "function": None}) == [("a", "", "{}")]


def test_a_call_goes_back_complete() -> None:
    made = native({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "seal"}}]})
    assert made == {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "function": {"name": "seal", "arguments": "{}"}, "type": "function"}
        ],
        "content": None,
    }


def test_an_empty_list_of_calls_is_no_call() -> None:
    assert native({"content": "x", "tool_calls": []}) == {"role": "assistant", "content": "x"}
    assert native({"content": "x", "tool_calls": None})["content"] == "x"


@pytest.mark.parametrize("value", [1, {}, [1], [[]], [{"function": 1}]])
def test_calls_of_another_kind(value: Any) -> None:
    with pytest.raises(NotJson):
        draft({"tool_calls": value})


@pytest.mark.parametrize("whole", [True, False])
def test_huge_arguments_are_cut_at_their_limit(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.setattr(replying, "LARGEST_ARGUMENTS_BYTES", 100)
    text = '{"sql":"' + "é" * 200
    pieces = [text] if whole else [text[a : a + 7] for a in range(0, len(text), 7)]
    made = draft(
        {"tool_calls": [fragment("", "look", index=0, id="a")]},
        *({"tool_calls": [fragment(piece, index=0)]} for piece in pieces),
    )
    (call,) = made.calls()
    assert call.cut
    assert text.startswith(call.arguments)
    assert call.arguments.startswith('{"sql":"')
    function = json.loads(made.native())["tool_calls"][0]["function"]
    assert function["arguments"] == call.arguments


# --- usage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # OpenAI: reasoning within completion, cached within prompt.
        (
            {
                "prompt_tokens": 1_000,
                "completion_tokens": 300,
                "total_tokens": 1_300,
                "prompt_tokens_details": {"cached_tokens": 900, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 200},
            },
            Usage(1_000, 900, 300, 200),
        ),
        # DeepSeek: hits and misses beside.
        (
            {
                "prompt_tokens": 1_000,
                "completion_tokens": 300,
                "total_tokens": 1_300,
                "prompt_cache_hit_tokens": 640,
                "prompt_cache_miss_tokens": 360,
                "completion_tokens_details": {"reasoning_tokens": 250},
            },
            Usage(1_000, 640, 300, 250),
        ),
        # Moonshot: cached tokens at the top.
        (
            {"prompt_tokens": 50, "completion_tokens": 5, "cached_tokens": 32},
            Usage(50, 32, 5, 0),
        ),
        # xAI: reasoning beside completion, recognizable because it is the larger.
        (
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(32, 0, 103, 94),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 0}, Usage(5, 0, 0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": 9}, Usage(5, 5, 1, 0)),
        (
            {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": None},
            Usage(5, 0, 1, 0),
        ),
        # Missing, wherever it is not stated in full.
        (None, None),
        ({}, None),
        ({"prompt_tokens": 5}, None),
        ({"completion_tokens": 5}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": "5", "completion_tokens": 1}, None),
        ({"prompt_tokens": True, "completion_tokens": 1}, None),
        ({"prompt_tokens": -5, "completion_tokens": 1}, None),
        ([1], None),
    ],
)
def test_usage_as_vendors_state_it(usage: Any, expected: Usage | None) -> None:
    assert usage_of(usage, ChatDialect()) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # Gemini: reasoning in the total alone.
        (
            {"prompt_tokens": 20, "completion_tokens": 424, "total_tokens": 1_016},
            Usage(20, 0, 996, 572),
        ),
        # The same with details.
        (
            {
                "prompt_tokens": 21,
                "completion_tokens": 0,
                "total_tokens": 81,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            Usage(21, 0, 60, 60),
        ),
        # A service of the same dialect that has put it right in the meantime.
        (
            {
                "prompt_tokens": 21,
                "completion_tokens": 70,
                "total_tokens": 91,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            Usage(21, 0, 70, 60),
        ),
        (
            {
                "prompt_tokens": 21,
                "completion_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            Usage(21, 0, 70, 60),
        ),
    ],
)
def test_usage_where_only_the_total_has_the_reasoning(usage: Any, expected: Usage) -> None:
    assert usage_of(usage, IN_TOTAL) == expected


# --- dialects -----------------------------------------------------------------------------------


def test_the_plain_dialect_returns_the_very_text() -> None:
    text = '{ "role" : "assistant", "content" : "caf\\u00e9", "n": 1.10 }'
    assert returned(text, ChatDialect()) == text.encode()


def test_another_dialect_touches_only_what_it_names() -> None:
    text = '{"role":"assistant","n":1.10,"reasoning":"r","content":"caf\\u00e9","x":[1, 2]}'
    kept = returned(text, ChatDialect(return_reasoning="never"))
    assert kept == b'{"role":"assistant","n":1.10,"content":"caf\\u00e9","x":[1, 2]}'


def test_a_dialect_is_part_of_the_identity_and_its_absence_is_not() -> None:
    plain, other = route(), route(chat={"return_reasoning": "never"})
    assert "chat" not in plain.public()
    assert other.public()["chat"]["return_reasoning"] == "never"
    assert plain.identity_hash != other.identity_hash


@pytest.mark.parametrize(
    "changes",
    [
        {"chat": {"output_limit_field": "max tokens"}},
        {"chat": {"return_reasoning": "sometimes"}},
        {"chat": {"unknown": 1}},
        {"protocol": "messages", "chat": {}},
        {"responses": {}},
        {"protocol": "responses", "messages": {}},
        {"protocol": "responses", "responses": {"store": True}},
        {"protocol": "messages", "messages": {"cache_breakpoints": "1d"}},
    ],
)
def test_a_wrong_dialect_is_an_input_error(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="route"):
        route(**changes)


@pytest.mark.parametrize(
    ("protocol", "dialect"),
    [("responses", {"encrypted_reasoning": False}), ("messages", {"cache_breakpoints": "1h"})],
)
def test_every_dialect_is_a_part_of_the_identity(protocol: str, dialect: dict[str, Any]) -> None:
    spoken: dict[str, Any] = {"protocol": protocol, protocol: dialect}
    plain, other = route(protocol=protocol), route(**spoken)
    assert protocol not in plain.public()
    assert other.public()[protocol] == dialect
    assert plain.identity_hash != other.identity_hash


def test_a_dialect_is_frozen() -> None:
    with pytest.raises(ValidationError):
        ChatDialect().ask_usage = False  # type: ignore[misc]


def test_a_route_is_opened_by_its_protocol() -> None:
    for protocol, provider in PROVIDERS.items():
        assert isinstance(open_provider(route(protocol=protocol)), provider)


def test_a_call_is_a_value() -> None:
    call = ToolCall("a", "look", "{}")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(call), type=ToolCall) == call
