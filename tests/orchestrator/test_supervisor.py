"""Which failed company-windows get a fresh attempt (runtime.md section 4)."""

from itertools import product

import pytest

from campaigns.definition import RecoveryPolicy
from orchestrator.lifecycle import COMPANY_WINDOW_TRANSITIONS, CompanyWindowStatus
from orchestrator.supervisor import (
    FAILED,
    FRESH_ATTEMPTS,
    Failure,
    FreshAttempt,
    NoAttempt,
    Standing,
    WaitForPerson,
    supervise,
)

W = CompanyWindowStatus
POLICIES: tuple[RecoveryPolicy, ...] = ("fresh-allowance", "cumulative-usage")


def failed(status: W = W.TIMEOUT, *, needs_person: bool = False, **more: object) -> Standing:
    failure = Failure(status, "some cause", needs_person, "what went wrong")
    return Standing(status=status, failure=failure, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "policy"), list(product(FAILED, POLICIES)))
def test_exactly_three_fresh_attempts_with_indices_1_to_3(
    status: W, policy: RecoveryPolicy
) -> None:
    numbers = []
    for had in range(6):
        verdict = supervise(failed(status, fresh_attempts=had), policy, by_person=False)
        numbers += [verdict.number] if isinstance(verdict, FreshAttempt) else []
    assert numbers == [1, 2, 3]


@pytest.mark.parametrize("status", FAILED)
def test_each_attempt_waits_longer_than_the_one_before_unless_a_person_asks(status: W) -> None:
    waits = {}
    for asked, had in product((False, True), range(FRESH_ATTEMPTS)):
        window = failed(status, fresh_attempts=had)
        verdict = supervise(window, "fresh-allowance", by_person=asked)
        assert isinstance(verdict, FreshAttempt)
        waits[asked, had] = verdict.wait_seconds
    assert [waits[False, had] for had in range(3)] == [10.0, 60.0, 300.0]
    assert [waits[True, had] for had in range(3)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("asked", [False, True])
def test_a_person_cannot_ask_for_a_fourth(asked: bool) -> None:
    verdict = supervise(
        failed(W.PROVIDER_ERROR, fresh_attempts=3), "fresh-allowance", by_person=asked
    )
    assert verdict == WaitForPerson("all 3 fresh attempts are used")
    assert supervise(
        failed(W.TIMEOUT, fresh_attempts=3), "fresh-allowance", by_person=asked
    ) == NoAttempt("all 3 fresh attempts are used")


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("status", sorted(set(W) - set(FAILED)))
def test_what_did_not_fail_gets_none_whoever_asks(status: W, asked: bool) -> None:
    verdict = supervise(Standing(status=status), "fresh-allowance", by_person=asked)
    assert not isinstance(verdict, FreshAttempt)
    assert verdict.reason


def test_an_open_window_says_what_it_is_doing() -> None:
    window = Standing(status=W.OPEN, busy="it is backing off until noon: busy")
    assert supervise(window, "fresh-allowance", by_person=True) == NoAttempt(
        "it is backing off until noon: busy"
    )


@pytest.mark.parametrize(("status", "policy"), list(product(FAILED, POLICIES)))
def test_a_settled_window_stays_as_it_is(status: W, policy: RecoveryPolicy) -> None:
    verdict = supervise(failed(status, settled=True), policy, by_person=True)
    assert verdict == NoAttempt("it is settled")


def test_what_a_person_must_put_right_waits_for_that_person() -> None:
    window = failed(W.PROVIDER_ERROR, needs_person=True, fresh_attempts=1)
    waits = supervise(window, "fresh-allowance", by_person=False)
    assert waits == WaitForPerson("a person has to put this right first")
    asked = supervise(window, "fresh-allowance", by_person=True)
    assert isinstance(asked, FreshAttempt)
    assert asked.number == 2


@pytest.mark.parametrize("status", FAILED)
def test_files_that_cannot_be_proven_are_said(status: W) -> None:
    window = failed(status, unproven="the receipt that wrote version 2 of a.md is missing")
    verdict = supervise(window, "fresh-allowance", by_person=True)
    assert not isinstance(verdict, FreshAttempt)
    assert "version 2 of a.md is missing" in verdict.reason


def test_a_spent_allowance_counts_only_where_usage_is_cumulative() -> None:
    window = failed(spent="all 3600 active seconds are used")
    assert isinstance(supervise(window, "fresh-allowance", by_person=False), FreshAttempt)
    verdict = supervise(window, "cumulative-usage", by_person=False)
    assert isinstance(verdict, NoAttempt)
    assert "all 3600 active seconds are used" in verdict.reason


def test_only_what_the_lifecycle_can_open_again_gets_an_attempt() -> None:
    for status in FAILED:
        assert W.OPEN in COMPANY_WINDOW_TRANSITIONS[status]
