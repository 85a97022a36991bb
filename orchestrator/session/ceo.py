"""A language model in a seat: one session a window, on the run's journal (interface.md)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

from engine.records import CompanyDay
from engine.scenario import Scenario
from manifests.errors import DEFECT, IntegrityError, StoreError
from orchestrator.ceos import Closed, Window
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session import sql
from orchestrator.session.allowance import Allowance
from orchestrator.session.briefing import briefing
from orchestrator.session.desk import Desk
from orchestrator.session.events import (
    Answered,
    Asked,
    Event,
    Failed,
    ToolReceipt,
    decode_event,
    encode_event,
    kind_of,
)
from orchestrator.session.files import PrivateFiles
from orchestrator.session.looking import waited_out
from orchestrator.session.loop import Gate, Opening, Session, sealed_decision
from orchestrator.session.prompt import system_prompt
from orchestrator.session.recovery import Recovery, told
from orchestrator.session.sql import Parameters, QueryRefused, QueryResult, QueryWorkers
from orchestrator.session.state import SessionState
from orchestrator.session.tools.context import ToolContext
from orchestrator.store import (
    AttemptKey,
    FileVersion,
    Lease,
    LeaseLost,
    Price,
    SessionStore,
    StoredAttempt,
)
from orchestrator.supervisor import FAILED, FreshAttempt
from providers.contract import Provider

MEMORY: str = "MEMORY.md"


class SystemClock:
    """The machine's time."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class StoredJournal:
    """The journal of one attempt in the run's database; `heard` is told what was committed."""

    def __init__(
        self,
        store: SessionStore,
        lease: Lease,
        key: AttemptKey,
        heard: Callable[[Event], None],
    ) -> None:
        self._store = store
        self._lease = lease
        self._key = key
        self._heard = heard
        self._next = 0

    def load(self) -> list[Event]:
        """All events so far, in order."""
        bodies = self._store.events(self._key)
        self._next = len(bodies)
        return [decode_event(body) for body in bodies]

    def append(self, event: Event, microdollars: int | None = None) -> None:
        """Commit one event and the file that it wrote.

        A reply that comes when the lease is lost was paid for all the same: it goes into the ledger
        of late replies. An event whose commit failed may be tried again: the store knows whether it
        was done before its answer was lost.
        """
        file = None
        if isinstance(event, ToolReceipt) and event.file_change is not None:
            change = event.file_change
            file = FileVersion(change.path, change.version, change.content)
        price = None
        if microdollars is not None and isinstance(event, Asked | Answered | Failed):
            price = Price(event.ordinal, microdollars, isinstance(event, Asked))
        body = encode_event(event)
        kind = kind_of(event)
        try:
            self._store.append(self._lease, self._key, self._next, kind, body, file, price)
        except LeaseLost:
            if isinstance(event, Answered):
                # That the lease is lost matters more than a ledger that cannot be written.
                with suppress(StoreError):
                    self._store.keep_late_reply(self._lease, self._key, event.ordinal, body)
            raise
        self._next += 1
        self._heard(event)

    def has_rested(self) -> bool:
        """Whether the run was at rest since the last event."""
        return self._store.has_rested_since(self._key, self._next - 1)


