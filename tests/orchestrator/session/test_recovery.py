"""Fresh attempts at a company-window: how many, with which files and allowance, and what is left of
the attempts before (runtime.md section 4).
"""

import json
import re
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import pytest
from sqlalchemy import delete, update

from manifests.errors import IntegrityError
from orchestrator.ceos import Closed
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.session.allowance import Allowance
from orchestrator.session.events import ToolReceipt, WindowOpened, decode_event
from orchestrator.session.recovery import Recovery, archive_of
from orchestrator.store import AttemptKey, AttemptStore, CommitPoint, LeaseLost, SessionStore
from orchestrator.store.blobs import Blob
from orchestrator.store.schema import private_files, session_events
from orchestrator.supervisor import FreshAttempt, WaitForPerson
from providers.contract import Fault
from tests.orchestrator.session.attempts import (
    BAD_REQUEST,
    PRICE,
    REFUSED,
    SEAL,
    SEAT,
    STANDARD,
    UNREADABLE,
    Outcome,
    call,
    reply,
)
from tests.orchestrator.session.office import FIRST, Office, successor, write

W = CompanyWindowStatus

TOO_LONG: Final = Fault(kind="too_long", message="The conversation has 300,000 tokens.", status=413)
UNREADABLE_TO_THE_END: Final = (UNREADABLE,) * 4


