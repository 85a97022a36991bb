"""The journal of an attempt in a run's database."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from manifests.errors import IntegrityError, StoreError
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.session.ceo import StoredJournal
from orchestrator.session.events import (
    Answered,
    Asked,
    Closed,
    Event,
    Failed,
    FinalizationBegan,
    Halted,
    Resumed,
    ToolReceipt,
    WaitEnded,
    decode_event,
)
from orchestrator.session.files import FileChange
from orchestrator.session.loop import Session
from orchestrator.store import (
    AttemptKey,
    Lease,
    LeaseLost,
    RunStore,
    SessionStore,
    Store,
    open_store,
)
from providers.contract import Reply, Request
from tests.orchestrator.session.attempts import (
    OPENING,
    PRICE,
    QUERIES,
    REFUSED,
    SEAL,
    FakeClock,
    OpenGate,
    Outcome,
    Script,
    context,
    reply,
)
from tests.orchestrator.session.test_state import EVERY_KIND
from tests.orchestrator.store import samples

KEY: Final = AttemptKey(0, 1, 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store"), create=True) as opened:
        samples.create_campaign(opened)
        yield opened


@pytest.fixture
def run(store: Store) -> RunStore:
    return store.run(samples.KEY)


def ignore(_event: Event) -> None:
    """What is done with what is heard where that does not matter."""


def session(run: RunStore, lease: Lease, model: Script) -> Session:
    return Session(
        OPENING,
        StoredJournal(SessionStore(run), lease, KEY, ignore),
        model,
        OpenGate(),
        context,
        model.clock,
        lambda: 1.0,
        lambda: False,
        QUERIES,
    )


def play(run: RunStore, lease: Lease, *outcomes: Outcome) -> tuple[CompanyWindowStatus, Script]:
    model = Script(FakeClock(), outcomes)
    status, _ = asyncio.run(session(run, lease, model).run())
    return status, model


def test_events_are_read_as_they_were_written_by_anybody(run: RunStore) -> None:
    lease = samples.start(run)
    journal = StoredJournal(SessionStore(run), lease, KEY, ignore)
    assert journal.load() == []
    for event in EVERY_KIND:
        journal.append(event)
    assert StoredJournal(SessionStore(run), lease, KEY, ignore).load() == list(EVERY_KIND)
    assert SessionStore(run).files_before(1, 1) == {"MEMORY.md": ("x", 1)}


def test_a_journal_goes_on_where_it_was_read(run: RunStore) -> None:
    lease = samples.start(run)
    heard: list[Event] = []
    first = StoredJournal(SessionStore(run), lease, KEY, heard.append)
    first.append(EVERY_KIND[0])
    second = StoredJournal(SessionStore(run), lease, KEY, heard.append)
    assert second.load() == [EVERY_KIND[0]]
    second.append(EVERY_KIND[1])
    with pytest.raises(IntegrityError, match="2 events"):
        first.append(EVERY_KIND[2])
    assert heard == list(EVERY_KIND[:2]), "only what was committed is heard"
    first.append(EVERY_KIND[1])
    assert len(second.load()) == 2, "the very event again changes nothing"


def test_an_event_and_its_file_are_there_together_or_not_at_all(run: RunStore) -> None:
    lease = samples.start(run)
    journal = StoredJournal(SessionStore(run), lease, KEY, ignore)
    journal.append(EVERY_KIND[0])
    run.acquire("host-1", 60)
    wrote = ToolReceipt(
        1.0, "a", "write_file", "{}", True, None, FileChange("MEMORY.md", 1, "text")
    )
    with pytest.raises(LeaseLost):
        journal.append(wrote)
    assert SessionStore(run).files_before(1, 1) == {}
    assert len(SessionStore(run).events(KEY)) == 1


def test_a_reply_for_a_stale_owner_goes_into_the_ledger_and_changes_nothing(run: RunStore) -> None:
    samples.start(run, "host-1", 0)
    stale = run.acquire("host-1", 0)

    class Slow(Script):
        async def ask(
            self,
            request: Request,
            *,
            body: bytes | None = None,
            within_seconds: float | None = None,
        ) -> Reply:
            run.acquire("host-2", 60)
            return await super().ask(request, body=body, within_seconds=within_seconds)

    late = reply(PRICE, tag="late")
    model = Slow(FakeClock(), [late])
    with pytest.raises(LeaseLost):
        asyncio.run(session(run, stale, model).run())
    sessions = SessionStore(run)
    (kept,) = sessions.late_replies()
    assert (kept.key, kept.request, kept.owner, kept.epoch) == (KEY, 1, "host-1", stale.epoch)
    event = decode_event(kept.body)
    assert isinstance(event, Answered)
    assert event.reply == late
    before = sessions.events(KEY)
    assert [type(decode_event(body)).__name__ for body in before] == ["WindowOpened", "Asked"]

    status, again = play(run, run.acquire("host-2", 60), reply(SEAL, tag="own"))
    assert status is CompanyWindowStatus.SEALED
    assert len(again.asked) == 1
    assert len(sessions.late_replies()) == 1
    kinds = [type(decode_event(body)).__name__ for body in sessions.events(KEY)]
    assert kinds == [
        *("WindowOpened", "Asked", "Interrupted"),
        *("Asked", "Answered", "ToolReceipt", "Closed"),
    ]


def test_a_reply_that_comes_just_after_its_owner_became_a_stale_one_goes_there_too(
    run: RunStore,
) -> None:
    stale = samples.start(run, "host-1", 0)

    async def play() -> None:
        asked, answer = asyncio.Event(), asyncio.Event()

        class Waiting(Script):
            async def ask(
                self,
                request: Request,
                *,
                body: bytes | None = None,
                within_seconds: float | None = None,
            ) -> Reply:
                asked.set()
                await answer.wait()
                return await super().ask(request, body=body, within_seconds=within_seconds)

        class Patient(FakeClock):
            async def sleep(self, seconds: float) -> None:
                self.slept.append(seconds)
                await asyncio.Event().wait()

        playing = asyncio.create_task(session(run, stale, Waiting(Patient(), [reply(SEAL)])).run())
        await asked.wait()
        run.acquire("host-2", 60)
        playing.cancel()
        await asyncio.sleep(0)
        answer.set()
        with pytest.raises(asyncio.CancelledError):
            await playing

    asyncio.run(play())
    (kept,) = SessionStore(run).late_replies()
    assert (kept.request, kept.owner, kept.epoch) == (1, "host-1", stale.epoch)


@pytest.mark.parametrize(
    "event",
    [
        Failed(1.0, 1, REFUSED),
        WaitEnded(1.0),
        Asked(1.0, 1, "", 1),
        FinalizationBegan(1.0, "", ""),
        Closed(1.0, CompanyWindowStatus.SEALED, ""),
    ],
)
def test_nothing_but_replies_goes_into_the_ledger(run: RunStore, event: Failed) -> None:
    stale = samples.start(run, "host-1", 0)
    run.acquire("host-2", 60)
    journal = StoredJournal(SessionStore(run), stale, KEY, ignore)
    with pytest.raises(LeaseLost):
        journal.append(event)
    assert SessionStore(run).late_replies() == []


def test_a_run_that_only_changed_hands_stays_halted(run: RunStore) -> None:
    lease = samples.start(run, "host-1", 0)
    halted, model = play(run, lease, REFUSED)
    assert halted is CompanyWindowStatus.PROVIDER_ERROR
    assert len(model.asked) == 1
    again, model = play(run, run.acquire("host-2", 60))
    assert again is CompanyWindowStatus.PROVIDER_ERROR
    assert model.asked == []


def test_a_run_that_was_set_going_again_asks_again(run: RunStore) -> None:
    lease = samples.start(run, "host-1", 0)
    play(run, lease, reply(PRICE), REFUSED)
    for state in (RunState.STOPPED, RunState.QUEUED, RunState.RUNNING):
        run.set_status(lease, state, "a person")
    status, model = play(run, run.acquire("host-2", 60), reply(SEAL))
    assert status is CompanyWindowStatus.SEALED
    assert len(model.asked) == 1
    events = [decode_event(body) for body in SessionStore(run).events(KEY)]
    places = [type(event) for event in events]
    assert places.index(Resumed) == places.index(Halted) + 1


def test_a_commit_whose_answer_was_lost_is_not_done_again(
    run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = samples.start(run)
    commit, calls = SessionStore.append, 0

    def lost(self: SessionStore, *arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StoreError("The database went away before the commit.")
        commit(self, *arguments)
        if calls == 4:
            raise StoreError("The database went away after the commit.")

    monkeypatch.setattr(SessionStore, "append", lost)
    status, model = play(run, lease, reply(SEAL))
    assert status is CompanyWindowStatus.SEALED
    assert len(model.asked) == 1
    kinds = [type(decode_event(body)).__name__ for body in SessionStore(run).events(KEY)]
    assert kinds == ["WindowOpened", "Asked", "Answered", "ToolReceipt", "Closed"]


def test_a_reply_of_many_megabytes_is_kept_whole(run: RunStore) -> None:
    lease = samples.start(run)
    journal = StoredJournal(SessionStore(run), lease, KEY, ignore)
    whole = msgspec.structs.replace(reply(text="long"), native='"' + "é" * 3_000_000 + '"')
    journal.append(Answered(1.0, 1, whole))
    (event,) = StoredJournal(SessionStore(run), lease, KEY, ignore).load()
    assert isinstance(event, Answered)
    assert event.reply == whole