@dataclass(frozen=True, slots=True)
class ModelSeat:
    """A model in a seat: under which identity it decides, what it may use, the gate before its
    route, made for an attempt by the owner of an epoch that can tell whether the run is to rest,
    and who hears what it does.
    """

    seat: int
    identity: str
    provider: Provider
    allowance: Allowance
    gate: Callable[[AttemptKey, int, Callable[[], bool]], Gate]
    heard: Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of a host for what takes long, so that nothing short waits behind it: queries, and
    opening books.
    """

    queries: Executor
    books: Executor


class ModelCeo:
    """A model in a seat of a run that this process owns."""

    def __init__(
        self,
        seat: ModelSeat,
        scenario: Scenario,
        store: SessionStore,
        lease: Lease,
        workers: QueryWorkers,
        threads: Threads,
        desk: Desk,
        recovery: Recovery,
    ) -> None:
        self.identity = seat.identity
        self._seat = seat
        self._scenario = scenario
        self._store = store
        self._lease = lease
        self._workers = workers
        self._threads = threads
        self._desk = desk
        self._recovery = recovery
        self._open: Session | None = None
        self._key: AttemptKey | None = None

    async def decide(self, window: Window) -> Closed:
        """Hold the session of one window until it closes; what the model sealed, if it did.

        An attempt that failed by time or protocol is followed by the fresh ones that the supervisor
        grants, each after its wait, which is not active time and which a person can end. After a
        provider error the window stays as it is until the run goes on.

        Raises LeaseLost and StoreError; the journal then says where the next owner goes on.
        """
        loop = asyncio.get_running_loop()
        preceding = await loop.run_in_executor(self._threads.books, self._desk.preceding, window)
        while True:
            if not await self._is_due(window):
                return Closed(CompanyWindowStatus.OPEN, None, "the run is to rest")
            status, reason, state = await self._attempt(window, preceding)
            if status not in FAILED:
                return self._closed(window, status, reason, state)
            verdict = await asyncio.to_thread(
                self._recovery.carry_out, self._lease, window.state.version, self._seat.seat
            )
            fresh = isinstance(verdict, FreshAttempt)
            if status is CompanyWindowStatus.PROVIDER_ERROR:
                # The run stops first: what ails a provider ails the next attempt as well.
                return Closed(status, None, f"{reason} {told(verdict)}", recovers=fresh)
            if not fresh:
                return Closed(status, None, reason)

    async def _is_due(self, window: Window) -> bool:
        """Wait until a fresh attempt may begin; False when the run is to rest before."""
        attempt, left = await asyncio.to_thread(
            self._recovery.waiting, window.state.version, self._seat.seat
        )

        def is_over() -> bool:
            return window.stopping() or window.hastened(attempt)

        if left <= 0:
            return True
        await waited_out(left, is_over, SystemClock())
        return not window.stopping()

    async def _attempt(
        self, window: Window, preceding: Sequence[CompanyDay]
    ) -> tuple[CompanyWindowStatus, str, SessionState]:
        """Hold the session of the present attempt; how it stands then, why, and its state."""
        version, seat = window.state.version, self._seat.seat
        key, fresh, stored, beaten = await asyncio.to_thread(self._stored, version, seat)
        files = PrivateFiles.of(stored)
        if fresh is not None and fresh.files_digest != files.digest:
            raise IntegrityError(
                f"The private files of {window.observation.company_id} are not those with which "
                f"attempt {key.attempt} at world version {version} was to begin.",
                "Put back the database that belongs to the run.",
            )
        memory, used = stored.get(MEMORY), self._recovery.carried(fresh)
        opening = Opening(
            system_prompt(),
            briefing(
                window.observation,
                window.receipts,
                preceding,
                self._seat.allowance,
                None if memory is None else memory[0],
                used,
            ),
            self._seat.allowance,
            files,
            self._store.name_of(key),
            used,
        )
        session = Session(
            opening,
            StoredJournal(self._store, self._lease, key, self._seat.heard),
            self._seat.provider,
            self._seat.gate(key, self._lease.epoch, window.stopping),
            lambda state: self._context(window, state),
            SystemClock(),
            random.random,
            window.stopping,
            self._threads.queries,
            beaten / 1000,
        )
        self._open, self._key = session, key
        try:
            status, reason = await session.run()
        finally:
            self._open = None
        if status is CompanyWindowStatus.OPEN:
            # What was used since the last event would be forgotten otherwise.
            used_now = {key: _milliseconds(session)}
            await asyncio.to_thread(self._store.beat, self._lease, used_now)
        return status, reason, session.state

    def _stored(
        self, version: int, seat: int
    ) -> tuple[AttemptKey, StoredAttempt | None, dict[str, tuple[str, int]], int]:
        """The present attempt at a window and its grant if it is a fresh one, the files with which
        the window opened, and the active milliseconds of the attempt's last heartbeat.
        """
        key, fresh = self._recovery.present(version, seat)
        files = self._store.files_before(seat, version)
        return key, fresh, files, self._store.beaten_milliseconds(key)

    def _closed(
        self, window: Window, status: CompanyWindowStatus, reason: str, state: SessionState
    ) -> Closed:
        if status is not CompanyWindowStatus.SEALED:
            return Closed(status, None, reason)
        company = window.observation.company_id
        decision = sealed_decision(state, company, window.state.version)
        if decision is None:
            raise IntegrityError(f"The session of {company} sealed without a decision.", DEFECT)
        return Closed(status, decision)

    def beat(self) -> dict[AttemptKey, int]:
        """The active time of the open attempt, for the heartbeat; empty between windows."""
        if self._open is None or self._key is None:
            return {}
        return {self._key: _milliseconds(self._open)}

    def _context(self, window: Window, state: SessionState) -> ToolContext:
        def query(
            statement: str, parameters: Parameters | None, rows: int | None
        ) -> QueryResult | QueryRefused:
            try:
                books = self._desk.books(window)
                return sql.query(self._workers, books, statement, parameters, rows)
            except StoreError:
                books = self._desk.made_again(window)
                return sql.query(self._workers, books, statement, parameters, rows)

        return ToolContext(
            self._scenario,
            window.state,
            self._seat.seat,
            state.draft,
            state.files,
            query,
            finalizing=state.final,
        )


def _milliseconds(session: Session) -> int:
    return round(session.active_seconds() * 1000)
