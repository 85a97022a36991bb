"""Slots: never more runs at work than the limit, the seeds in their order, and none for a run that
a person holds (runtime.md section 5); with hosts killed on the way.
"""

import os
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from orchestrator.lifecycle import RunState
from orchestrator.progress import CampaignProgress
from orchestrator.store import DesiredState, Target, open_store
from tests.chaos.harness import (
    CAMPAIGN,
    MATRIX,
    PATIENCE_SECONDS,
    Place,
    finished,
    place,
    undisturbed,
)

pytestmark = pytest.mark.xdist_group("supervision")

SLOTS: Final = 2
HELD: Final = "trial-s11-reference"
LIMITED: Final = MATRIX.replace(
    "limits = {{ lease_seconds = 3 }}",
    f"limits = {{{{ lease_seconds = 3, max_active_runs = {SLOTS} }}}}",
)


def at_work(progress: CampaignProgress) -> list[str]:
    return [run.planned.run_id for run in progress.runs if run.owner is not None]


def test_slots_are_never_exceeded_and_go_to_earlier_seeds_first(tmp_path: Path) -> None:
    with place(tmp_path, LIMITED, days=245) as trial:
        launched = trial.launch("--hosts", "2")
        hold(trial)
        most, killed = 0, False
        deadline = time.monotonic() + PATIENCE_SECONDS
        while launched.poll() is None:
            assert time.monotonic() < deadline, "it never came to an end"
            progress = trial.progress()
            most = max(most, len(at_work(progress)))
            if not killed and progress.windows > 40 and trial.owners():
                os.kill(min(trial.owners()), signal.SIGKILL)
                killed = True
            time.sleep(0.02)
        assert finished(launched).returncode == 1
        assert (most, killed) == (SLOTS, True)
        states = {run.planned.run_id: run.state for run in trial.progress().runs}
        assert states.pop(HELD) == "paused"
        assert set(states.values()) == {"completed"}, "the held run takes no slot"
        assert started(trial) == sorted(started(trial), key=lambda run_id: "s29" in run_id)

        assert trial.run("resume", "--run", HELD).returncode == 0
        resumed = trial.run("resume", "--hosts", "1")
        assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == undisturbed(trial.file)


def hold(trial: Place) -> None:
    """Hold a run as soon as its campaign is there, which is before Ray is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not trial.campaign_exists():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)
    with open_store(str(trial.store)) as store:
        store.holds.set(Target(CAMPAIGN, HELD), DesiredState.PAUSED, "look at it")


def started(trial: Place) -> list[str]:
    """The runs in the order in which they first were at work."""
    first = {}
    with open_store(str(trial.store)) as store:
        for row in store.catalogue.runs(CAMPAIGN):
            changes = store.run(row.key).transitions()
            moments = [change.at for change in changes if change.status is RunState.RUNNING]
            if moments:
                first[row.key.run_id] = moments[0]
    return sorted(first, key=lambda run_id: first[run_id])
