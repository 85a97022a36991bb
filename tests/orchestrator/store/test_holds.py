"""Holds, failures, fresh attempts and plans that are replaced, in every kind of store."""

import threading
from dataclasses import replace

import pytest

from manifests.errors import InputError, IntegrityError
from manifests.model import CampaignManifest
from orchestrator.lifecycle import CompanyWindowStatus, IllegalTransition, RunState
from orchestrator.store import (
    AttemptFailure,
    AttemptKey,
    AttemptStore,
    DesiredState,
    FreshGrant,
    Hold,
    LeaseLost,
    RunKey,
    RunStore,
    SessionStore,
    Store,
    Target,
    open_store,
)
from tests.orchestrator.store import raw, samples

RUN = Target(samples.CAMPAIGN, samples.KEY.run_id)
WINDOW = Target(samples.CAMPAIGN, samples.KEY.run_id, 2, 1)
KEY = AttemptKey(0, 1, 0)

FAILURE = AttemptFailure(
    key=KEY,
    ordinal=7,
    status=CompanyWindowStatus.PROVIDER_ERROR,
    cause="bad_request",
    needs_person=False,
    reason="Rejected 3 times in a row.",
    verdict="fresh attempt 1",
    verdict_reason="after provider_error",
)
FRESH = FreshGrant(
    key=KEY._replace(attempt=1),
    granted_by="supervisor",
    reason="after provider_error",
    files_digest="sha256:0",
    carried=b"\x01",
    archive=b"{}",
)


def test_a_hold_is_set_changed_lifted_and_recorded(store: Store, campaign: str) -> None:
    holds = store.holds
    assert holds.set(RUN, DesiredState.PAUSED, "lunch")
    assert not holds.set(RUN, DesiredState.PAUSED, "again")
    assert holds.set(RUN, DesiredState.STOPPED, "for good")
    assert holds.set(WINDOW, DesiredState.PAUSED, "look")
    found = holds.of(campaign)
    assert found.runs == {samples.KEY.run_id: Hold(DesiredState.STOPPED, "for good")}
    assert found.windows_of(samples.KEY.run_id) == {(2, 1): Hold(DesiredState.PAUSED, "look")}
    assert found.keep(samples.KEY.run_id, 0)
    assert holds.lift(RUN, "on")
    assert not holds.lift(RUN, "on")
    assert holds.of(campaign).keep(samples.KEY.run_id, 2)
    assert not holds.of(campaign).keep(samples.KEY.run_id, 1)
    acts = [(act.act, act.target, act.reason) for act in store.catalogue.acts(campaign)]
    assert acts == [
        ("create", f"campaign {campaign}", ""),
        ("pause", str(RUN), "lunch"),
        ("stop", str(RUN), "for good"),
        ("pause", str(WINDOW), "look"),
        ("resume", str(RUN), "on"),
    ]
    assert store.catalogue.campaign(campaign).last_act == store.catalogue.acts(campaign)[-1].number


def test_a_fresh_attempt_is_hastened_once_and_recorded(store: Store, campaign: str) -> None:
    holds, second = store.holds, KEY._replace(attempt=2)
    assert holds.of(campaign).hastened_in(samples.KEY.run_id) == frozenset()
    assert holds.hasten(samples.KEY, second, "it is up again")
    assert not holds.hasten(samples.KEY, second, "now")
    found = holds.of(campaign)
    assert found.hastened == {samples.KEY.run_id: {second}}
    assert not found.keep(samples.KEY.run_id, KEY.version)
    (_, act) = store.catalogue.acts(campaign)
    window = Target(campaign, samples.KEY.run_id, KEY.version, KEY.seat)
    assert (act.act, act.target, act.reason) == ("retry", str(window), "it is up again")


def test_a_run_that_is_not_there_cannot_be_held(store: Store, campaign: str) -> None:
    with pytest.raises(InputError):
        store.holds.set(Target(campaign, "none"), DesiredState.PAUSED, "")
    with pytest.raises(InputError):
        store.holds.lift(Target(campaign, "none"), "")
    with pytest.raises(InputError):
        store.holds.hasten(RunKey(campaign, "none"), KEY, "")


