"""A store's life on a disk that loses power at many moments.

    python -m tests.chaos.power.losses [SEED]

tries moments without end and prints the seed with which the same ones come again.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from orchestrator.lifecycle import RunState
from orchestrator.store import open_store
from tests.chaos.power.disk import Disk, Record, records
from tests.orchestrator.store import raw, samples

ROOT: Final = Path(__file__).parents[3]
RECORDER: Final = Path(__file__).with_name("recorder.c")

NOTHING: Final = -1
"""Acknowledged before the campaign is; from then on it is the number of committed windows."""

KEPT: Final = (0.0, 0.2, 0.5, 0.9, 1.0)

_ACKNOWLEDGED: Final = "acknowledged"


class Loss(NamedTuple):
    """A moment at which the power fails: after so many records, with this share of the unsafe."""

    after: int
    kept: float


def live(place: Path) -> None:
    """Make a store and play a run, and tell after each commit that it is done."""
    told = os.open(place / _ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT, 0o600)
    with open_store(str(place / "store"), create=True) as store:
        samples.create_campaign(store)
        os.write(told, b"\0")
        run = store.run(samples.KEY)
        lease = samples.start(run, seconds=0)
        for windows in range(1, samples.WINDOWS + 1):
            samples.play(run, lease, windows)
            os.write(told, bytes([windows]))
        run.release(lease)


def recorded(directory: Path) -> tuple[Path, list[Record]]:
    """The life of a store, done by a process whose every change of a file is written down."""
    library, log, place = directory / "recorder.so", directory / "log", directory / "place"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, RECORDER, "-ldl"], check=True)
    place.mkdir()
    preloaded = {"LD_PRELOAD": library, "RECORD_BELOW": place, "RECORD_TO": log}
    subprocess.run(
        [sys.executable, "-c", f"import sys; from {__name__} import live, Path; {_LIVE}", place],
        check=True,
        cwd=ROOT,
        env={**os.environ, **{name: str(value) for name, value in preloaded.items()}},
    )
    return place, list(records(log.read_bytes()))


_LIVE: Final = "live(Path(sys.argv[1]))"


def moments(count: int, chance: Random) -> Iterator[Loss]:
    """Moments without end in a life of so many records."""
    while True:
        yield Loss(chance.randint(0, count), chance.choice(KEPT))


def fault_after(
    loss: Loss, place: Path, life: list[Record], chance: Random, to: Path
) -> str | None:
    """What is wrong with the store that a loss of power leaves, if anything is."""
    disk, acknowledged = Disk(place), NOTHING
    for record in life[: loss.after]:
        if record.path.name != _ACKNOWLEDGED:
            disk.take(record)
        elif record.kind == "w":
            acknowledged = record.content[0]
    disk.after_loss(to, chance, loss.kept)
    try:
        return _fault_in(to / "store", acknowledged)
    except Exception as error:  # noqa: BLE001 - whatever keeps it from opening is the fault
        return f"{type(error).__name__}: {error}"


def _fault_in(place: Path, acknowledged: int) -> str | None:
    with open_store(str(place), create=acknowledged == NOTHING) as store:
        campaigns = [row.name for row in store.catalogue.campaigns()]
        if not campaigns and acknowledged == NOTHING:
            return None
        run = store.run(samples.KEY)
        reached = run.status().world_version
        if reached not in (max(acknowledged, 0), acknowledged + 1):
            return f"{acknowledged} windows were acknowledged, and {reached} are there"
        settled = [day for version in range(reached) for day in samples.window(version).days]
        if list(run.day_records()) != settled:
            return "its days are not those that were settled"
        _go_on(store.run(samples.KEY).status().status, place)
        if run.status().status is not RunState.COMPLETED or run.outcomes() != samples.outcomes():
            return "it did not come to its end"
    for key in (None, samples.KEY):
        if raw.execute(str(place), "PRAGMA integrity_check", key) != [("ok",)]:
            return "a file of it is damaged"
    return None


def _go_on(status: RunState, place: Path) -> None:
    """Play the run to its end, as the next owner does."""
    with open_store(str(place)) as store:
        run = store.run(samples.KEY)
        lease = run.acquire("the next one", 60)
        for following in (RunState.QUEUED, RunState.RUNNING):
            if status in (RunState.PLANNED, RunState.QUEUED):
                run.set_status(lease, following, "")
        if status is not RunState.COMPLETED:
            run.begin(lease, samples.first_state())
            samples.play(run, lease)
        run.release(lease)


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    chance, tried = Random(seed), 0
    with tempfile.TemporaryDirectory() as directory:
        place, life = recorded(Path(directory))
        for loss in moments(len(life), chance):
            to = Path(directory) / "left"
            fault = fault_after(loss, place, life, chance, to)
            shutil.rmtree(to)
            tried += 1
            if fault is not None:
                sys.exit(f"{loss} of {len(life)} records, moment {tried}: {fault}")
            sys.stdout.write(f"\r{tried} moments")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
