"""What each kind of reply and each fault leads to."""

import hashlib
import json
from typing import Any

import msgspec
import pytest

from manifests.canonical import digest_bytes
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import (
    Answered,
    Asked,
    Corrected,
    Event,
    ToolReceipt,
    WaitBegan,
)
from providers.contract import AssistantMessage, Request, ToolCall, ToolResult, UserMessage
from tests.orchestrator.session import attempts
from tests.orchestrator.session.attempts import (
    BAD_REQUEST,
    LOOK,
    OPENING,
    PREVIEW,
    PRICE,
    SEAL,
    TRANSIENT,
    UNREADABLE,
    Attempt,
    call,
    reply,
    said,
)

SEALED = CompanyWindowStatus.SEALED


def events_of(attempt: Attempt, kind: type[Event]) -> list[Any]:
    return [event for event in attempt.journal.load() if isinstance(event, kind)]


def texts(attempt: Attempt) -> list[str]:
    return [receipt.text for receipt in events_of(attempt, ToolReceipt)]


def test_a_plain_window_is_asked_run_and_sealed() -> None:
    attempt = Attempt([reply(PRICE, tag="a"), reply(SEAL, tag="b")])
    status, state = attempt.play()
    assert status is SEALED
    assert attempt.journal.kinds() == [
        *("WindowOpened", "Asked", "Answered", "ToolReceipt"),
        *("Asked", "Answered", "ToolReceipt", "Closed"),
    ]
    assert attempt.model.asked[0].messages == (UserMessage(OPENING.briefing),)
    assert attempt.model.asked[0].system == OPENING.system
    assert len(attempt.model.asked[0].tools) == 18
    assert state.draft.products["A"].price_cents == 4_200


def test_what_is_sent_is_what_was_journaled_before() -> None:
    attempt = Attempt([reply(PREVIEW), reply(SEAL)])
    attempt.play()
    digests = [digest_bytes(attempt.model.wire(request)) for request in attempt.model.asked]
    assert [asked.request_digest for asked in events_of(attempt, Asked)] == digests
    assert [asked.ordinal for asked in events_of(attempt, Asked)] == [1, 2]


