"""Slots: never more runs at work than the limit, the seeds in their order, and none for a run that
a person holds (runtime.md section 5); with hosts, and then all, killed on the way.
"""

import os
import signal
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Final

import pytest

from orchestrator.lifecycle import RunState
from orchestrator.store import DesiredState, Target, open_store
from tests.chaos.harness import (
    CAMPAIGN,
    MATRIX,
    Place,
    finished,
    kill_all,
    place,
    undisturbed,
)
from tests.patience import until

pytestmark = pytest.mark.xdist_group("supervision")

SLOTS: Final = 2
DAYS: Final = 245
WINDOWS: Final = 8 * DAYS // 7
HELD: Final = "trial-s11-reference"
# A lease that outlives any delay of the machine: that a host is dead is proven without it.
LIMITED: Final = MATRIX.replace(
    "lease_seconds = 3", f"lease_seconds = 30, max_active_runs = {SLOTS}"
)


def test_slots_are_never_exceeded_and_go_to_earlier_seeds_first(tmp_path: Path) -> None:
    with place(tmp_path, LIMITED, DAYS) as trial:
        launched = trial.launch("--hosts", "2")
        hold(trial)
        trial.wait_for_windows(1)
        os.kill(somebody_at_work(trial), signal.SIGKILL)
        trial.wait_for_windows(WINDOWS // 2)
        kill_all(launched)
        assert finished(launched).returncode == -signal.SIGKILL
        assert trial.run("resume", "--hosts", "2").returncode == 1
        assert most_at_once(trial) == SLOTS
        states = {run.planned.run_id: run.state for run in trial.progress().runs}
        assert states.pop(HELD) == "paused"
        assert set(states.values()) == {"completed"}, "the held run takes no slot"
        begun = [run_id for run_id, _, _ in played(trial)]
        assert begun == sorted(begun, key=lambda run_id: "s29" in run_id)

        assert trial.run("resume", "--run", HELD).returncode == 0
        resumed = trial.run("resume", "--hosts", "1")
        assert resumed.returncode == 0, resumed.stderr
        assert most_at_once(trial) == SLOTS, "also where the restarts were"
        assert trial.evidence() == undisturbed(trial.file)


def somebody_at_work(trial: Place) -> int:
    """A process that plays a run."""
    return min(until(trial.owners, "nobody is at work"))


def hold(trial: Place) -> None:
    """Hold a run as soon as its campaign is there, which is before Ray is."""
    until(trial.campaign_exists)
    with open_store(str(trial.store)) as store:
        store.holds.set(Target(CAMPAIGN, HELD), DesiredState.PAUSED, "look at it")


def played(trial: Place) -> list[tuple[str, datetime, datetime]]:
    """The completed runs in the order in which they began, each with its beginning and its end.

    A run whose host was killed goes before all that have not begun, so that it keeps its slot.
    """
    found = []
    with open_store(str(trial.store)) as store:
        for row in store.catalogue.runs(CAMPAIGN):
            run = store.run(row.key)
            status = run.status()
            if status.status is RunState.COMPLETED:
                assert status.updated_at is not None
                began = min(each.at for each in run.transitions() if each.status == "running")
                found.append((row.key.run_id, began, status.updated_at))
    return sorted(found, key=lambda each: each[1])


def most_at_once(trial: Place) -> int:
    """How many runs were at work at the same instant, at the most."""
    changes = [(began, 1) for _, began, _ in played(trial)]
    changes += [(ended, -1) for _, _, ended in played(trial)]
    # Of what happened in one millisecond, an end comes before a beginning.
    return max(accumulate(change for _, change in sorted(changes)))