@pytest.fixture(autouse=True)
def quick(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-offs take no time of the machine, and as much of the attempt as they should."""
    monkeypatch.setattr("orchestrator.session.ceo.SystemClock", lambda: office.model.clock)


def opened(office: Office, key: AttemptKey) -> WindowOpened:
    event = decode_event(SessionStore(office.run).events(key)[0])
    assert isinstance(event, WindowOpened)
    return event


def goes_on(office: Office, *outcomes: Outcome) -> Closed:
    """A run that has stopped is set going again, in a new process."""
    run = office.run
    run.pass_through(office.lease, [(RunState.STOPPED, "why"), (RunState.QUEUED, "")])
    run.set_status(office.lease, RunState.RUNNING, "")
    return successor(office, f"host-{office.lease.epoch + 1}").decide(*outcomes)


def test_the_attempt_after_a_failed_one_begins_anew_and_may_seal(office: Office) -> None:
    closed = office.decide(
        reply(PRICE, write("MEMORY.md", "half a thought"), tag="a"),
        *UNREADABLE_TO_THE_END,
        reply(call("preview_decision"), tag="b"),
        reply(SEAL, tag="c"),
    )
    assert closed.status is W.SEALED
    assert closed.decision is not None
    assert closed.decision.products == {}, "the draft of the failed attempt is not in it"
    again = office.model.asked[5]
    assert len(again.messages) == 1, "nothing of the failed conversation is told"
    assert "half a thought" not in str(again.messages)
    assert opened(office, FIRST._replace(attempt=1)).allowance == STANDARD
    assert SessionStore(office.run).files_before(SEAT, 1) == {}


def test_exactly_three_and_then_the_barrier_settles(office: Office) -> None:
    closed = office.decide(*UNREADABLE_TO_THE_END * 4, reply(SEAL))
    assert closed.status is W.PROTOCOL_ERROR
    assert len(office.model.asked) == 16
    attempts = AttemptStore(office.run)
    assert [fresh.key.attempt for fresh in attempts.fresh()] == [1, 2, 3]
    failures = attempts.failures()
    assert [failure.key.attempt for failure in failures] == [0, 1, 2, 3]
    assert [failure.verdict for failure in failures] == [
        "fresh attempt 1",
        "fresh attempt 2",
        "fresh attempt 3",
        "no attempt",
    ]
    assert failures[-1].verdict_reason == "all 3 fresh attempts are used"


def test_each_attempt_waits_for_its_time_which_is_not_active_time(office: Office) -> None:
    office.decide(*UNREADABLE_TO_THE_END * 2, reply(SEAL))
    waits = [seconds for seconds in office.model.clock.slept if seconds == 1.0]
    assert len(waits) >= 60
    assert sum(office.model.clock.slept) == pytest.approx(70, abs=25), "10 s, 60 s, and back-offs"
    for number in (1, 2):
        assert opened(office, FIRST._replace(attempt=number)).active_seconds == 0.0


def test_an_attempt_that_a_person_hastens_begins_at_once_and_no_other_does(office: Office) -> None:
    closed = office.decide(
        *UNREADABLE_TO_THE_END * 2, reply(SEAL), hastened=lambda number: number == 2
    )
    assert closed.status is W.SEALED
    slept = office.model.clock.slept
    assert 10 <= sum(slept) < 40, "the first of them has waited, the second has not"
    assert opened(office, FIRST._replace(attempt=2)).active_seconds == 0.0


def test_a_run_that_is_to_rest_does_not_wait_for_an_attempt(office: Office) -> None:
    resting = iter([False] * 30)
    closed = office.decide(
        *UNREADABLE_TO_THE_END, reply(SEAL), stopping=lambda: next(resting, True)
    )
    assert closed.status is W.OPEN
    (fresh,) = AttemptStore(office.run).not_begun(0)
    assert 0 < fresh.due_in_seconds <= 10
    assert len(office.model.asked) == 4
    assert successor(office).decide(reply(SEAL)).status is W.SEALED


def test_the_count_is_shared_by_all_kinds_of_failure_and_survives_restarts(office: Office) -> None:
    first = office.decide(*UNREADABLE_TO_THE_END, TOO_LONG)
    assert (first.status, first.recovers) == (W.PROVIDER_ERROR, True)
    assert "Fresh attempt 2 follows in 60 s." in first.reason
    later = successor(office)
    second = later.decide(BAD_REQUEST, BAD_REQUEST, BAD_REQUEST)
    assert (second.status, second.recovers) == (W.PROVIDER_ERROR, True)
    last = successor(later, "host-3").decide(TOO_LONG)
    assert (last.status, last.recovers) == (W.PROVIDER_ERROR, False)
    assert "all 3 fresh attempts are used. `ceo-arena resume` lets this attempt" in last.reason
    failures = AttemptStore(office.run).failures()
    assert [failure.cause for failure in failures] == [
        "unreadable",
        "too_long",
        "bad_request",
        "too_long",
    ]


def test_a_provider_error_is_recorded_once_however_often_it_is_met(office: Office) -> None:
    office.decide(REFUSED)
    successor(office).decide()
    failures = AttemptStore(office.run).failures()
    assert [(failure.cause, failure.verdict) for failure in failures] == [
        ("refused", "waits for a person")
    ]


def test_after_a_refusal_a_person_goes_on_with_the_same_attempt(office: Office) -> None:
    stopped = office.decide(reply(PRICE), REFUSED)
    assert (stopped.status, stopped.recovers) == (W.PROVIDER_ERROR, False)
    closed = goes_on(office, reply(SEAL))
    assert closed.status is W.SEALED
    assert closed.decision is not None
    assert closed.decision.products["A"].price_cents == 4_200
    assert AttemptStore(office.run).fresh() == []


def test_after_a_refusal_a_person_may_ask_for_a_fresh_attempt(office: Office) -> None:
    office.decide(reply(PRICE), REFUSED)
    recovery = Recovery(office.run, office.policy)
    assert isinstance(recovery.consider(0, SEAT, by_person=False).verdict, WaitForPerson)
    verdict = recovery.carry_out(office.lease, 0, SEAT, "ana")
    assert isinstance(verdict, FreshAttempt)
    (fresh,) = AttemptStore(office.run).fresh()
    assert (fresh.key.attempt, fresh.granted_by) == (1, "ana")
    again = recovery.consider(0, SEAT, by_person=True)
    assert not isinstance(again.verdict, FreshAttempt), "asking twice does no harm"
    assert recovery.carry_out(office.lease, 0, SEAT, "ana") == again.verdict
    assert len(AttemptStore(office.run).fresh()) == 1
    closed = goes_on(office, reply(SEAL))
    assert closed.decision is not None
    assert closed.decision.products == {}


def test_a_spent_allowance_is_not_followed_by_an_attempt(office: Office) -> None:
    office.allowance = Allowance(1, 1_000_000, 3_600, 128_000, 1_024)
    office.__post_init__()
    assert office.decide(reply(PRICE), reply(SEAL)).status is W.BUDGET_EXHAUSTED
    verdict = Recovery(office.run, office.policy).carry_out(office.lease, 0, SEAT, "ana")
    assert not isinstance(verdict, FreshAttempt)
    assert "allowance is spent" in verdict.reason
    assert AttemptStore(office.run).failures() == []


def test_a_sealed_window_gets_none(office: Office) -> None:
    office.decide(reply(SEAL))
    verdict = Recovery(office.run, office.policy).carry_out(office.lease, 0, SEAT, "ana")
    assert not isinstance(verdict, FreshAttempt)
    assert verdict.reason == "it is sealed"


def with_two_weeks_of_files(office: Office) -> None:
    """Two settled windows, the second of which needed a fresh attempt, and wrote in both."""
    office.decide(reply(write("MEMORY.md", "week one")), reply(SEAL))
    office.settle(0)
    office.decide(
        reply(write("MEMORY.md", "given up"), write("lost.md", "given up")),
        *UNREADABLE_TO_THE_END,
        reply(write("MEMORY.md", "week two")),
        reply(write("plan.md", "grow")),
        reply(SEAL),
    )
    office.settle(1)


def test_files_are_those_at_the_start_of_the_window_to_the_last_byte(office: Office) -> None:
    with_two_weeks_of_files(office)
    closed = office.decide(
        reply(write("MEMORY.md", "scribbled over"), write("new.md", "x"), tag="a"),
        *UNREADABLE_TO_THE_END,
        reply(call("read_file", path="MEMORY.md"), call("read_file", path="new.md"), tag="b"),
        reply(SEAL, tag="c"),
    )
    assert closed.status is W.SEALED
    start = {"MEMORY.md": ("week two", 2), "plan.md": ("grow", 1)}
    assert SessionStore(office.run).files_before(SEAT, 2) == start
    first, fresh = (opened(office, AttemptKey(2, SEAT, number)) for number in (0, 1))
    assert fresh.files_digest == first.files_digest
    assert fresh.briefing == first.briefing
    (granted,) = AttemptStore(office.run).fresh(2)
    assert granted.files_digest == first.files_digest
    read = [
        event.text
        for event in map(decode_event, SessionStore(office.run).events(granted.key))
        if isinstance(event, ToolReceipt)
    ]
    assert "week two" in read[0]
    assert "there is no file" in read[1]


def forget_receipts(office: Office, version: int, attempt: int) -> None:
    """Somebody deletes the receipts of an attempt behind our back."""
    held = office.run.held()
    assert held is not None
    with held.database.write(CommitPoint.APPEND_EVENT) as connection:
        connection.execute(
            delete(session_events).where(
                session_events.c.version == version,
                session_events.c.attempt == attempt,
                session_events.c.kind == "tool_receipt",
            )
        )


def change_file(office: Office, path: str, blob: Blob | None = None) -> None:
    """Somebody gives a file another content, or deletes it."""
    held = office.run.held()
    assert held is not None
    with held.database.write(CommitPoint.APPEND_EVENT) as connection:
        query = private_files.c.path == path
        if blob is None:
            connection.execute(delete(private_files).where(query))
        else:
            blob.keep(connection, held.run)
            connection.execute(update(private_files).where(query).values(blob=blob.digest))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda office: forget_receipts(office, 0, 0), "version 1 of MEMORY.md is missing"),
        (lambda office: forget_receipts(office, 1, 1), "is not what its receipt wrote|no receipt"),
        (lambda office: change_file(office, "plan.md"), "plan.md is lost"),
        (
            lambda office: change_file(office, "plan.md", Blob.of(b"shrink")),
            "plan.md is not what its receipt wrote",
        ),
        (
            lambda office: change_file(office, "plan.md", Blob(sha256(b"other").digest(), b"?")),
            "plan.md is damaged",
        ),
    ],
    ids=["an earlier receipt", "the last receipt", "a file", "another text", "no text"],
)
def test_without_proof_there_is_no_attempt_and_the_reason_is_said(
    office: Office, harm: Any, said: str
) -> None:
    with_two_weeks_of_files(office)
    office.decide(reply(PRICE), REFUSED)
    harm(office)
    verdict = Recovery(office.run, office.policy).carry_out(office.lease, 2, SEAT, "ana")
    assert isinstance(verdict, WaitForPerson)
    assert "cannot be proven" in verdict.reason
    assert re.search(said, verdict.reason), verdict.reason
    assert AttemptStore(office.run).fresh(2) == []


def test_an_archive_tells_whether_anything_of_an_attempt_has_changed(office: Office) -> None:
    office.decide(
        reply(PRICE, write("MEMORY.md", "half a thought")), *UNREADABLE_TO_THE_END, reply(SEAL)
    )
    (fresh,) = AttemptStore(office.run).fresh()
    bodies = SessionStore(office.run).events(FIRST)
    assert archive_of(FIRST, bodies) == fresh.archive
    assert archive_of(FIRST, [bodies[0], *bodies[2:]]) != fresh.archive
    archive = json.loads(fresh.archive)
    assert archive["status"] == "protocol_error"
    assert archive["journal"]["events"] == len(bodies)
    assert archive["conversation"]["messages"] == 4
    assert archive["use"]["replies"] == 1
    assert archive["allowance"]["replies"] == 32


def test_nothing_is_written_to_an_archived_attempt(office: Office) -> None:
    office.decide(*UNREADABLE_TO_THE_END, reply(SEAL))
    sessions = SessionStore(office.run)
    following = len(sessions.events(FIRST))
    with pytest.raises(IntegrityError, match="archived"):
        sessions.append(office.lease, FIRST, following, "asked", b"x", None)


def test_a_stale_owner_grants_nothing(office: Office) -> None:
    office.decide(REFUSED)
    successor(office)
    with pytest.raises(LeaseLost):
        Recovery(office.run, office.policy).carry_out(office.lease, 0, SEAT, "ana")
    assert AttemptStore(office.run).fresh() == []


def test_a_settled_window_is_never_opened_again(office: Office) -> None:
    office.decide(*UNREADABLE_TO_THE_END * 2, reply(SEAL))
    attempts = AttemptStore(office.run)
    failure, last = attempts.failures()[-1], attempts.fresh()[-1]
    third = replace(last, key=last.key._replace(attempt=3))
    office.settle(0)
    with pytest.raises(IntegrityError, match="settled"):
        attempts.record(office.lease, failure, third)
    assert len(attempts.fresh()) == 2


def test_an_index_is_never_left_out(office: Office) -> None:
    office.decide(*UNREADABLE_TO_THE_END, reply(SEAL))
    attempts = AttemptStore(office.run)
    failure, last = attempts.failures()[-1], attempts.fresh()[-1]
    with pytest.raises(IntegrityError, match="cannot follow"):
        attempts.record(office.lease, failure, replace(last, key=last.key._replace(attempt=3)))


SMALL: Final = Allowance(6, 1_000_000, 3_600, 128_000, 1_024)


def cumulative(office: Office, allowance: Allowance = SMALL) -> None:
    office.policy, office.allowance = "cumulative-usage", allowance
    office.__post_init__()


def test_usage_is_kept_across_attempts_where_the_campaign_says_so(office: Office) -> None:
    cumulative(office)
    closed = office.decide(
        reply(PRICE, tag="a", tokens=500),
        *UNREADABLE_TO_THE_END,
        reply(PRICE, tag="b", tokens=300),
        reply(SEAL, tag="c"),
    )
    assert closed.status is W.SEALED
    fresh = opened(office, FIRST._replace(attempt=1))
    assert (fresh.used.replies, fresh.used.output_tokens) == (1, 500)
    assert "at most 6, of which 1 are used" in fresh.briefing


def test_cumulative_usage_may_leave_nothing_for_an_attempt(office: Office) -> None:
    cumulative(office)
    office.model.seconds = 1_000.0
    closed = office.decide(*UNREADABLE_TO_THE_END, reply(SEAL))
    assert closed.status is W.TIMEOUT
    assert AttemptStore(office.run).fresh() == []
    (failure,) = AttemptStore(office.run).failures()
    assert "usage is kept across attempts" in failure.verdict_reason


def test_under_the_standard_policy_the_same_failure_gets_the_whole_time_again(
    office: Office,
) -> None:
    office.model.seconds = 1_000.0
    closed = office.decide(*UNREADABLE_TO_THE_END, reply(SEAL))
    assert closed.status is W.SEALED
    assert opened(office, FIRST._replace(attempt=1)).active_seconds == 0.0


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_death_around_the_grant_changes_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    whole = AttemptStore.record

    def mortal(attempts: AttemptStore, *arguments: Any) -> None:
        if dies == "after":
            whole(attempts, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AttemptStore, "record", mortal)
        with pytest.raises(KeyboardInterrupt):
            office.decide(*UNREADABLE_TO_THE_END)
    closed = successor(office).decide(reply(SEAL))
    assert closed.status is W.SEALED
    attempts = AttemptStore(office.run)
    assert [fresh.key.attempt for fresh in attempts.fresh()] == [1]
    assert [failure.verdict for failure in attempts.failures()] == ["fresh attempt 1"]
