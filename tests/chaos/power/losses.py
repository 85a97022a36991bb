"""A store's life on a disk that loses power at many moments, drawn from a seed that it prints: what
was acknowledged is there afterwards, and it goes on to its end. The first moment at which it is not
so ends it, and what the disk kept of the store is kept.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from orchestrator.lifecycle import RunState
from orchestrator.store import (
    AttemptKey,
    FileVersion,
    SessionReader,
    SessionStore,
    Store,
    Target,
    open_store,
)
from tests.chaos.power.disk import Disk, Record, records
from tests.orchestrator.store import raw, samples

_PROGRAM: Final = "python -m tests.chaos.power.losses"
ROOT: Final = Path(__file__).parents[3]
RECORDER: Final = Path(__file__).with_name("recorder.c")

KEPT: Final = (0.0, 0.2, 0.5, 0.9, 1.0)
EVENTS: Final = 3
"""How many events each window has."""

_ACKNOWLEDGED: Final = "acknowledged"


class Reached(NamedTuple):
    """What of a life is done: campaigns made, events and windows stored, acts of people recorded.

    Nothing is done at the same time as something else.
    """

    campaigns: int = 0
    events: int = 0
    acts: int = 0
    windows: int = 0

    def covers(self, acknowledged: "Reached") -> bool:
        """Whether it is all that was acknowledged, and at most what was under way beside that."""
        more = [mine - known for mine, known in zip(self, acknowledged, strict=True)]
        return min(more) >= 0 and sum(more) <= 1


class Loss(NamedTuple):
    """A moment at which the power fails: after so many records, with this share of the unsafe."""

    after: int
    kept: float


def body(event: int) -> bytes:
    """The bytes of an event, which span several sectors also when they are compressed."""
    return Random(event).randbytes(2_500)


def text(event: int) -> str:
    """The private file that an event writes."""
    return f"written with event {event}: {Random(event).randbytes(600).hex()}"


def live(place: Path) -> None:
    """Make a store and play a run of one model, and tell after each commit that it is done."""
    told = os.open(place / _ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT, 0o600)
    reached = Reached()

    def done(**more: int) -> None:
        nonlocal reached
        reached = reached._replace(**more)
        os.write(told, bytes(reached))

    with open_store(str(place / "store"), create=True) as store:
        samples.create_campaign(store)
        done(campaigns=1)
        run = store.run(samples.KEY)
        lease, sessions = samples.start(run, seconds=0), SessionStore(run)
        for version in range(samples.WINDOWS):
            for ordinal in range(EVENTS):
                event = reached.events
                file = FileVersion("MEMORY.md", event + 1, text(event))
                key = AttemptKey(version, 1, 0)
                sessions.append(lease, key, ordinal, "kind", body(event), file)
                done(events=event + 1)
            store.holds.record(Target(*samples.KEY), "look", f"act {version}")
            done(acts=version + 1)
            samples.play(run, lease, version + 1)
            done(windows=version + 1)
        run.release(lease)


def recorded(directory: Path) -> tuple[Path, list[Record]]:
    """The life of a store, done by a process whose every change of a file is written down."""
    library, log, place = directory / "recorder.so", directory / "log", directory / "place"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, RECORDER, "-ldl"], check=True)
    place.mkdir()
    preloaded = {"LD_PRELOAD": library, "RECORD_BELOW": place, "RECORD_TO": log}
    subprocess.run(
        [sys.executable, "-c", _LIVE, place],
        check=True,
        cwd=ROOT,
        env={**os.environ, **{name: str(value) for name, value in preloaded.items()}},
    )
    return place, list(records(log.read_bytes()))


_LIVE: Final = (
    "import sys; from pathlib import Path; from tests.chaos.power.losses import live; "
    "live(Path(sys.argv[1]))"
)


def moments(count: int, chance: Random) -> Iterator[Loss]:
    """Moments without end in a life of so many records."""
    while True:
        yield Loss(chance.randint(0, count), chance.choice(KEPT))


def fault_after(
    loss: Loss, place: Path, life: list[Record], chance: Random, to: Path
) -> str | None:
    """What is wrong with the store that a loss of power leaves, if anything is."""
    disk, acknowledged = Disk(place), Reached()
    for record in life[: loss.after]:
        if record.path.name != _ACKNOWLEDGED:
            disk.take(record)
        elif record.kind == "w":
            acknowledged = Reached(*record.content)
    disk.after_loss(to, chance, loss.kept)
    try:
        return _fault_in(to / "store", acknowledged)
    except Exception as error:  # noqa: BLE001 - whatever keeps it from opening is the fault
        return f"{type(error).__name__}: {error}"


def _fault_in(place: Path, acknowledged: Reached) -> str | None:
    with open_store(str(place), create=not acknowledged.campaigns) as store:
        reached = _reached(store)
        if not reached.covers(acknowledged):
            return f"{acknowledged} was acknowledged, and {reached} is there"
        if not reached.campaigns:
            return None
        run = store.run(samples.KEY)
        settled = [
            day for version in range(reached.windows) for day in samples.window(version).days
        ]
        if list(run.day_records()) != settled:
            return "its days are not those that were settled"
        _go_on(run.status().status, place)
        if run.status().status is not RunState.COMPLETED or run.outcomes() != samples.outcomes():
            return "it did not come to its end"
    for key in (None, samples.KEY):
        if raw.execute(str(place), "PRAGMA integrity_check", key) != [("ok",)]:
            return "a file of it is damaged"
    return None


def _reached(store: Store) -> Reached:
    """What a store has of the life; events, files and acts are those that they should be."""
    campaigns = len(store.catalogue.campaigns())
    if not campaigns:
        return Reached()
    run = store.run(samples.KEY)
    sessions = SessionReader(run)
    events = [event for key in sorted(sessions.attempts()) for event in sessions.events(key)]
    assert events == [body(event) for event in range(len(events))]
    if events:
        memory = sessions.files_before(1, samples.WINDOWS)
        assert memory == {"MEMORY.md": (text(len(events) - 1), len(events))}
    acts = [act.reason for act in store.catalogue.acts(samples.CAMPAIGN) if act.act == "look"]
    assert acts == [f"act {number}" for number in range(len(acts))]
    return Reached(campaigns, len(events), len(acts), run.status().world_version)


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
    parser = argparse.ArgumentParser(prog=_PROGRAM, description=__doc__)
    parser.add_argument("seed", metavar="SEED", nargs="?", type=int, help="drawn unless given")
    parser.add_argument(
        "count", metavar="MOMENTS", nargs="?", type=int, help="without end unless given"
    )
    given = parser.parse_args()
    seed = secrets.randbelow(1 << 32) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    chance, directory = Random(seed), Path(tempfile.mkdtemp(prefix=f"power-{seed}-"))
    place, life = recorded(directory)
    left = directory / "left"
    for tried, loss in enumerate(islice(moments(len(life), chance), given.count), start=1):
        fault = fault_after(loss, place, life, chance, left)
        if fault is not None:
            again = f"{_PROGRAM} {seed} {tried}"
            sys.exit(
                f"\n{loss} of {len(life)} records, moment {tried}: {fault}\n"
                f"Try the same moments again with: {again}\n"
                f"What was recorded, and what the loss left, is in {directory}"
            )
        shutil.rmtree(left)
        sys.stdout.write(f"\r{tried} moments")
        sys.stdout.flush()
    shutil.rmtree(directory)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
