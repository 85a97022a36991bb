"""A disk that is full, before a campaign begins and in the middle of it."""

import asyncio
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from manifests.errors import StoreError
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.ceo import StoredJournal
from orchestrator.session.events import Answered, Asked, Interrupted, decode_event
from orchestrator.session.loop import Session
from orchestrator.store import AttemptKey, SessionStore, open_store
from providers.contract import Reply, Request
from tests.chaos.harness import place, undisturbed
from tests.orchestrator.session.attempts import (
    OPENING,
    PRICE,
    QUERIES,
    SEAL,
    FakeClock,
    OpenGate,
    Script,
    context,
    reply,
)
from tests.orchestrator.store import samples

DAYS = 490


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
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
        # A disk may be so full that there is no room to open a database either.
        enlarge = ["mount", "-o", "remount,size=100m", str(small_disk)]
        subprocess.run(enlarge, check=True)
        progress = trial.progress()
        assert 0 < progress.windows < len(progress.runs) * progress.windows_per_run
        assert trial.run("replay").returncode == 0
        resumed = trial.run("resume")
        assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == undisturbed(trial.file)


class Filling(Script):
    """A model that fills the disk while it thinks about its first reply."""

    disk: Path
    filler: Path

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        if not self.asked:
            self.filler = fill(self.disk)
        return await super().ask(request, body=body, within_seconds=within_seconds)


class WaitedOut(FakeClock):
    """A clock of which somebody takes notice after some sleeps."""

    sleeps = 0
    notice: Callable[[], object]

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        if self.sleeps == 3:
            self.notice()
        await super().sleep(seconds)


KEY = AttemptKey(0, 1, 0)
# Larger than what a journal may still find room for on a disk that is full.
LONG = msgspec.structs.replace(reply(PRICE, tag="long"), native=f'"{secrets.token_hex(300_000)}"')


@pytest.mark.parametrize("freed", [True, False])
def test_a_paid_reply_waits_for_the_disk(small_disk: Path, *, freed: bool) -> None:
    with open_store(str(small_disk / "store"), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        lease, sessions, clock = samples.start(run), SessionStore(run), WaitedOut()
        model = Filling(clock, [LONG, reply(SEAL)])
        model.disk = small_disk
        clock.notice = lambda: model.filler.unlink() if freed else None
        session = Session(
            OPENING,
            StoredJournal(sessions, lease, KEY, lambda _: None),
            model,
            OpenGate(),
            context,
            clock,
            lambda: 1.0,
            lambda: False,
            QUERIES,
        )
        if freed:
            status, _ = asyncio.run(session.run())
            assert status is CompanyWindowStatus.SEALED
            assert len(model.asked) == 2, "what was paid is not asked for again"
            assert clock.sleeps == 3
            assert session.state.use.seconds == 0, "to wait for the disk is not active time"
            events = [decode_event(body) for body in sessions.events(KEY)]
            assert next(each.reply for each in events if isinstance(each, Answered)) == LONG
        else:
            with pytest.raises(StoreError, match="the disk is full"):
                asyncio.run(session.run())
            assert clock.sleeps > 100
            model.filler.unlink()
            events = [decode_event(body) for body in sessions.events(KEY)]
            assert isinstance(events[-1], Asked), "nothing is invented either"
            journal = StoredJournal(sessions, lease, KEY, lambda _: None)
            journal.load()
            journal.append(Interrupted(0.0, 1))
