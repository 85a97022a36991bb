"""How a Chat reply goes back with the next request (providers.md section 1)."""

from typing import Any

import pytest

from providers.chat import ChatProvider
from providers.contract import (
    AssistantMessage,
    Reply,
    Request,
)
from tests.providers.asking import replied, route, sent
from tests.providers.chat_service import (
    call_delta,
    chunk,
    reply,
    stream,
    usage_chunk,
)


def echoed(answer: Reply, **changes: Any) -> Any:
    """The assistant message of the next request."""
    request = Request("", (AssistantMessage(answer.native),), (), 16)
    return sent(request, **changes)["messages"][1]


def test_a_reply_goes_back_byte_for_byte() -> None:
    answer = replied(
        reply(
            {
                "role": "assistant",
                "content": "caf\u00e9 \\ \u2028 \ud83d\ude00",
                "signature": "AbC+/=",
                "amount": 1.10,
                "huge": 123456789012345678901234567890,
                "nested": {"b": [1, None, {"z": 1, "a": 2}]},
            }
        )
    )
    native = answer.native
    wire = ChatProvider(route()).wire(Request("", (AssistantMessage(native),), (), 16))
    assert native.encode() in wire
    # The service's own escapes, order and number forms are in it.
    for part in (
        "caf\\u00e9 \\\\ \\u2028 \\ud83d\\ude00",
        "1.1,",
        "123456789012345678901234567890",
    ):
        assert part in native
    assert '{"b":[1,null,{"z":1,"a":2}]}' in native


def test_thought_signatures_stay_on_their_calls() -> None:
    signature = {"google": {"thought_signature": "EjQKMgEM+/=="}}
    answer = replied(
        reply(
            call_delta(None, "{}", id="c1", name="look", extra_content=signature),
            call_delta(None, "{}", id="c2", name="seal"),
            finish="stop",
        )
    )
    calls = echoed(answer)["tool_calls"]
    assert [call.get("extra_content") for call in calls] == [signature, None]
    assert [call["id"] for call in calls] == ["c1", "c2"]
    assert [call["type"] for call in calls] == ["function", "function"]


CALLING = reply(
    {"role": "assistant", "content": None, "reasoning_content": "Think"},
    call_delta(0, '{"broken', id="c", name="look"),
    finish="tool_calls",
)
TALKING = reply({"role": "assistant", "content": "x", "reasoning_content": "Think", "odd": 1})


@pytest.mark.parametrize(
    ("rule", "with_calls", "without_calls"),
    [("always", True, True), ("with tool calls", True, False), ("never", False, False)],
)
def test_reasoning_goes_back_as_the_route_says(
    rule: str, with_calls: bool, without_calls: bool
) -> None:
    dialect = {"return_reasoning": rule}
    assert ("reasoning_content" in echoed(replied(CALLING), chat=dialect)) is with_calls
    assert ("reasoning_content" in echoed(replied(TALKING), chat=dialect)) is without_calls
    assert echoed(replied(TALKING), chat=dialect)["odd"] == 1


def test_an_empty_reasoning_field_goes_back_too() -> None:
    answer = replied(
        reply(
            {"role": "assistant", "content": None, "reasoning_content": ""},
            call_delta(0, "{}", id="c", name="seal"),
            finish="tool_calls",
        )
    )
    assert not answer.has_reasoning
    assert echoed(answer)["reasoning_content"] == ""


def test_withheld_fields_do_not_go_back() -> None:
    assert "odd" not in echoed(replied(TALKING), chat={"withheld_fields": ["odd"]})


def test_bad_arguments_go_back_as_the_route_says() -> None:
    as_received = echoed(replied(CALLING))
    assert as_received["tool_calls"][0]["function"]["arguments"] == '{"broken'
    emptied = echoed(replied(CALLING), chat={"return_bad_arguments": "as empty object"})
    assert emptied["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}
    sound = replied(reply(call_delta(0, '{"a": 1}', id="c", name="look"), finish="tool_calls"))
    kept = echoed(sound, chat={"return_bad_arguments": "as empty object"})
    assert kept["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


def test_an_empty_reply_still_makes_a_valid_message() -> None:
    assert echoed(replied(stream(chunk(finish="stop"), usage_chunk()))) == {
        "role": "assistant",
        "content": "",
    }
