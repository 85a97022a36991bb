"""Power loss: whatever the disk makes of what was not synced, the store opens whole at the last
commit that was acknowledged, or at the one that was under way.
"""

import re
import shutil
import sys
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.chaos.power.disk import Record
from tests.chaos.power.losses import KEPT, Loss, fault_after, moments, recorded

SEED = 20_261

pytestmark = [
    pytest.mark.xdist_group("power"),
    pytest.mark.skipif(sys.platform != "linux", reason="the recorder knows the calls of Linux"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="the recorder is compiled with gcc"),
]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Record]]:
    return recorded(tmp_path_factory.mktemp("recorded"))


def test_a_life_is_recorded(life: tuple[Path, list[Record]]) -> None:
    kinds = {record.kind for record in life[1]}
    assert kinds == {"w", "t", "s", "c", "u", "l", "d"}


def test_the_store_opens_whole_at_the_last_acknowledged_commit(
    life: tuple[Path, list[Record]], tmp_path: Path
) -> None:
    place, done = life
    chance = Random(SEED)
    told = [n for n, record in enumerate(done, 1) if record.path.name == "acknowledged"]
    losses = [Loss(after, kept) for after in told for kept in KEPT]
    losses += islice(moments(len(done), chance), 60)
    faults = {}
    for number, loss in enumerate(losses):
        fault = fault_after(loss, place, done, chance, tmp_path / str(number))
        if fault is not None:
            faults[loss] = fault
    assert faults == {}


@pytest.mark.parametrize(
    ("suffixes", "noticed"),
    [
        ({"", ".db", ".db-wal", ".db-journal"}, "There is no store"),
        ({""}, "There is no store"),
        ({".db", ".db-wal", ".db-journal"}, "is there|damaged|StoreError"),
        ({".db-wal"}, "was acknowledged, and"),
    ],
    ids=["of everything", "of directories", "of files", "of logs"],
)
def test_a_disk_that_lies_about_syncs_is_noticed(
    life: tuple[Path, list[Record]], tmp_path: Path, suffixes: set[str], noticed: str
) -> None:
    """The test above can fail: without these syncs, what was acknowledged is lost."""
    place, done = life
    lying = [each for each in done if each.kind != "s" or each.path.suffix not in suffixes]
    assert len(lying) < len(done)
    after = max(n for n, each in enumerate(lying, 1) if each.path.name == "acknowledged")
    fault = fault_after(Loss(after, 0.0), place, lying, Random(SEED), tmp_path)
    assert fault is not None
    assert re.search(noticed, fault), fault
