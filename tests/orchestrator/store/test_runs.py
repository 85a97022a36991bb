"""One run: its status, its windows, and what can be read back of them."""

from dataclasses import replace

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError as IntegrityViolation

from engine.state import state_digest
from manifests.canonical import canonical_json
from manifests.errors import IntegrityError
from manifests.fingerprints import environment
from manifests.model import CampaignManifest
from orchestrator.lifecycle import (
    CompanyWindowStatus,
    IllegalTransition,
    NotRunning,
    RunState,
)
from orchestrator.store import (
    CompanyWindow,
    RunStore,
    Store,
    WindowAlreadyCommitted,
    WindowCommit,
    WindowConflict,
    company_day_columns,
    day_digest,
    open_store,
)
from tests.orchestrator.store import samples


def test_a_run_that_nobody_took_is_planned_and_empty(run: RunStore) -> None:
    status = run.status()
    assert (status.status, status.world_version, status.day) == (RunState.PLANNED, 0, 0)
    assert (status.lease.owner, status.updated_at, len(status.exits)) == (None, None, 0)
    assert run.latest() is None
    assert run.manifest_json() is None
    readings = [run.company_windows, run.receipts, run.days, run.company_days, run.checkpoints]
    assert [list(read()) for read in readings] == [[]] * 5
    assert run.outcomes() == []


def test_status_moves_through_the_table(run: RunStore) -> None:
    lease = run.acquire("host-1", 60)
    with pytest.raises(IllegalTransition, match="planned and cannot become running"):
        run.set_status(lease, RunState.RUNNING, "")
    run.set_status(lease, RunState.QUEUED, "")
    run.set_status(lease, RunState.RUNNING, "a slot is free")
    run.set_status(lease, RunState.RUNNING, "again")
    run.set_status(lease, RunState.PAUSED, "the disk is full")
    status = run.status()
    assert (status.status, status.reason) == (RunState.PAUSED, "the disk is full")
    assert status.updated_at is not None


def test_reasons_may_hold_what_no_text_can(run: RunStore) -> None:
    lease = run.acquire("host-1", 60)
    run.set_status(lease, RunState.QUEUED, "zero \0, half \ud800 a pair")
    assert run.status().reason == "zero \ufffd, half ? a pair"


def test_a_run_is_not_completed_by_hand(run: RunStore) -> None:
    lease = samples.start(run)
    with pytest.raises(ValueError, match="last window"):
        run.set_status(lease, RunState.COMPLETED, "")


def test_the_first_boundary(run: RunStore) -> None:
    lease = samples.start(run)
    run.begin(lease, samples.first_state())
    latest = run.latest()
    assert latest is not None
    assert (latest.version, latest.day, latest.elapsed) == (0, 0, [])
    assert latest.state == samples.first_state()


def test_a_run_cannot_begin_twice_differently(run: RunStore) -> None:
    lease = samples.start(run)
    other = samples.first_state()
    other.macro += 0.5
    with pytest.raises(IntegrityError, match="began with another state"):
        run.begin(lease, other)


def test_a_window_is_read_back_as_it_was_settled(run: RunStore) -> None:
    lease = samples.start(run)
    commit = samples.window(0)
    run.commit_window(lease, commit)
    latest = run.latest()
    assert latest is not None
    assert (latest.version, latest.day) == (1, 7)
    assert latest.state == commit.state
    assert latest.elapsed == list(commit.days)
    status = run.status()
    assert (status.status, status.world_version, status.day) == (RunState.RUNNING, 1, 7)


def test_a_whole_run(store: Store, run: RunStore) -> None:
    lease = samples.start(run)
    samples.play(run, lease)
    run.release(lease)
    commits = [samples.window(version) for version in range(samples.WINDOWS)]
    with open_store(store.location) as other:
        read = other.run(samples.KEY)
        status = read.status()
        assert (status.status, status.world_version, status.day) == (RunState.COMPLETED, 3, 21)
        assert status.exits == {samples.BANKRUPT_SEAT: 8}
        assert len(status.exits) == 1
        assert list(read.company_windows()) == [w for c in commits for w in c.decisions]
        assert list(read.day_records()) == [day for c in commits for day in c.days]
        assert read.outcomes() == samples.outcomes()
        own = CampaignManifest.from_json(read.manifest_json() or b"")
        assert own == samples.manifest_of()
        latest = read.latest()
        assert latest is not None
        assert latest.elapsed == list(commits[-1].days)


