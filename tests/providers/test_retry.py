"""What follows a fault (providers.md section 4)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.contract import Fault, FaultKind, Reply
from providers.retry import (
    LONGEST_BACKOFF_SECONDS,
    Stop,
    Tally,
    Wait,
    backoff_seconds,
    decide,
    missing_usage,
)

KINDS: tuple[FaultKind, ...] = (
    "transient",
    "bad_request",
    "refused",
    "identity",
    "too_long",
    "protocol",
)
HOUR = 3_600.0

tallies = st.builds(Tally, st.integers(0, 5_000), st.integers(0, 9), st.integers(0, 9))
faults = st.builds(
    Fault,
    kind=st.sampled_from(KINDS),
    message=st.just("No."),
    retry_after_seconds=st.none() | st.floats(0, 1e9),
)
uniforms = st.floats(0, 1, exclude_max=True)


def fault(kind: FaultKind, retry_after: float | None = None) -> Fault:
    return Fault(kind=kind, message="No.", retry_after_seconds=retry_after)


def waited(decision: Wait | Stop) -> float:
    assert isinstance(decision, Wait)
    return decision.seconds


def stopped(decision: Wait | Stop) -> Stop:
    assert isinstance(decision, Stop)
    return decision


# --- transient ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults_before", "longest"), [(0, 1), (1, 2), (2, 4), (3, 8), (5, 32), (6, 60), (5_000, 60)]
)
def test_backoff_doubles_up_to_a_limit_with_full_jitter(faults_before: int, longest: int) -> None:
    before = Tally(transient=faults_before)
    for uniform in (0.0, 0.25, 0.5):
        assert waited(decide(fault("transient"), before, HOUR, uniform)) == longest * uniform
    assert waited(decide(fault("transient"), before, HOUR, math.nextafter(1, 0))) < longest


def test_a_longer_wait_that_the_service_asks_for_is_kept() -> None:
    assert waited(decide(fault("transient", 600), Tally(), HOUR, 0.5)) == 600
    assert waited(decide(fault("transient", 0.1), Tally(transient=3), HOUR, 0.5)) == 4


def test_a_wait_is_bounded_by_the_time_that_remains() -> None:
    decision = decide(fault("transient", 5_000), Tally(), 90, 0.5)
    assert decision == Wait(90, True, Tally(transient=1))
    assert decide(fault("transient", 90), Tally(), 90, 0.5) == Wait(90, True, Tally(transient=1))
    assert decide(fault("transient", 89), Tally(), 90, 0.5) == Wait(89, False, Tally(transient=1))


@pytest.mark.parametrize("kind", ["transient", "bad_request", "protocol"])
@pytest.mark.parametrize("remaining", [0.0, -1.0])
def test_without_time_there_is_no_other_try(kind: FaultKind, remaining: float) -> None:
    stop = stopped(decide(fault(kind), Tally(), remaining, 0.5))
    assert (stop.cause, stop.needs_person) == ("time", False)


def test_transient_faults_never_stop_by_their_number() -> None:
    tally = Tally()
    for _ in range(1_000):
        decision = decide(fault("transient"), tally, HOUR, 0.999)
        assert waited(decision) <= LONGEST_BACKOFF_SECONDS
        tally = decision.tally
    assert tally == Tally(transient=1_000)


# --- 400 ----------------------------------------------------------------------------------------


def test_a_rejected_request_is_tried_three_times_in_all() -> None:
    first = decide(fault("bad_request"), Tally(), HOUR, 0.3)
    second = decide(fault("bad_request"), first.tally, HOUR, 0.3)
    third = stopped(decide(fault("bad_request"), second.tally, HOUR, 0.3))
    assert (waited(first), waited(second)) == (1, 2)
    assert (third.cause, third.needs_person) == ("bad_request", False)
    assert "3 times in a row" in third.reason
    assert "No." in third.reason


def test_a_rejection_waits_longer_where_it_is_asked_to() -> None:
    assert waited(decide(fault("bad_request", 7), Tally(), HOUR, 0.3)) == 7
    assert waited(decide(fault("bad_request", 0.5), Tally(), HOUR, 0.3)) == 1


def test_other_faults_do_not_empty_the_count_of_rejections() -> None:
    tally = Tally(bad_requests=2)
    for kind in ("transient", "protocol"):
        tally = decide(fault(kind), tally, HOUR, 0.3).tally
    assert stopped(decide(fault("bad_request"), tally, HOUR, 0.3)).cause == "bad_request"


# --- what nobody can use ------------------------------------------------------------------------


def test_an_unusable_reply_is_asked_for_again_three_times() -> None:
    tally, waits = Tally(), 0
    while isinstance(decision := decide(fault("protocol"), tally, HOUR, 0.5), Wait):
        tally, waits = decision.tally, waits + 1
    assert waits == 3
    assert (decision.cause, decision.needs_person) == ("unreadable", False)


def test_a_reply_without_usage_is_such_a_reply() -> None:
    reply = Reply(
        native="{}",
        text="x",
        tool_calls=(),
        stop="finished",
        stop_reason="stop",
        usage=None,
        requested_model="a",
        returned_model="a",
        request_id="req-1",
        fingerprint=None,
        latency_seconds=1.0,
        first_token_seconds=None,
        has_reasoning=False,
        is_only_reasoning=False,
    )
    found = missing_usage(reply)
    assert (found.kind, found.code, found.maybe_billed) == ("protocol", "usage_missing", True)
    assert found.request_id == "req-1"


# --- terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "needs_person"), [("refused", True), ("identity", True), ("too_long", False)]
)
def test_some_faults_end_it_at_once(kind: FaultKind, needs_person: bool) -> None:
    before = Tally(3, 2, 1)
    stop = stopped(decide(fault(kind, 5), before, HOUR, 0.5))
    assert (stop.cause, stop.needs_person, stop.tally) == (kind, needs_person, before)
    assert "No." in stop.reason


# --- always -------------------------------------------------------------------------------------


@given(faults, tallies, st.floats(-10, 1e6), uniforms)
def test_every_decision_keeps_within_bounds(
    found: Fault, before: Tally, remaining: float, uniform: float
) -> None:
    decision = decide(found, before, remaining, uniform)
    assert decision.tally == before.after(found)
    assert decision == decide(found, before, remaining, uniform)
    if isinstance(decision, Wait):
        assert 0 <= decision.seconds <= remaining
        assert decision.uses_up_time == (decision.seconds == remaining)
        if not decision.uses_up_time:
            assert decision.seconds >= (found.retry_after_seconds or 0)
        assert found.kind in ("transient", "bad_request", "protocol")
        assert decision.tally.bad_requests <= 2 or found.kind != "bad_request"
    else:
        assert decision.reason


@given(st.integers(1, 10**6), uniforms)
def test_backoff_stays_between_nothing_and_its_limit(count: int, uniform: float) -> None:
    assert 0 <= backoff_seconds(count, uniform) < LONGEST_BACKOFF_SECONDS
