"""Signals while Ray starts: nothing hangs, nothing is left behind, and the campaign goes on."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.chaos.harness import (
    Place,
    descendants,
    finished,
    place,
    undisturbed,
)
from tests.patience import until

pytestmark = pytest.mark.xdist_group("launches")


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as made:
        yield made


def wait_until_announced(trial: Place) -> str:
    """Until somebody holds the campaign's lease; who it is."""
    until(trial.campaign_exists)
    owner = until(lambda: trial.progress().owner)
    assert owner is not None
    return owner


@pytest.mark.parametrize("seconds", [0.0, 0.7])
def test_a_signal_while_ray_starts_leaves_the_campaign(seconds: float, trial: Place) -> None:
    launched = trial.launch()
    owner = wait_until_announced(trial)
    assert owner.endswith(f"process {launched.pid}")
    time.sleep(seconds)
    started = descendants(launched)
    launched.send_signal(signal.SIGTERM)
    ended = finished(launched)
    assert ended.returncode == 130, ended.stderr
    assert "Go on with: ceo-arena resume trial" in ended.stderr
    assert "Traceback" not in ended.stderr
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not alive
    assert trial.progress().owner is None
    resumed = trial.run("resume")
    assert resumed.returncode == 0, resumed.stderr
    assert trial.evidence() == undisturbed(trial.file)


def test_the_second_signal_ends_it_at_once(trial: Place) -> None:
    launched = trial.launch()
    wait_until_announced(trial)
    launched.send_signal(signal.SIGHUP)
    time.sleep(0.05)
    started = descendants(launched)
    launched.send_signal(signal.SIGINT)
    ended = finished(launched)
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not alive