def test_decisions_are_settled_and_read_as_they_are_stored(run: RunStore) -> None:
    lease = samples.start(run)
    samples.play(run, lease)
    for window in run.company_windows():
        assert window.decision == samples.decision(window.seat, window.version)


def test_receipts_stand_by_version_seat_and_number(run: RunStore) -> None:
    lease = samples.start(run)
    samples.play(run, lease)
    expected = [
        (version, seat, number, receipt)
        for version in range(samples.WINDOWS)
        for seat, receipts in sorted(samples.window(version).receipts.items())
        for number, receipt in enumerate(receipts, start=1)
    ]
    assert len(expected) == 5
    assert [(r.version, r.seat, r.number, r.receipt) for r in run.receipts()] == expected


def test_days_and_company_days_have_digests_and_columns(run: RunStore) -> None:
    lease = samples.start(run)
    samples.play(run, lease)
    records = [day for version in range(3) for day in samples.window(version).days]
    days = list(run.days())
    assert [(day.day, day.version) for day in days] == [(n, (n - 1) // 7) for n in range(1, 22)]
    assert [day.state_digest for day in days] == [record.state_digest for record in records]
    assert [day.record_digest for day in days] == [day_digest(record) for record in records]
    stored = list(run.company_days())
    companies = [(record.day, company) for record in records for company in record.companies]
    assert len(companies) == 7 * 2 + 1 * 2 + 13
    assert [(day.day, day.record()) for day in stored] == companies
    assert [day.columns for day in stored] == [company_day_columns(c) for _, c in companies]
    assert [day.day for day in stored if day.columns["exited"]] == [8]


def test_checkpoints_hold_the_whole_world(run: RunStore) -> None:
    lease = samples.start(run)
    samples.play(run, lease)
    stored = list(run.checkpoints())
    assert [(point.version, point.day) for point in stored] == [(0, 0), (1, 7), (2, 14), (3, 21)]
    states = [samples.first_state(), *(samples.window(version).state for version in range(3))]
    assert [point.world() for point in stored] == states
    assert [point.state_digest for point in stored] == [state_digest(state) for state in states]
    assert {point.epoch for point in stored} == {lease.epoch}


def test_what_every_owner_plays_with_is_kept(run: RunStore) -> None:
    assert run.environments() == []
    lease = samples.start(run)
    run.release(lease)
    again = run.acquire("host-2", 60)
    kept = run.environments()
    assert [epoch for epoch, _ in kept] == [lease.epoch, again.epoch]
    assert {content for _, content in kept} == {canonical_json(environment())}
    assert environment()["libraries"]["numpy"]
    assert environment()["interpreter"]["version"]


def test_reading_needs_no_transaction_in_between(store: Store, run: RunStore) -> None:
    lease = samples.start(run)
    run.commit_window(lease, samples.window(0))
    with open_store(store.location) as other:
        records = other.run(samples.KEY).day_records()
        first = next(records)
        run.commit_window(lease, samples.window(1))
        assert [first, *records] == list(samples.window(0).days)


class TestCommit:
    def test_a_window_is_committed_once(self, run: RunStore) -> None:
        lease = samples.start(run)
        run.commit_window(lease, samples.window(0))
        with pytest.raises(WindowAlreadyCommitted) as caught:
            run.commit_window(lease, samples.window(0))
        assert (caught.value.found, caught.value.offered) == (1, 0)
        assert run.status().world_version == 1

    def test_the_last_window_is_committed_once(self, run: RunStore) -> None:
        lease = samples.start(run)
        samples.play(run, lease)
        with pytest.raises(WindowAlreadyCommitted):
            run.commit_window(lease, samples.window(2))

    def test_a_window_must_follow(self, run: RunStore) -> None:
        lease = samples.start(run)
        with pytest.raises(WindowConflict, match="stands at world version 0; a window from"):
            run.commit_window(lease, samples.window(1))

    def test_its_days_must_follow(self, run: RunStore) -> None:
        lease = samples.start(run)
        gap = replace(samples.window(0), days=samples.window(0).days[1:])
        with pytest.raises(WindowConflict):
            run.commit_window(lease, gap)

    def test_a_run_must_have_begun(self, run: RunStore) -> None:
        lease = run.acquire("host-1", 60)
        with pytest.raises(ValueError, match="has not begun"):
            run.commit_window(lease, samples.window(0))

    @pytest.mark.parametrize("status", [RunState.PAUSED, RunState.STOPPED])
    def test_a_halted_run_settles_nothing(self, run: RunStore, status: RunState) -> None:
        lease = samples.start(run)
        run.set_status(lease, status, "halt")
        with pytest.raises(NotRunning, match=f"is {status}"):
            run.commit_window(lease, samples.window(0))
        assert run.status().world_version == 0
        assert list(run.days()) == []

    def test_a_failure_inside_leaves_nothing(self, run: RunStore) -> None:
        lease = samples.start(run)
        commit = samples.window(0)
        twice = replace(commit, decisions=[*commit.decisions, commit.decisions[0]])
        with pytest.raises(IntegrityViolation, match=r"(?i)unique"):
            run.commit_window(lease, twice)
        assert list(run.company_windows()) == []
        run.commit_window(lease, commit)


def _state_of_other_version(commit: WindowCommit) -> WindowCommit:
    return replace(commit, state=msgspec.structs.replace(commit.state, version=5))


def _no_days(commit: WindowCommit) -> WindowCommit:
    return replace(commit, days=[])


def _a_day_missing(commit: WindowCommit) -> WindowCommit:
    return replace(commit, days=[*commit.days[:2], *commit.days[3:]])


def _last_day_missing(commit: WindowCommit) -> WindowCommit:
    return replace(commit, days=commit.days[:-1])


def _another_state(commit: WindowCommit) -> WindowCommit:
    return replace(commit, state=msgspec.structs.replace(commit.state, macro=0.123))


def _window_of_other_version(commit: WindowCommit) -> WindowCommit:
    return replace(commit, decisions=[replace(commit.decisions[0], version=4)])


def _unsettled(commit: WindowCommit) -> WindowCommit:
    status = CompanyWindowStatus.PROVIDER_ERROR
    return replace(commit, decisions=[replace(commit.decisions[0], status=status)])


def _foreign_receipts(commit: WindowCommit) -> WindowCommit:
    return replace(commit, decisions=commit.decisions[:1])


def _foreign_outcome(commit: WindowCommit) -> WindowCommit:
    return replace(commit, outcomes=[msgspec.structs.replace(samples.outcomes()[0], seed=12)])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (_state_of_other_version, "its state has world version 5"),
        (_no_days, r"its days are \[\]"),
        (_a_day_missing, r"its days are \[1, 2, 4, 5, 6, 7\]"),
        (_last_day_missing, "its last day, 6, does not end in its state"),
        (_another_state, "its last day, 7, does not end in its state"),
        (_window_of_other_version, "company-1 decided at world version 4"),
        (_unsettled, "company-1 is provider_error, which the barrier does not settle"),
        (_foreign_receipts, "company-2 has receipts, but did not decide"),
        (_foreign_outcome, "the outcome of company-1 belongs to another run"),
    ],
)
def test_a_commit_that_contradicts_itself_is_refused(run: RunStore, change, fault: str) -> None:  # type: ignore[no-untyped-def]
    lease = samples.start(run)
    with pytest.raises(IntegrityError, match=fault):
        run.commit_window(lease, change(samples.window(0)))
    assert run.status().world_version == 0


