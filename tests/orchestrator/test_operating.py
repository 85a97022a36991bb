"""What people do to campaigns, runs and company-windows, and what they are told
(runtime.md section 4).
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from manifests.errors import InputError
from orchestrator.ceos import Closed, Window
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.operating import Operator
from orchestrator.owners import own_name
from orchestrator.retrying import Retrying, Which
from orchestrator.session.events import (
    Asked,
    Event,
    Failed,
    Halted,
    WaitBegan,
    WindowOpened,
    encode_event,
    kind_of,
)
from orchestrator.session.events import Closed as AttemptClosed
from orchestrator.session.files import PrivateFiles
from orchestrator.session.reading import WindowReader
from orchestrator.session.recovery import RESUME_HELPS, Recovery
from orchestrator.status.barriers import due_in_seconds
from orchestrator.status.progress import ProgressReader
from orchestrator.status.waiting import why_campaign, why_run, why_seat
from orchestrator.store import (
    AttemptKey,
    AttemptStore,
    DesiredState,
    Lease,
    RunStore,
    SessionStore,
    Target,
)
from orchestrator.world import StopKind, StopRequest
from providers.contract import Fault
from tests.orchestrator.cli.commands import ceo_arena
from tests.orchestrator.session.attempts import STANDARD
from tests.orchestrator.trial import NAME, REFERENCE, Trial

W = CompanyWindowStatus
RUN = Target(NAME, REFERENCE)
SEAT_2 = Target(NAME, REFERENCE, 1, 2)
DIGEST = "sha256:" + 64 * "0"
OPENED = WindowOpened(0.0, DIGEST, DIGEST, "Day 7.", STANDARD, PrivateFiles().digest)
FAULT = Fault(kind="refused", message="No credit left.", status=402)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial.new(tmp_path / "store")
    with made.store:
        yield made


def operator(trial: Trial) -> Operator:
    return Operator(trial.store, NAME)


def retrying(trial: Trial) -> Retrying:
    return Retrying(trial.store, NAME)


def holds(trial: Trial, stop: StopRequest) -> None:
    """What a host does with what people hold."""
    stop.heed(trial.store.holds.of(NAME), REFERENCE)


class Watched:
    """A CEO that has somebody do something while it decides in one of its windows."""

    identity = "watched"

    def __init__(self, trial: Trial, seat: int, version: int, act: object) -> None:
        self._ceo, self._version, self._act = trial.ceos()[seat], version, act

    async def decide(self, window: Window) -> Closed:
        if window.state.version == self._version:
            self._act()  # type: ignore[operator]
            if window.stopping():
                return Closed(W.OPEN, None, "the run is to rest")
        return await self._ceo.decide(window)


@pytest.mark.parametrize(
    ("desired", "state"),
    [(DesiredState.PAUSED, RunState.PAUSED), (DesiredState.STOPPED, RunState.STOPPED)],
)
def test_a_held_company_window_rests_its_run_and_goes_on_where_it_was(
    trial: Trial, tmp_path: Path, desired: DesiredState, state: RunState
) -> None:
    stop = StopRequest()

    def hold() -> None:
        assert operator(trial).rest(SEAT_2, desired, "look at it").changed
        assert not operator(trial).rest(SEAT_2, desired, "again").changed
        holds(trial, stop)

    assert trial.play(REFERENCE, {2: Watched(trial, 2, 1, hold)}, stop) is state
    status = trial.run().status()
    assert (status.status, status.world_version) == (state, 1)
    assert "company-2" in status.reason
    assert "look at it" in status.reason
    assert operator(trial).resume(SEAT_2, "seen").changed
    assert trial.run().status().status is RunState.QUEUED
    assert not operator(trial).resume(SEAT_2, "again").changed
    assert trial.play() is RunState.COMPLETED
    other = Trial.new(tmp_path / "undisturbed")
    with other.store:
        other.play()
        assert trial.digests() == other.digests()
    acts = [(act.act, act.target, act.reason) for act in trial.store.catalogue.acts(NAME)]
    assert acts == [
        ("create", f"campaign {NAME}", ""),
        ("pause" if state is RunState.PAUSED else "stop", str(SEAT_2), "look at it"),
        ("resume", str(SEAT_2), "seen"),
    ]


def test_a_held_run_stops_at_its_boundary_and_a_hold_can_be_changed(trial: Trial) -> None:
    stop = StopRequest()
    assert operator(trial).rest(RUN, DesiredState.PAUSED, "lunch").changed
    holds(trial, stop)
    assert (stop.kind, stop.reason) == (StopKind.PAUSE, "lunch")
    assert operator(trial).rest(RUN, DesiredState.STOPPED, "for good").changed
    holds(trial, stop)
    assert (stop.kind, stop.reason) == (StopKind.STOP, "for good")
    assert trial.play(stop=stop) is RunState.STOPPED
    assert operator(trial).resume(RUN, "").changed
    holds(trial, stop)
    assert trial.play(stop=stop) is RunState.COMPLETED
    for done in (
        operator(trial).rest(RUN, DesiredState.PAUSED, ""),
        operator(trial).rest(RUN, DesiredState.STOPPED, ""),
        operator(trial).resume(RUN, ""),
    ):
        assert (done.changed, done.said) == (False, f"Run {REFERENCE} is completed.")


def test_leaving_does_not_take_a_hold_back(trial: Trial) -> None:
    stop = StopRequest()
    stop.ask(StopKind.LEAVE, "")
    operator(trial).rest(RUN, DesiredState.STOPPED, "too dear")
    holds(trial, stop)
    assert (stop.kind, stop.reason) == (StopKind.STOP, "too dear")


def test_a_campaign_is_stopped_like_it_is_paused(trial: Trial) -> None:
    stopped = operator(trial).rest(Target(NAME), DesiredState.STOPPED, "budget")
    assert stopped.changed
    assert not operator(trial).rest(Target(NAME), DesiredState.STOPPED, "budget").changed
    assert ProgressReader(trial.store, NAME).read().desired is DesiredState.STOPPED


def test_a_target_is_checked(trial: Trial) -> None:
    target = operator(trial).target
    assert target(None, None, None) == Target(NAME)
    assert target(REFERENCE, None, None) == RUN
    assert target(REFERENCE, 7, 2) == SEAT_2
    assert target(REFERENCE, None, 2).version == 0
    for place in ((None, 7, 2), (REFERENCE, 7, None), (REFERENCE, 8, 2), (REFERENCE, 7, 9)):
        with pytest.raises(InputError):
            target(*place)
    with pytest.raises(InputError, match="no run x"):
        target("x", None, None)


def append(run: RunStore, lease: Lease, seat: int, *events: Event, attempt: int = 0) -> None:
    sessions = SessionStore(run)
    for ordinal, event in enumerate(events):
        key = AttemptKey(0, seat, attempt)
        sessions.append(lease, key, ordinal, kind_of(event), encode_event(event), None)


def begun(trial: Trial, owner: str = "a test") -> tuple[RunStore, Lease]:
    """The run at work in its first window."""
    run = trial.run()
    lease = run.acquire(owner, 600)
    stop = StopRequest()

    class Leaving:
        identity = "leaving"

        async def decide(self, window: Window) -> Closed:
            del window
            stop.ask(StopKind.LEAVE, "")
            return Closed(W.OPEN, None, "")

    asyncio.run(trial.world(lease, REFERENCE, {1: Leaving()}, stop).play())
    return run, lease


def failed_run(trial: Trial) -> RunStore:
    """A run that drained: one sealed, one was refused, one used up its reply."""
    run, lease = begun(trial)
    asked = Asked(0.1, 1, DIGEST, 1_000)
    append(run, lease, 1, OPENED, AttemptClosed(9.0, W.SEALED, "sealed"))
    append(run, lease, 2, OPENED, asked, Failed(1.0, 1, FAULT), Halted(1.0, "402", "refused", True))
    append(run, lease, 3, OPENED, AttemptClosed(9.0, W.BUDGET_EXHAUSTED, "all replies are used"))
    run.set_status(lease, RunState.STOPPED, "company-2: no credit")
    run.release(lease)
    return run


def test_a_dry_run_says_what_is_eligible_and_why_the_rest_is_not(trial: Trial) -> None:
    failed_run(trial)
    rows = retrying(trial).retry(Which(), "", dry_run=True)
    assert [(row.target.seat, row.eligible, row.attempt) for row in rows] == [
        (1, False, None),
        (2, True, 1),
        (3, False, None),
    ]
    assert [row.reason for row in rows] == [
        "it is sealed",
        "402",
        "its allowance is spent, which no fresh attempt follows",
    ]
    assert [row.concerns_a_person for row in rows] == [False, True, False]
    assert AttemptStore(trial.run()).fresh() == []
    assert [act.act for act in trial.store.catalogue.acts(NAME)] == ["create"]


def test_a_retry_of_all_shows_what_concerns_a_person_and_counts_the_rest(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    failed_run(trial)
    told = ("retry", "--dry-run", "--store", trial.store.location)
    shown = ceo_arena(capsys, *told).out
    assert "1 of 3 windows may have a fresh attempt" in shown
    assert "Others, which have not failed: 2; --json lists them." in shown
    assert ("bob" in shown, "it is sealed" in shown) == (True, False)
    assert "it is sealed" in ceo_arena(capsys, *told, "--run", REFERENCE).out
    assert len(ceo_arena(capsys, *told, "--json").data["windows"]) == 3


@pytest.mark.parametrize(
    "which",
    [
        Which(),
        Which(run_id=REFERENCE, version=0, seat=2),
        Which(candidate="bob"),
        Which(status=W.PROVIDER_ERROR),
    ],
)
def test_a_retry_by_any_filter_queues_the_run_and_is_recorded_once(
    trial: Trial, which: Which
) -> None:
    failed_run(trial)
    trial.store.controls.pause(NAME, "bob", "refused", "402")
    retrying(trial).retry(which, "paid the bill", dry_run=False)
    again = retrying(trial).retry(which, "paid the bill", dry_run=False)
    assert not any(row.eligible for row in again)
    (fresh,) = AttemptStore(trial.run()).fresh()
    assert fresh.key == AttemptKey(0, 2, 1)
    assert "@" in fresh.granted_by
    assert trial.run().status().status is RunState.QUEUED
    assert trial.store.controls.pauses(NAME) == [], "who retries answers for the route, too"
    acts = [(act.act, act.reason) for act in trial.store.catalogue.acts(NAME)]
    assert acts == [("create", ""), ("retry", "paid the bill")]


@pytest.mark.parametrize("which", [Which(candidate="ada"), Which(seat=3), Which(status=W.TIMEOUT)])
def test_a_filter_that_fits_nothing_changes_nothing(trial: Trial, which: Which) -> None:
    failed_run(trial)
    assert not any(row.eligible for row in retrying(trial).retry(which, "", dry_run=False))
    assert trial.run().status().status is RunState.STOPPED


def test_a_run_whose_other_window_waits_for_a_person_stays_stopped(trial: Trial) -> None:
    run, lease = begun(trial)
    for seat in (1, 2):
        asked = Asked(0.1, 1, DIGEST, 1_000)
        halt = Halted(1.0, "402", "refused", needs_person=True)
        append(run, lease, seat, OPENED, asked, Failed(1.0, 1, FAULT), halt)
    run.set_status(lease, RunState.STOPPED, "both")
    run.release(lease)
    retrying(trial).retry(Which(seat=1), "", dry_run=False)
    assert run.status().status is RunState.STOPPED
    retrying(trial).retry(Which(seat=2), "", dry_run=False)
    assert run.status().status is RunState.QUEUED


def test_where_all_fresh_attempts_are_used_a_retry_says_that_resume_helps(trial: Trial) -> None:
    run, lease = begun(trial)
    asked = Asked(0.1, 1, DIGEST, 1_000)
    halt = Halted(1.0, "400 three times", "bad_request", needs_person=False)
    recovery = Recovery(run, "fresh-allowance")
    for attempt in range(4):
        append(run, lease, 2, OPENED, asked, Failed(1.0, 1, FAULT), halt, attempt=attempt)
        recovery.carry_out(lease, 0, 2, "ana")
    run.set_status(lease, RunState.STOPPED, "company-2")
    run.release(lease)
    (row,) = retrying(trial).retry(Which(seat=2), "", dry_run=False)
    assert (row.eligible, row.attempt, row.concerns_a_person) == (False, None, True)
    assert row.reason == f"all 3 fresh attempts are used; {RESUME_HELPS}"
    assert operator(trial).resume(RUN, "it is up again").changed


def test_a_held_window_is_listed_as_paused_and_with_the_time_it_took(trial: Trial) -> None:
    run, lease = begun(trial)
    append(run, lease, 1, OPENED, AttemptClosed(9.0, W.SEALED, "sealed"))
    append(run, lease, 2, OPENED, Asked(0.1, 1, DIGEST, 1_000))
    operator(trial).rest(Target(NAME, REFERENCE, 0, 2), DesiredState.PAUSED, "look at it")
    sealed, held = WindowReader(trial.store, NAME).records(REFERENCE)
    assert (sealed.status, held.status, held.reason) == (W.SEALED, W.PAUSED, "look at it")
    assert sealed.to_json()["wall_seconds"] >= 0


def waiting_run(trial: Trial, *, is_played: bool) -> tuple[RunStore, Lease]:
    """A run in which the supervisor has granted a fresh attempt that waits for its time."""
    run, lease = begun(trial, own_name())
    asked = Asked(0.1, 1, DIGEST, 1_000)
    halt = Halted(1.0, "400 three times", "bad_request", needs_person=False)
    append(run, lease, 1, OPENED, AttemptClosed(9.0, W.SEALED, "sealed"))
    append(run, lease, 2, OPENED, asked, Failed(1.0, 1, FAULT), halt)
    Recovery(run, "fresh-allowance").carry_out(lease, 0, 2)
    if not is_played:
        run.pass_through(lease, [(RunState.STOPPED, "company-2"), (RunState.QUEUED, "company-2")])
        run.release(lease)
    return run, lease


def test_a_run_in_the_queue_waits_for_the_time_of_its_fresh_attempt(trial: Trial) -> None:
    run, _ = waiting_run(trial, is_played=False)
    carried_out = trial.store.catalogue.acquire_campaign(NAME, own_name(), 600)
    progress = ProgressReader(trial.store, NAME).read()
    (waiting,) = progress.runs[0].barrier
    assert (waiting.seat, waiting.attempt, waiting.status) == (2, 1, W.OPEN)
    found = why_run(progress, progress.runs[0])
    assert (found.state, found.waits_for) == ("queued", "back-off")
    assert re.search(r"company-2 .* until .* UTC for its fresh attempt 1, after", found.reason)
    assert "`ceo-arena retry` begins it at once" in found.reason
    assert 0 < due_in_seconds(run, 0, frozenset()) <= 10
    resumed = operator(trial).resume(RUN, "now")
    assert (resumed.changed, "retry begins it at once" in resumed.said) == (False, True)
    trial.store.catalogue.release(carried_out)


@pytest.mark.parametrize("is_played", [False, True])
def test_a_person_need_not_wait_for_a_fresh_attempt_that_was_granted(
    trial: Trial, *, is_played: bool
) -> None:
    run, lease = waiting_run(trial, is_played=is_played)
    attempt, stop = AttemptKey(0, 2, 1), StopRequest()

    def retried(*, dry_run: bool) -> tuple[bool, int | None, str]:
        (row,) = retrying(trial).retry(Which(seat=2), "it is up again", dry_run=dry_run)
        return row.eligible, row.attempt, row.reason

    for dry_run in (True, False):
        eligible, number, reason = retried(dry_run=dry_run)
        assert (eligible, number) == (True, 1)
        assert re.fullmatch(r"its fresh attempt 1 need not wait until .* UTC", reason)
        holds(trial, stop)
        assert stop.is_hastened(attempt) is not dry_run
    for dry_run in (True, False):
        assert retried(dry_run=dry_run) == (False, 1, "its fresh attempt 1 has not begun")
    hastened = trial.store.holds.of(NAME).hastened_in(REFERENCE)
    assert due_in_seconds(run, 0, hastened) == 0
    progress = ProgressReader(trial.store, NAME).read()
    assert [seat.seat for seat in progress.runs[0].barrier if seat.is_early] == []
    assert [fresh.key for fresh in AttemptStore(run).fresh()] == [attempt], "none is used up"
    acts = [(act.act, act.target, act.reason) for act in trial.store.catalogue.acts(NAME)]
    assert acts[1:] == [("retry", str(Target(NAME, REFERENCE, 0, 2)), "it is up again")]
    assert run.status().lease.epoch == lease.epoch, "the run is not taken for it"


def test_what_is_being_played_is_not_retried(trial: Trial) -> None:
    run, lease = begun(trial, own_name())
    append(run, lease, 1, OPENED, Asked(0.1, 1, DIGEST, 1_000))
    halt = Halted(1.0, "402", "refused", needs_person=True)
    append(run, lease, 2, OPENED, Asked(0.1, 1, DIGEST, 1_000), Failed(1.0, 1, FAULT), halt)
    rows = retrying(trial).retry(Which(), "", dry_run=False)
    assert [(row.target.seat, row.eligible) for row in rows] == [(1, False), (2, False)]
    assert rows[0].reason == "it is being decided"
    assert "being played" in rows[1].reason


def test_why_tells_who_holds_the_barrier_and_what_a_sealed_company_waits_for(trial: Trial) -> None:
    lease = trial.store.catalogue.acquire_campaign(NAME, own_name(), 600)
    run, playing = begun(trial, own_name())
    append(run, playing, 1, OPENED, AttemptClosed(9.0, W.SEALED, "sealed"))
    asked = Asked(0.1, 1, DIGEST, 1_000)
    append(run, playing, 2, OPENED, asked)
    wait = WaitBegan(1.0, 1_700_000_000.0, 30.0, "busy")
    append(run, playing, 3, OPENED, asked, Failed(1.0, 1, FAULT), wait)
    progress = ProgressReader(trial.store, NAME).read()
    found = progress.runs[0]
    assert {seat.seat for seat in found.stragglers} == {2, 3}
    assert why_run(progress, found).waits_for == "seal"
    sealed, asking, backing = (why_seat(progress, REFERENCE, seat) for seat in (1, 2, 3))
    assert (sealed.waits_for, sealed.reason) == ("seal", "company-2, company-3 still decide")
    assert (asking.waits_for, asking.reason) == ("provider", "waiting for a reply of its model")
    assert backing.waits_for == "back-off"
    assert "until 2023-11-14 22:13:50 UTC: busy" in backing.reason
    answers = {each.subject: each for each in why_campaign(progress, [])}
    queued = answers["run trial-s29-reference"]
    assert (queued.waits_for, queued.reason) == (
        "slot",
        "1 of 30 slots are in use; it goes on when a host is ready, earlier seeds first",
    )
    full = why_run(replace(progress, slots=1), progress.runs[-1])
    assert full.reason == "1 of 1 slots are in use; earlier seeds go first"
    trial.store.catalogue.release(lease)


def test_why_tells_of_people_and_of_nobody(trial: Trial) -> None:
    failed_run(trial)
    trial.store.controls.pause(NAME, "bob", "refused", "402")
    reader = ProgressReader(trial.store, NAME)
    answers = why_campaign(reader.read(), trial.store.controls.pauses(NAME))
    assert [(each.subject, each.waits_for) for each in answers[:4]] == [
        (f"campaign {NAME}", "command"),
        ("route of bob", "person"),
        (f"run {REFERENCE}", "person"),
        ("run trial-s11-without-ada", "command"),
    ]
    assert answers[2].reason == "company-2: no credit"
    trial.store.catalogue.set_desired(NAME, DesiredState.PAUSED, "lunch")
    paused = why_campaign(reader.read(), [])
    assert {each.waits_for for each in paused} == {"person"}
    assert paused[0].reason == "it is paused: lunch"
    own = {each.subject: each.reason for each in paused}[f"run {REFERENCE}"]
    assert own == (
        "the campaign is paused: lunch; nothing follows until it is resumed. "
        "The run itself: company-2: no credit"
    )


def test_a_run_that_rests_with_its_campaign_is_told_by_that_alone(trial: Trial) -> None:
    stop = StopRequest()
    stop.ask(StopKind.PAUSE, "lunch")
    trial.play(stop=stop)
    trial.store.catalogue.set_desired(NAME, DesiredState.PAUSED, "lunch")
    progress = ProgressReader(trial.store, NAME).read()
    found = why_run(progress, progress.runs[0])
    assert (found.state, found.reason) == ("paused", "the campaign is paused: lunch")