def test_a_conversation_grows_and_nothing_in_it_changes() -> None:
    attempt = Attempt([reply(PRICE, PREVIEW, tag="a"), reply(text="hm", tag="b"), reply(SEAL)])
    attempt.play()
    for before, after in zip(attempt.model.asked, attempt.model.asked[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
    last = attempt.model.asked[-1].messages
    assert [type(message) for message in last] == [
        *(UserMessage, AssistantMessage, ToolResult, ToolResult),
        *(AssistantMessage, UserMessage),
    ]


def test_a_reply_without_a_call_never_seals_and_counts() -> None:
    attempt = Attempt([reply(text="I seal."), reply(tokens=0), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert state.use.replies == 3
    assert len([text for text in said(state) if "no tool call" in text]) == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (call("fly"), "must be one of query_company"),
        (ToolCall("", "set_product", "{"), "must be one valid JSON object"),
        (call("set_product", product_id="A", price_cents=1, run="x"), "run"),
        (call("set_product", product_id="A", price_cents="1"), "price_cents"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(wrong: ToolCall, words: str) -> None:
    attempt = Attempt([reply(PRICE, wrong, PREVIEW), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    _, rejected, preview, _ = texts(attempt)
    assert words in rejected
    assert json.loads(rejected)["status"] == "rejected"
    assert json.loads(preview)["staged"]["products"]
    assert state.use.replies == 2


@pytest.mark.parametrize("calls", [(PRICE, SEAL), (SEAL, PRICE), (SEAL, SEAL)])
def test_a_mixed_seal_is_rejected_whole(calls: tuple[ToolCall, ...]) -> None:
    attempt = Attempt([reply(*calls), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert state.draft.is_hold
    assert all("only call of its reply" in text for text in texts(attempt)[:2])


def test_a_seal_that_is_refused_leaves_the_window_open() -> None:
    order = call("request_market_research", segment_id="value", level=5)
    huge = [order] * 400
    attempt = Attempt([reply(*huge), reply(SEAL), reply(call("reset_decision")), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert json.loads(texts(attempt)[400])["status"] == "refused"
    assert state.draft.is_hold


def test_calls_with_one_id_do_not_run_and_the_id_is_answered_once() -> None:
    twice = [msgspec.structs.replace(each, call_id="same") for each in (PRICE, PREVIEW)]
    other = msgspec.structs.replace(PREVIEW, call_id="other")
    attempt = Attempt([reply(*twice, other), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert state.draft.is_hold
    assert all("same id" in text for text in texts(attempt)[:2])
    results = [each for each in attempt.model.asked[1].messages if isinstance(each, ToolResult)]
    assert [result.call_id for result in results] == ["same", "other"]


def test_a_reply_cut_by_length_runs_nothing_and_is_to_be_continued() -> None:
    attempt = Attempt([reply(PRICE, SEAL, stop="length"), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert state.draft.is_hold
    messages = attempt.model.asked[1].messages
    assert [type(message) for message in messages[1:]] == [
        *(AssistantMessage, ToolResult, ToolResult, UserMessage)
    ]
    assert "complete tool calls" in said(state)[0]


def test_a_text_cut_by_length_stays_in_the_conversation() -> None:
    attempt = Attempt([reply(text="Now I", stop="length"), reply(SEAL)])
    attempt.play()
    assert [type(message) for message in attempt.model.asked[1].messages[1:]] == [
        *(AssistantMessage, UserMessage)
    ]
    assert events_of(attempt, Corrected)[0].leaves_out is None


def test_a_cut_reply_of_reasoning_alone_is_left_out_and_its_digest_kept() -> None:
    thought = reply(stop="length", only_reasoning=True)
    attempt = Attempt([thought, reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert [type(message) for message in attempt.model.asked[1].messages] == [UserMessage] * 2
    digest = "sha256:" + hashlib.sha256(thought.native.encode()).hexdigest()
    assert events_of(attempt, Corrected)[0].leaves_out == digest
    assert events_of(attempt, Answered)[0].reply == thought, "the trace keeps all of it"
    assert state.use.replies == 2


def test_reasoning_alone_that_ended_of_its_own_accord_is_left_out_too() -> None:
    attempt = Attempt([reply(only_reasoning=True), reply(SEAL)])
    _, state = attempt.play()
    assert [type(message) for message in attempt.model.asked[1].messages] == [UserMessage] * 2
    assert events_of(attempt, Corrected)[0].leaves_out is not None
    assert "no tool call" in said(state)[0]


@pytest.mark.parametrize("stop", ["content_filter", "other"])
def test_calls_of_a_reply_that_did_not_end_of_itself_do_not_run(stop: Any) -> None:
    attempt = Attempt([reply(PRICE, stop=stop), reply(stop=stop), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert state.draft.is_hold
    assert "did not end" in texts(attempt)[0]


def test_a_call_that_was_cut_on_arrival_does_not_run() -> None:
    cut = msgspec.structs.replace(call("write_file", path="a", content="b"), cut=True)
    attempt = Attempt([reply(cut, PREVIEW), reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert state.files.paths == []
    assert "longer than a reply may carry" in texts(attempt)[0]
    assert json.loads(texts(attempt)[1])["status"] == "preview"


def test_queries_end_with_the_active_time_and_a_seal_that_came_in_time_counts() -> None:
    attempt = Attempt([reply(LOOK, PREVIEW)], seconds_each=3_600)
    status, _ = attempt.play()
    assert status is CompanyWindowStatus.BUDGET_EXHAUSTED
    assert "all active time" in texts(attempt)[0]
    assert json.loads(texts(attempt)[1])["status"] == "preview"
    assert Attempt([reply(SEAL)], seconds_each=3_600).play()[0] is SEALED


def test_missing_usage_repeats_the_request_and_keeps_nothing() -> None:
    lost = reply(PRICE, tokens=None)
    attempt = Attempt([lost, lost, lost, reply(PREVIEW), lost, reply(SEAL)])
    status, state = attempt.play()
    assert status is SEALED
    assert len({attempt.model.wire(request) for request in attempt.model.asked[:4]}) == 1
    assert state.draft.is_hold
    assert (state.use.replies, state.counts.replies_without_usage) == (2, 4)
    assert state.use.output_tokens == 200


def test_time_used_up_over_missing_usage_is_a_timeout() -> None:
    attempt = Attempt([reply(tokens=None)] * 2, seconds_each=3_599.5)
    assert attempt.play()[0] is CompanyWindowStatus.TIMEOUT


def test_missing_usage_is_repeated_three_times_and_then_ends_in_a_provider_error() -> None:
    attempt = Attempt([reply(tokens=None)] * 5)
    status, state = attempt.play()
    assert status is CompanyWindowStatus.PROVIDER_ERROR
    assert len(attempt.model.asked) == 4
    assert "no usage" in attempt.reason
    assert state.use.replies == 0


def test_unreadable_replies_end_in_a_protocol_error() -> None:
    attempt = Attempt([UNREADABLE] * 5)
    status, state = attempt.play()
    assert status is CompanyWindowStatus.PROTOCOL_ERROR
    assert len(attempt.model.asked) == 4
    assert state.counts.possibly_billed == 4


def test_a_timeout_comes_before_a_protocol_error() -> None:
    attempt = Attempt([UNREADABLE] * 5, seconds_each=899.5)
    status, _ = attempt.play()
    assert status is CompanyWindowStatus.TIMEOUT


def test_a_rejected_request_is_tried_three_times_in_a_row() -> None:
    attempt = Attempt([BAD_REQUEST, BAD_REQUEST, reply(PREVIEW), *[BAD_REQUEST] * 4])
    status, _ = attempt.play()
    assert status is CompanyWindowStatus.PROVIDER_ERROR
    assert len(attempt.model.asked) == 6
    assert [wait.seconds for wait in events_of(attempt, WaitBegan)] == [1.0, 2.0, 1.0, 2.0]


def test_faults_are_waited_out_inside_the_active_time() -> None:
    attempt = Attempt([TRANSIENT] * 200, seconds_each=5.0)
    status, state = attempt.play()
    assert status is CompanyWindowStatus.TIMEOUT
    assert state.use.seconds == pytest.approx(3_600, abs=6)
    assert state.counts.faults == len(attempt.model.asked)
    assert state.final, "the threshold holds between two tries of one request, too"


def test_a_request_that_lasts_to_the_end_of_the_time_is_a_timeout() -> None:
    attempt = Attempt([TRANSIENT], seconds_each=3_600.0)
    assert attempt.play()[0] is CompanyWindowStatus.TIMEOUT


def test_time_that_is_used_up_after_a_good_reply_is_a_spent_allowance() -> None:
    attempt = Attempt([TRANSIENT, reply(PREVIEW)], seconds_each=1_800.0)
    assert attempt.play()[0] is CompanyWindowStatus.BUDGET_EXHAUSTED


def test_the_finalization_is_announced_once_in_the_conversation() -> None:
    allowance = msgspec.structs.replace(attempts.STANDARD, replies=5)
    attempt = Attempt([reply(PREVIEW), reply(PREVIEW), reply(SEAL)], allowance)
    _, state = attempt.play()
    assert [text for text in said(state) if "Finalization has begun" in text] == said(state)
    assert "at most 4 more replies" in said(state)[0]


def test_tools_are_the_same_in_every_phase() -> None:
    allowance = msgspec.structs.replace(attempts.STANDARD, replies=5)
    attempt = Attempt([reply(PREVIEW), reply(PREVIEW), reply(SEAL)], allowance)
    attempt.play()
    first: Request = attempt.model.asked[0]
    assert all(request.tools == first.tools for request in attempt.model.asked)
