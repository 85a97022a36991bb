"""The allowance's edges: 28 and 32 replies, 98,304 and 131,072 tokens, 2,700 and 3,600 seconds."""

import msgspec
import pytest

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import (
    Allowance,
    Use,
    finalization_reason,
    reply_ceiling,
    spent_reason,
)
from tests.orchestrator.session.attempts import (
    LOOK,
    PREVIEW,
    SEAL,
    STANDARD,
    TRANSIENT,
    Attempt,
    reply,
)


def allowance(**limits: int | None) -> Allowance:
    return msgspec.structs.replace(STANDARD, **limits)


@pytest.mark.parametrize(
    ("use", "final"),
    [
        (Use(), False),
        (Use(replies=27), False),
        (Use(replies=28), True),
        (Use(output_tokens=98_304 - 1_024), False),
        (Use(output_tokens=98_304 - 1_023), True),
        (Use(output_tokens=98_304), True),
        (Use(seconds=2_699.9), False),
        (Use(seconds=2_700.0), True),
    ],
)
def test_whichever_threshold_comes_first_starts_finalization(use: Use, *, final: bool) -> None:
    assert (finalization_reason(STANDARD, use) is not None) is final


@pytest.mark.parametrize(
    ("use", "spent"),
    [
        (Use(replies=31, final_replies=3), False),
        (Use(replies=32, final_replies=3), True),
        (Use(replies=20, final_replies=4), True),
        (Use(output_tokens=131_072 - 1_024), False),
        (Use(output_tokens=131_072 - 1_023), True),
        (Use(output_tokens=200_000), True),
        (Use(seconds=3_599.9), False),
        (Use(seconds=3_600.0), True),
    ],
)
def test_whichever_limit_comes_first_ends_the_attempt(use: Use, *, spent: bool) -> None:
    assert (spent_reason(STANDARD, use) is not None) is spent


@pytest.mark.parametrize(
    ("limits", "thresholds"),
    [
        ({}, (28, 98_304, 2_700.0)),
        ({"replies": 10, "output_tokens": 40_000, "seconds": 100}, (6, 30_000, 75.0)),
        ({"replies": 3, "output_tokens": 1, "seconds": 1}, (0, 0, 0.75)),
        ({"output_tokens": None}, (28, None, 2_700.0)),
    ],
)
def test_thresholds_follow_the_limits(
    limits: dict[str, int | None], thresholds: tuple[int, int | None, float]
) -> None:
    granted = allowance(**limits)
    assert (
        granted.replies_threshold,
        granted.tokens_threshold,
        granted.seconds_threshold,
    ) == thresholds


@pytest.mark.parametrize(
    ("limits", "used", "final", "ceiling"),
    [
        ({}, 0, False, 98_304),
        ({}, 90_000, False, 8_304),
        ({}, 90_000, True, 41_072),
        ({"native_ceiling": 65_536}, 0, False, 65_536),
        ({"native_ceiling": 65_536}, 98_304, True, 32_768),
        ({"output_tokens": None}, 10_000_000, False, 128_000),
        ({"output_tokens": None}, 10_000_000, True, 128_000),
    ],
)
def test_a_reply_may_have_what_is_left_of_the_phase(
    limits: dict[str, int | None], used: int, ceiling: int, *, final: bool
) -> None:
    assert reply_ceiling(allowance(**limits), Use(output_tokens=used), final=final) == ceiling


def test_without_a_limit_of_tokens_none_are_ever_used_up() -> None:
    granted, use = allowance(output_tokens=None), Use(output_tokens=10**9)
    assert finalization_reason(granted, use) is None
    assert spent_reason(granted, use) is None


def test_28_replies_then_four_more_without_queries() -> None:
    attempt = Attempt(reply(LOOK, PREVIEW) for _ in range(40))
    status, state = attempt.play()
    assert status is CompanyWindowStatus.BUDGET_EXHAUSTED
    assert (state.use.replies, state.use.final_replies) == (32, 4)
    assert len(attempt.model.asked) == 32
    statuses = [result.get("status") for result in attempt.results()]
    assert statuses[:56] == [None, "preview"] * 28
    assert statuses[56:] == ["rejected", "preview"] * 4
    kinds = attempt.journal.kinds()
    begun = kinds.index("FinalizationBegan")
    assert kinds[:begun].count("Answered") == 28
    assert kinds[begun - 1] == "ToolReceipt"
    assert len({msgspec.json.encode(request.tools) for request in attempt.model.asked}) == 1


