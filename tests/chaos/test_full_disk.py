"""A disk that is full, before a campaign begins and in the middle of it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.harness import place, undisturbed

DAYS = 210


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode != 0:
        pytest.skip("this user may not mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Write until nothing more can be written."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def test_nothing_is_made_on_a_full_disk(small_disk: Path) -> None:
    with place(small_disk, days=DAYS) as trial:
        filler = fill(small_disk)
        refused = trial.run("launch", str(trial.file))
        assert refused.returncode == 3
        assert "the disk is full" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not trial.store.exists() or not list(trial.store.rglob("*"))
        filler.unlink()


@pytest.mark.xdist_group("launches")
def test_a_disk_that_fills_up_costs_no_window_and_invents_none(small_disk: Path) -> None:
    with place(small_disk, days=DAYS) as trial:
        stopped = trial.run("launch", str(trial.file))
        assert stopped.returncode == 3, stopped.stderr
        assert "the disk is full. Free some space" in stopped.stderr
        assert "ceo-arena resume trial" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        progress = trial.progress()
        assert 0 < progress.windows < len(progress.runs) * progress.windows_per_run
        enlarge = ["mount", "-o", "remount,size=100m", str(small_disk)]
        subprocess.run(enlarge, check=True)
        assert trial.run("replay").returncode == 0
        resumed = trial.run("resume")
        assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == undisturbed(trial.file)
