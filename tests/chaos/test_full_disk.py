"""A disk that is full, before a campaign begins and in the middle of it."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from manifests.errors import StoreError
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.ceo import StoredJournal
from orchestrator.session.events import Answered, Asked, Interrupted, decode_event
from orchestrator.session.loop import Session
from orchestrator.status.history import history
from orchestrator.store import AttemptKey, SessionStore, open_store
from providers.contract import Reply, Request
from tests.chaos.harness import CAMPAIGN, place, undisturbed
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
from tests.small_disk import CannotMount, SmallDisk, small_disk

DAYS = 490


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    try:
        with small_disk(tmp_path / "disk", megabytes=8) as made:
            yield made
    except CannotMount as error:
        pytest.skip(str(error))


def test_nothing_is_made_on_a_full_disk(disk: SmallDisk) -> None:
    with place(disk.place, days=DAYS) as trial:
        filler = disk.fill()
        refused = trial.run("launch", str(trial.file))
        assert refused.returncode == 3
        assert "the disk is full" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not trial.store.exists() or not list(trial.store.rglob("*"))
        filler.unlink()


@pytest.mark.xdist_group("launches")
def test_a_disk_that_fills_up_costs_no_window_and_invents_none(disk: SmallDisk) -> None:
    with place(disk.place, days=DAYS) as trial:
        stopped = trial.run("launch", str(trial.file))
        assert stopped.returncode == 3, stopped.stderr
        assert "the disk is full. Free some space" in stopped.stderr
        assert "ceo-arena resume trial" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        # A disk may be so full that there is no room to open a database either.
        disk.enlarge(megabytes=100)
        progress = trial.progress()
        assert 0 < progress.windows < len(progress.runs) * progress.windows_per_run
        assert trial.run("replay").returncode == 0
        left = {run.planned.run_id for run in progress.runs if run.state == "interrupted"}
        for run in progress.runs:
            told = "could not write" if run.planned.run_id in left else "the disk is full"
            assert run.state in ("interrupted", "paused", "completed")
            assert run.state == "completed" or told in run.reason, run
        resumed = trial.run("resume")
        assert resumed.returncode == 0, resumed.stderr
        with open_store(trial.location) as store:
            told_later = [each for each in history(store, CAMPAIGN) if each.kind == "interrupted"]
        assert {each.run_id for each in told_later} == left
        assert trial.evidence() == undisturbed(trial.file)


class Filling(Script):
    """A model that fills the disk while it thinks about its first reply."""

    disk: SmallDisk
    filler: Path

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        if not self.asked:
            self.filler = self.disk.fill()
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
def test_a_paid_reply_waits_for_the_disk(disk: SmallDisk, *, freed: bool) -> None:
    with open_store(str(disk.place / "store"), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        lease, sessions, clock = samples.start(run), SessionStore(run), WaitedOut()
        model = Filling(clock, [LONG, reply(SEAL)])
        model.disk = disk
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