def test_of_many_who_hold_a_thing_at_once_one_changes_it(
    store: Store, campaign: str, location: str
) -> None:
    changed: list[bool] = []

    def hold() -> None:
        with open_store(location) as mine:
            changed.append(mine.holds.set(RUN, DesiredState.PAUSED, "me"))

    threads = [threading.Thread(target=hold) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(changed) == [False] * 5 + [True]
    assert [act.act for act in store.catalogue.acts(campaign)] == ["create", "pause"]


def test_a_failure_and_its_fresh_attempt_are_one_transaction_and_stored_once(run: RunStore) -> None:
    lease = samples.start(run, "host-1", 60)
    attempts = AttemptStore(run)
    for _ in range(2):
        attempts.record(lease, FAILURE, FRESH)
    (failure,) = attempts.failures()
    (fresh,) = attempts.fresh()
    assert (failure.key, failure.cause, failure.needs_person) == (KEY, "bad_request", False)
    assert (fresh.key, fresh.carried, fresh.archive) == (FRESH.key, b"\x01", b"{}")
    assert attempts.present(0, 1) == fresh
    assert attempts.present(0, 2) is None
    wrong = replace(FRESH, key=KEY._replace(attempt=3))
    with pytest.raises(IntegrityError):
        attempts.record(lease, replace(FAILURE, ordinal=9), wrong)
    assert len(attempts.failures()) == 1, "nothing of it was written"
    sealed = replace(FAILURE, ordinal=9, status=CompanyWindowStatus.SEALED)
    with pytest.raises(IllegalTransition):
        attempts.record(lease, sealed, replace(FRESH, key=KEY._replace(attempt=2)))
    run.acquire("host-1", 60)
    with pytest.raises(LeaseLost):
        attempts.record(lease, replace(FAILURE, ordinal=9), None)


@pytest.mark.parametrize(
    ("granted_by", "ages_ms", "left"),
    [
        ("supervisor", 0, 60),
        ("supervisor", 45_000, 15),
        ("supervisor", 3_600_000, 0),
        # Its clock was set back: it waits again, but no longer than in all.
        ("supervisor", -3_600_000, 60),
        ("ana", 0, 0),
    ],
)
def test_a_fresh_attempt_waits_by_the_clock_of_the_database(
    run: RunStore, location: str, granted_by: str, ages_ms: int, left: float
) -> None:
    lease = samples.start(run, "host-1", 60)
    attempts = AttemptStore(run)
    attempts.record(lease, FAILURE, FRESH)
    second = replace(FRESH, key=KEY._replace(attempt=2), granted_by=granted_by)
    attempts.record(lease, replace(FAILURE, key=FRESH.key), second)
    run.close()
    aged = f"UPDATE fresh_attempts SET granted_at = granted_at - {ages_ms}"
    raw.execute(location, aged, samples.KEY)
    (waiting,) = attempts.not_begun(0)
    assert waiting.key == second.key
    assert waiting.due_in_seconds == pytest.approx(left, abs=10)
    waited = (waiting.due_at - waiting.granted_at).total_seconds()
    assert waited == (0 if granted_by == "ana" else 60)
    SessionStore(run).append(lease, second.key, 0, "kind", b"it begins", None)
    assert attempts.not_begun(0) == []


def test_a_status_is_passed_through_in_one_transaction_and_told(run: RunStore) -> None:
    lease = samples.start(run, "host-1", 60)
    run.pass_through(lease, [(RunState.STOPPED, "a fault"), (RunState.QUEUED, "a fault")])
    assert run.status().status is RunState.QUEUED
    told = [(change.status, change.reason) for change in run.transitions()][-2:]
    assert told == [(RunState.STOPPED, "a fault"), (RunState.QUEUED, "a fault")]
    with pytest.raises(IllegalTransition):
        run.pass_through(lease, [(RunState.RUNNING, ""), (RunState.PLANNED, "")])
    assert run.status().status is RunState.QUEUED, "none of the steps was taken"


def test_a_plan_is_replaced_and_the_runs_that_began_say_under_which(
    store: Store, campaign: str, run: RunStore
) -> None:
    lease = samples.start(run, "host-1", 60)
    run.release(lease)
    before = store.catalogue.manifest(campaign)
    runs = (*samples.RUNS, samples.planned_run("trial-s11-again", 2))
    after = samples.manifest_of(runs)
    for _ in range(2):
        store.catalogue.extend_campaign(before.plan_hash, after, runs, [samples.KEY.run_id])
    run.close()
    assert store.catalogue.manifest(campaign) == after
    assert own_manifest(run) == after
    assert run.status().status is RunState.RUNNING
    assert [row.planned for row in store.catalogue.runs(campaign)] == list(runs)
    assert store.catalogue.beginnings(campaign) == {samples.KEY.run_id: before.plan_hash}
    new = store.run(RunKey(campaign, "trial-s11-again"))
    new.release(new.acquire("host-1", 60))
    assert own_manifest(new) == after
    with pytest.raises(InputError, match="meanwhile"):
        store.catalogue.extend_campaign(
            before.plan_hash, samples.manifest_of(runs[:2], release="autumn"), runs[:2], []
        )


def own_manifest(run: RunStore) -> CampaignManifest:
    """The manifest as the run's own database has it."""
    return CampaignManifest.from_json(run.manifest_json() or b"")
