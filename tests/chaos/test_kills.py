"""SIGKILL at random moments: whatever dies, the campaign comes to the same end."""

import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.chaos.harness import Place, descendants, finished, kill_all, place, undisturbed

pytestmark = pytest.mark.xdist_group("kills")

DAYS = 245
WINDOWS = 8 * DAYS // 7


def kill_driver(_trial: Place, launched: Any) -> None:
    launched.kill()


def kill_a_host(trial: Place, _launched: Any) -> None:
    os.kill(min(trial.owners()), signal.SIGKILL)


def kill_every_host(trial: Place, _launched: Any) -> None:
    for owner in trial.owners():
        os.kill(owner, signal.SIGKILL)


def kill_the_scheduler(_trial: Place, launched: Any) -> None:
    (scheduler,) = [
        process for process in descendants(launched) if "Carrier" in process.cmdline()[0]
    ]
    scheduler.kill()


def kill_ray(_trial: Place, launched: Any) -> None:
    for process in descendants(launched):
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def kill_all_at_once(_trial: Place, launched: Any) -> None:
    kill_all(launched)


@pytest.mark.parametrize(
    ("kill", "code", "seed"),
    [
        (kill_driver, -signal.SIGKILL, 1),
        (kill_a_host, 0, 2),
        (kill_every_host, 0, 3),
        (kill_the_scheduler, 0, 4),
        (kill_ray, 3, 5),
        (kill_all_at_once, -signal.SIGKILL, 6),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_killed_campaign_comes_to_the_same_end(
    kill: Callable[[Place, Any], None], code: int, seed: int, tmp_path: Path
) -> None:
    """The moment of the kill is a number of settled windows, drawn from the seed."""
    moment = random.Random(seed).randrange(1, WINDOWS * 2 // 3)
    with place(tmp_path, days=DAYS) as trial:
        launched = trial.launch()
        trial.wait_for_windows(moment)
        kill(trial, launched)
        ended = finished(launched)
        assert ended.returncode == code, ended.stderr
        if code != 0:
            assert "Traceback" not in ended.stderr
            left = [run for run in trial.progress().runs if run.state == "interrupted"]
            assert all("it was killed" in run.reason for run in left)
            resumed = trial.run("resume")
            assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == undisturbed(trial.file)
        told = json.loads(trial.run("failures", "--json").stdout)["history"]
        assert any(each["kind"] == "interrupted" for each in told)
