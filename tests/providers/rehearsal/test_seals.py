"""Reasoning has to come back whole and in place; anything else is a 400 that says so."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from openai import OpenAI

from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from tests.providers.rehearsal.client import (
    Message,
    body,
    opening,
    play_window,
    post,
    results_of,
    sdk,
    sent_back,
    streamed,
)
from tests.providers.rehearsal.company import Company

MODEL = "rehearsal-analyst"


@pytest.fixture
def played(client: OpenAI, company: Company) -> list[Message]:
    """A window up to its last tool results."""
    messages = play_window(client, MODEL, company)
    while messages[-1]["role"] != "tool" or "sealed" in messages[-1]["content"]:
        messages.pop()
    return messages


def answered(gateway: RunningGateway, messages: list[Message], **changes: Any) -> None:
    response = post(gateway.base_url, body(messages=messages, **changes))
    assert response.status_code == 200, response.text


def refused(gateway: RunningGateway, messages: list[Message], words: str) -> None:
    response = post(gateway.base_url, body(messages=messages))
    assert response.status_code == 400
    error = response.json()["error"]
    assert words in error["message"]
    assert error["param"].startswith("messages[")


def replies(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message["role"] == "assistant"]


def change_reasoning(messages: list[Message]) -> None:
    replies(messages)[1]["reasoning_content"] += " "


def lose_reasoning(messages: list[Message]) -> None:
    del replies(messages)[0]["reasoning_content"]


def empty_reasoning(messages: list[Message]) -> None:
    replies(messages)[0]["reasoning_content"] = ""


def lose_seal(messages: list[Message]) -> None:
    del replies(messages)[-1]["reasoning_signature"]


def change_seal(messages: list[Message]) -> None:
    replies(messages)[0]["reasoning_signature"] = "QUJD"


def seal_that_is_no_ascii(messages: list[Message]) -> None:
    replies(messages)[0]["reasoning_signature"] = "süß"


def exchange_reasoning(messages: list[Message]) -> None:
    first, second = replies(messages)[:2]
    for name in ("reasoning_content", "reasoning_signature"):
        first[name], second[name] = second[name], first[name]


def lose_a_call(messages: list[Message]) -> None:
    call = replies(messages)[0]["tool_calls"].pop()
    messages[:] = [one for one in messages if one.get("tool_call_id") != call["id"]]


def lose_an_exchange(messages: list[Message]) -> None:
    second = messages.index(replies(messages)[1])
    del messages[2:second]


def double_an_exchange(messages: list[Message]) -> None:
    second = messages.index(replies(messages)[1])
    messages[2:2] = deepcopy(messages[2:second])


def change_an_earlier_result(messages: list[Message]) -> None:
    messages[3]["content"] += "\n"


def change_the_briefing(messages: list[Message]) -> None:
    messages[1]["content"] += "!"


def lose_the_thought_of_a_call(messages: list[Message]) -> None:
    del replies(messages)[0]["tool_calls"][0]["extra_content"]


def change_the_thought_of_a_call(messages: list[Message]) -> None:
    calls = replies(messages)[0]["tool_calls"]
    calls[0]["extra_content"]["rehearsal"]["thought_signature"] = "QUJD"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (change_reasoning, "Invalid `reasoning_signature`"),
        (lose_reasoning, "`reasoning_content` in the thinking mode must be passed back"),
        (empty_reasoning, "`reasoning_content` in the thinking mode must be passed back"),
        (lose_seal, "`reasoning_signature` in the thinking mode must be passed back"),
        (change_seal, "Invalid `reasoning_signature`"),
        (seal_that_is_no_ascii, "Invalid `reasoning_signature`"),
        (exchange_reasoning, "Invalid `reasoning_signature`"),
        (lose_a_call, "directly before its own tool calls"),
        (lose_an_exchange, "after the same messages"),
        (double_an_exchange, "after the same messages"),
        (change_an_earlier_result, "Invalid `reasoning_signature`"),
        (change_the_briefing, "Invalid `reasoning_signature`"),
        (lose_the_thought_of_a_call, "is missing a thought_signature"),
        (change_the_thought_of_a_call, "another call's thought_signature"),
    ],
)
def test_damage_is_noticed(
    gateway: RunningGateway,
    played: list[Message],
    damage: Callable[[list[Message]], None],
    words: str,
) -> None:
    answered(gateway, played)
    damage(played)
    refused(gateway, played, words)


def test_reasoning_belongs_to_one_model(gateway: RunningGateway, played: list[Message]) -> None:
    response = post(gateway.base_url, body("rehearsal-trader", messages=played))
    assert response.status_code == 400
    assert "Invalid `reasoning_signature`" in response.json()["error"]["message"]


def test_a_gateway_knows_its_own_seals_after_a_restart_and_no_others(
    played: list[Message],
) -> None:
    with start_gateway() as again:
        answered(again, played)
    with start_gateway(GatewayOptions(signing_key="another")) as other:
        refused(other, played, "Invalid `reasoning_signature`")


def test_without_thinking_nothing_needs_to_come_back(client: OpenAI, company: Company) -> None:
    messages = play_window(client, MODEL, company, reasoning_effort="none")
    assert all("reasoning_content" not in reply for reply in replies(messages))


def test_what_was_thought_may_not_be_altered_without_thinking_either(
    gateway: RunningGateway, played: list[Message]
) -> None:
    answered(gateway, played, reasoning_effort="none")
    change_reasoning(played)
    response = post(gateway.base_url, body(messages=played, reasoning_effort="none"))
    assert response.status_code == 400


def test_a_reply_without_calls_may_come_back_with_or_without_its_reasoning(
    gateway: RunningGateway, client: OpenAI
) -> None:
    said = sent_back(streamed(client, **body(tools=...)))
    further = {"role": "user", "content": "Go on."}
    answered(gateway, [*opening(), said, further], tools=...)
    bare = {"role": "assistant", "content": said["content"]}
    answered(gateway, [*opening(), bare, further], tools=...)
    said["reasoning_content"] = "Something else."
    refused(gateway, [*opening(), said, further], "Invalid `reasoning_signature`")


def test_reasoning_cut_in_the_middle_has_no_seal_and_cannot_come_back_alone(
    gateway: RunningGateway, client: OpenAI
) -> None:
    cut = sent_back(streamed(client, **body(max_tokens=10)))
    assert set(cut) == {"role", "content", "reasoning_content"}
    further = {"role": "user", "content": "Your reply was cut off. Send complete calls."}
    refused(gateway, [*opening(), cut, further], "must have content or 'tool_calls'")
    answered(gateway, [*opening(), further])


def test_a_reply_cut_in_its_calls_comes_back_with_its_results(
    gateway: RunningGateway, client: OpenAI
) -> None:
    cut = sent_back(streamed(client, **body(max_tokens=100)))
    assert cut["tool_calls"]
    results = results_of(cut, ["Not run: the reply was cut off."] * len(cut["tool_calls"]))
    further = {"role": "user", "content": "Your reply was cut off. Send complete calls."}
    answered(gateway, [*opening(), cut, *results, further])


def test_conversations_do_not_mix(client: OpenAI) -> None:
    with sdk(str(client.base_url)) as other:
        first = sent_back(streamed(client, **body(messages=opening("Day 7."))))
        second = sent_back(streamed(other, **body(messages=opening("Day 14."))))
    assert first["reasoning_content"] == second["reasoning_content"]
    assert first["reasoning_signature"] != second["reasoning_signature"]
    assert first["tool_calls"][0]["id"] != second["tool_calls"][0]["id"]