def test_a_window_without_a_decision(run: RunStore) -> None:
    lease = samples.start(run)
    silent = [
        CompanyWindow.closed(
            version=0, seat=seat, status=status, candidate=candidate, identity="v1"
        )
        for seat, candidate, status in [
            (1, "grower", CompanyWindowStatus.TIMEOUT),
            (2, "talker", CompanyWindowStatus.BUDGET_EXHAUSTED),
        ]
    ]
    run.commit_window(lease, replace(samples.window(0), decisions=silent, receipts={}))
    assert list(run.company_windows()) == silent
    assert [window.decision for window in run.company_windows()] == [None, None]


def test_a_store_sums_up_its_campaign(store: Store, run: RunStore, campaign: str) -> None:
    samples.play(run, samples.start(run))
    for opened in (store, open_store(store.location)):
        statuses = opened.statuses(campaign)
        assert [(s.key, s.status.value) for s in statuses] == [
            (samples.KEY, "completed"),
            (samples.OTHER_KEY, "planned"),
        ]
        assert opened.outcomes(campaign) == samples.outcomes()
        opened.close()


def test_a_closed_run_opens_again(run: RunStore) -> None:
    lease = samples.start(run)
    run.close()
    run.commit_window(lease, samples.window(0))
    run.close()
    assert run.status().world_version == 1
