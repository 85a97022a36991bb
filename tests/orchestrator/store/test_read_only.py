"""A store on a file system that takes no writes: what only reads works there."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.status.progress import ProgressReader
from orchestrator.store import DesiredState, open_store
from tests.orchestrator.cli.commands import ceo_arena
from tests.orchestrator.trial import NAME, Trial

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """A campaign of one window, which is settled."""
    made = Trial.new(tmp_path / "store", seeds=[11], lineups=["reference"], horizon_days=7)
    with made.store:
        made.play_all()
        yield made


@pytest.fixture
def fixed(trial: Trial, tmp_path: Path) -> Iterator[Path]:
    """The directory of the trial's store, as a place where nobody can write."""
    place = tmp_path / "fixed"
    place.mkdir()
    try:
        for options in (["--bind", trial.store.location], ["-o", "remount,bind,ro"]):
            done = subprocess.run(["mount", *options, str(place)], capture_output=True, check=False)
            if done.returncode != 0:
                pytest.skip("this user may not mount a file system")
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["results"],
        ["audit"],
        ["replay"],
        ["why"],
        ["failures"],
        ["analyze", "--out", "OUT"],
        ["report", "--out", "OUT"],
        ["backup", "OUT"],
        ["export", "--out", "OUT", "--key", "KEY"],
    ],
    ids=lambda command: command[0],
)
def test_what_only_reads_works(
    command: list[str], trial: Trial, fixed: Path, tmp_path: Path, capsys: Capture
) -> None:
    trial.store.close()
    before = sorted(fixed.rglob("*"))
    key = str(tmp_path / "key.pem")
    assert ceo_arena(capsys, "keys", "generate", key).code == 0
    places = {"OUT": str(tmp_path / "out"), "KEY": key}
    arguments = [places.get(each, each) for each in command]
    answer = ceo_arena(capsys, *arguments, "--store", fixed)
    assert answer.code == 0, answer.err
    assert sorted(fixed.rglob("*")) == before


def test_who_writes_elsewhere_meanwhile_is_followed(trial: Trial, fixed: Path) -> None:
    with open_store(str(fixed)) as opened:
        reader = ProgressReader(opened, NAME)
        assert reader.read().desired is DesiredState.RUNNING
        trial.store.catalogue.set_desired(NAME, DesiredState.PAUSED, "lunch")
        assert (reader.read().desired, reader.read().reason) == (DesiredState.PAUSED, "lunch")
        assert "is read-only" in reader.read().obstacle


def test_what_writes_is_told_to_copy_it(trial: Trial, fixed: Path, capsys: Capture) -> None:
    trial.store.close()
    answer = ceo_arena(capsys, "spending", "--cap", "5", "--store", fixed)
    assert answer.code == 3
    assert "catalogue.db: it is read-only" in answer.err
    assert "cp -a" in answer.err


def test_a_log_without_its_index_is_told_to_be_copied(
    trial: Trial, fixed: Path, tmp_path: Path, capsys: Capture
) -> None:
    trial.store.close()
    (tmp_path / "store" / "catalogue.db-wal").write_bytes(bytes(32))
    answer = ceo_arena(capsys, "status", "--store", fixed)
    assert answer.code == 3
    assert "cp -a" in answer.err