def test_the_32nd_reply_can_still_seal() -> None:
    attempt = Attempt([*(reply(PREVIEW) for _ in range(31)), reply(SEAL)])
    status, state = attempt.play()
    assert status is CompanyWindowStatus.SEALED
    assert state.use.replies == 32


@pytest.mark.parametrize(("first", "begins"), [(97_280, False), (97_281, True), (98_304, True)])
def test_tokens_start_finalization(first: int, *, begins: bool) -> None:
    attempt = Attempt([reply(PREVIEW, tokens=first), reply(SEAL, tokens=10)])
    status, state = attempt.play()
    assert status is CompanyWindowStatus.SEALED
    assert state.final is begins
    assert attempt.model.asked[0].max_output_tokens == 98_304
    left = 131_072 - first if begins else 98_304 - first
    assert attempt.model.asked[1].max_output_tokens == left


@pytest.mark.parametrize(("second", "asks_again"), [(31_744, True), (31_745, False)])
def test_tokens_end_the_attempt(second: int, *, asks_again: bool) -> None:
    replies = [reply(PREVIEW, tokens=98_304), reply(PREVIEW, tokens=second), reply(SEAL, tokens=1)]
    attempt = Attempt(replies)
    status, _ = attempt.play()
    ended = CompanyWindowStatus.SEALED if asks_again else CompanyWindowStatus.BUDGET_EXHAUSTED
    assert status is ended
    assert len(attempt.model.asked) == 2 + asks_again
    assert attempt.model.asked[-1].max_output_tokens == (1_024 if asks_again else 32_768)


@pytest.mark.parametrize(("each", "begins"), [(2_699.0, False), (2_700.0, True)])
def test_seconds_start_finalization(each: float, *, begins: bool) -> None:
    attempt = Attempt([reply(PREVIEW), reply(SEAL)], seconds_each=each)
    status, state = attempt.play()
    assert status is CompanyWindowStatus.SEALED
    assert state.final is begins
    assert attempt.model.within == [3_600.0, 3_600.0 - each]


@pytest.mark.parametrize(("each", "ends"), [(1_799.5, False), (1_800.0, True)])
def test_seconds_end_the_attempt(each: float, *, ends: bool) -> None:
    attempt = Attempt([reply(PREVIEW), reply(PREVIEW), reply(SEAL)], seconds_each=each)
    status, state = attempt.play()
    assert (status is CompanyWindowStatus.BUDGET_EXHAUSTED) is ends
    assert len(attempt.model.asked) == (2 if ends else 3)
    assert state.use.seconds >= 3_599


def test_four_replies_of_finalization_are_all_wherever_it_began() -> None:
    attempt = Attempt((reply(PREVIEW) for _ in range(40)), seconds_each=271.0)
    status, state = attempt.play()
    assert status is CompanyWindowStatus.BUDGET_EXHAUSTED
    # 2,710 seconds at the tenth reply; the hard limit would have come at the fourteenth.
    assert (state.use.replies, state.use.final_replies) == (14, 4)
    slower = Attempt((reply(PREVIEW) for _ in range(40)), seconds_each=100.0)
    assert slower.play()[1].use.replies == 31


@pytest.mark.parametrize(
    ("limits", "replies"),
    [({"replies": 1}, 1), ({"replies": 3}, 3), ({"replies": 4}, 4), ({"replies": 5}, 5)],
)
def test_few_replies_are_all_granted(limits: dict[str, int | None], replies: int) -> None:
    attempt = Attempt((reply(PREVIEW) for _ in range(9)), allowance(**limits))
    status, state = attempt.play()
    assert status is CompanyWindowStatus.BUDGET_EXHAUSTED
    assert len(attempt.model.asked) == replies
    assert state.use.final_replies == min(replies, 4)


def test_too_few_tokens_for_one_reply_end_the_attempt_before_it() -> None:
    attempt = Attempt((), allowance(output_tokens=1_000))
    status, state = attempt.play()
    assert status is CompanyWindowStatus.BUDGET_EXHAUSTED
    assert "1000" in attempt.reason
    assert state.use.replies == 0


def test_waits_are_active_time_and_may_end_it() -> None:
    slow = msgspec.structs.replace(TRANSIENT, retry_after_seconds=2_000.0)
    attempt = Attempt([slow, reply(PREVIEW), slow, reply(SEAL)])
    status, state = attempt.play()
    assert status is CompanyWindowStatus.TIMEOUT
    assert state.use.seconds == pytest.approx(3_600)
    assert len(attempt.model.asked) == 3
