"""How a campaign stands, read from the store alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.settle import initial_state
from engine.streams import Streams
from orchestrator.bound import bound_scenario
from orchestrator.lifecycle import RunState
from orchestrator.owners import own_name, shown
from orchestrator.status.progress import INTERRUPTED, CampaignProgress, ProgressReader
from orchestrator.status.waiting import why_campaign
from orchestrator.store import DesiredState, RunStore, Store, Target
from orchestrator.world import StopKind, StopRequest, put_to_rest
from tests.orchestrator.trial import DAYS, NAME, WINDOWS, Trial
from tests.patience import until

RUNS = 8


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial.new(tmp_path / "store")
    with made.store:
        yield made


def read(trial: Trial) -> CampaignProgress:
    return ProgressReader(trial.store, NAME).read()


def leave_after_a_window(trial: Trial, run_id: str) -> None:
    """Play one window and go away without a word."""
    stop = StopRequest()

    class Last:
        identity = "last"

        async def decide(self, observation: object) -> object:
            stop.ask(StopKind.LEAVE, "")
            return await trial.ceos(run_id)[1].decide(observation)  # type: ignore[arg-type]

    assert trial.play(run_id, {1: Last()}, stop) is RunState.RUNNING  # type: ignore[dict-item]


def test_a_new_campaign_is_all_planned(trial: Trial) -> None:
    progress = read(trial)
    assert progress.counts == dict.fromkeys([*RunState, INTERRUPTED], 0) | {"planned": RUNS}
    assert not progress.finished
    assert (progress.windows, progress.days, progress.bankruptcies) == (0, 0, 0)
    assert progress.seconds_left is None
    assert progress.owner is None


def test_every_state_is_told_apart(trial: Trial) -> None:
    trial.play("trial-s11-reference")
    leave_after_a_window(trial, "trial-s11-without-ada")
    run = trial.run("trial-s11-without-bob")
    lease = run.acquire("a test", 60)
    put_to_rest(run, lease, RunState.PAUSED, "lunch")
    run.release(lease)
    queued = trial.run("trial-s11-without-cy")
    queued.set_status(queued.acquire("a test", 60), RunState.QUEUED, "")
    played = trial.run("trial-s29-reference")
    playing = played.acquire(own_name(), 60)
    played.set_status(playing, RunState.QUEUED, "")
    played.set_status(playing, RunState.RUNNING, "")

    progress = read(trial)
    assert progress.counts == {
        "planned": 3,
        "queued": 1,
        "running": 1,
        "paused": 1,
        "completed": 1,
        "stopped": 0,
        INTERRUPTED: 1,
    }
    by_id = {found.planned.run_id: found for found in progress.runs}
    assert by_id["trial-s29-reference"].owner == shown(own_name())
    assert by_id["trial-s11-without-ada"].state == INTERRUPTED
    assert [found.reason for found in progress.waiting] == ["lunch"]
    assert (progress.windows, progress.days) == (WINDOWS + 1, DAYS + 7)
    # Of what waits for a person nobody can say when it will be done.
    without = tuple(found for found in progress.runs if found.state != "paused")
    assert progress.seconds_left == replace(progress, runs=without).seconds_left
    assert progress.seconds_left


def test_the_json_holds_the_totals_and_the_runs_if_wanted(trial: Trial) -> None:
    trial.play()
    found = read(trial).to_json()
    assert found["runs"] == {"total": RUNS, **read(trial).counts}
    assert found["windows"] == {"settled": WINDOWS, "total": RUNS * WINDOWS}
    assert found["days"] == {"settled": DAYS, "total": RUNS * DAYS}
    assert "matrix" not in found
    matrix = read(trial).to_json(runs=True)["matrix"]
    assert [run["run"] for run in matrix] == [
        row.key.run_id for row in trial.store.catalogue.runs(NAME)
    ]
    assert matrix[0]["state"] == "completed"


def test_a_held_run_shows_what_a_person_wants_of_it(trial: Trial) -> None:
    target = Target(NAME, "trial-s29-reference")
    trial.store.holds.set(target, DesiredState.STOPPED, "too dear")
    (found,) = read(trial).waiting
    assert (found.planned.run_id, found.state, found.reason) == (
        "trial-s29-reference",
        "stopped",
        "too dear",
    )
    trial.store.holds.lift(target, "")
    assert read(trial).waiting == ()


def test_bankruptcies_are_counted_by_company(tmp_path: Path) -> None:
    trial = Trial.new(tmp_path / "bankrupt", horizon_days=120, seeds=[11])
    with trial.store:
        trial.play()
        progress = read(trial)
    assert progress.bankruptcies == 1
    assert list(progress.runs[0].to_json()["exits"]) == ["3"]


def test_what_is_completed_is_not_read_again(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.play_all()
    reader = ProgressReader(trial.store, NAME)
    first = reader.read()
    assert first.finished

    def refuse(_run: RunStore) -> None:
        raise AssertionError("a completed run was read again")

    monkeypatch.setattr(RunStore, "status", refuse)
    assert reader.read() == first


def test_a_dead_owner_carries_nothing_out(trial: Trial) -> None:
    head, _, _ = own_name().rpartition(".")
    trial.store.catalogue.acquire_campaign(NAME, f"{head}.1]", 600)
    assert read(trial).owner is None


def test_a_living_owner_is_told_without_its_mark(trial: Trial) -> None:
    lease = trial.store.catalogue.acquire_campaign(NAME, own_name(), 600)
    assert read(trial).owner == shown(own_name())
    trial.store.catalogue.release(lease)
    assert read(trial).owner is None


def test_progress_is_a_value(trial: Trial) -> None:
    assert read(trial) == read(trial)
    assert replace(read(trial), reason="other") != read(trial)


def test_a_lease_that_nobody_can_renew_is_still_its_owners(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk all leases expire, and who waits for it has not gone."""
    run = trial.run()
    lease = run.acquire(own_name(), 0.001)
    run.set_status(lease, RunState.QUEUED, "")
    scenario = bound_scenario(trial.store.catalogue.manifest(NAME))
    run.begin(lease, initial_state(scenario, Streams(11), 3))
    run.set_status(lease, RunState.RUNNING, "")
    trial.store.catalogue.acquire_campaign(NAME, own_name(), 0.001)
    until(lambda: read(trial).runs[0].state == INTERRUPTED)
    assert read(trial).owner is None
    full = "The disk of the store is full."
    monkeypatch.setattr(Store, "obstacle", lambda _: full)
    progress = read(trial)
    assert (progress.obstacle, progress.owner) == (full, shown(own_name()))
    assert progress.runs[0].state == RunState.RUNNING
    assert progress.to_json()["obstacle"] == full
    answers = why_campaign(progress, [])
    assert {each.waits_for for each in answers} == {"space"}
    assert answers[0].reason.startswith(full)
    assert f"{shown(own_name())} waits" in answers[0].reason
