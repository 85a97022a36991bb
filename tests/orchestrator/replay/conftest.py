"""A completed campaign, and copies of it to change."""

import shutil
from pathlib import Path

import pytest

from tests.orchestrator.trial import Trial


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A completed campaign."""
    place = tmp_path_factory.mktemp("replay") / "original"
    trial = Trial.new(place)
    with trial.store:
        trial.play_all()
    return place


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))
