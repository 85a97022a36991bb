"""Replay of whole campaigns: everything matches, as far as it is there."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests.errors import InputError
from orchestrator.store import RunKey, open_store
from orchestrator.world import StopKind, StopRequest
from tests.orchestrator.replay.replaying import ONE_RUN, RUNS, SETTLED_ROWS, replay, run_file
from tests.orchestrator.trial import DAYS, NAME, REFERENCE, WINDOWS, Trial


def test_a_completed_campaign_matches_in_parallel_and_tells_of_every_run(original: Path) -> None:
    told: list[str] = []
    report = replay(original, jobs=2, told=lambda done: told.append(done.run_id))
    assert report.to_json() == {
        "runs": RUNS,
        "matched": RUNS,
        "nothing_recorded": 0,
        "days": RUNS * DAYS,
        "windows": RUNS * WINDOWS,
        "complete": RUNS,
        "differences": [],
    }
    assert sorted(told) == sorted(run.run_id for run in report.runs)
    with open_store(str(original)) as store:
        in_order = [row.key.run_id for row in store.catalogue.runs(NAME)]
    assert [run.run_id for run in report.runs] == in_order


def test_some_runs_can_be_chosen(original: Path) -> None:
    report = replay(original, ("trial-s29-without-cy", REFERENCE))
    assert [run.run_id for run in report.runs] == ["trial-s29-without-cy", REFERENCE]
    with pytest.raises(InputError, match="no run trial-s99"):
        replay(original, ("trial-s99",))


def test_a_copy_without_settled_rows_is_compared_with_its_original(
    original: Path, copy: Path
) -> None:
    for path in sorted((copy / "runs" / NAME).glob("*.db")):
        with sqlite3.connect(path) as connection:
            for table in SETTLED_ROWS:
                connection.execute(f"DELETE FROM {table}")
        connection.close()
    report = replay(copy, against=original)
    assert (report.matched, report.to_json()["days"]) == (RUNS, RUNS * DAYS)
    alone = replay(copy)
    assert alone.matched == 0
    assert {found.what for found in alone.differences} == {"a checkpoint"}
    assert {found.recorded for found in alone.differences} == {"missing"}


def test_runs_of_which_nothing_was_settled_do_not_match(tmp_path: Path) -> None:
    trial = Trial.new(tmp_path / "store")
    with trial.store:
        stop = StopRequest()
        stop.ask(StopKind.PAUSE, "")
        trial.play("trial-s11-without-ada", stop=stop)
        run = trial.run("trial-s11-without-bob")
        run.release(run.acquire("a test", 60))
        trial.play()
    report = replay(tmp_path / "store")
    assert [run.run_id for run in report.runs if run.matches] == [REFERENCE]
    assert len(report.nothing_recorded) == RUNS - 1
    assert report.differences == ()
    assert report.to_json()["windows"] == WINDOWS


def test_a_run_that_goes_on_meanwhile_matches_as_far_as_it_was(copy: Path) -> None:
    with sqlite3.connect(run_file(copy)) as connection:
        # As a reader finds it who looked at the status before the last windows were committed.
        connection.execute("UPDATE run_states SET status = 'running', world_version = 1, day = 7")
        connection.execute("DELETE FROM company_exits")
        connection.execute("DELETE FROM outcomes")
    connection.close()
    report = replay(copy, runs=(REFERENCE,))
    assert report.differences == ()
    assert [(run.windows, run.days, run.complete) for run in report.runs] == [(1, 7, False)]


def test_stores_of_different_plans_are_not_compared(original: Path, tmp_path: Path) -> None:
    Trial.new(tmp_path / "other", horizon_days=DAYS + 1).store.close()
    with pytest.raises(InputError, match="has plan sha256:"):
        replay(original, against=tmp_path / "other")


@pytest.fixture
def opened(copy: Path) -> Iterator[Path]:
    with open_store(str(copy)) as store:
        store.run(RunKey(NAME, REFERENCE)).status()
        yield copy


def test_a_store_in_use_can_be_replayed(opened: Path) -> None:
    assert replay(opened, ONE_RUN).matched == 1
