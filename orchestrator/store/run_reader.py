"""One run as anybody may read it: how it stands, and every settled window."""

from collections.abc import Iterator
from itertools import pairwise
from threading import Lock
from typing import Final

from sqlalchemy import Column, Connection, select

from campaigns.records import CompanyOutcome
from engine.records import ActionReceipt, DayRecord
from orchestrator.lifecycle import RunState
from orchestrator.store import reading
from orchestrator.store.codec import read_member
from orchestrator.store.connection import moment, repeated
from orchestrator.store.homes import HeldRun, RunHome
from orchestrator.store.leases import LeaseState, LeaseTable
from orchestrator.store.records import (
    Checkpoint,
    CompanyWindow,
    RunKey,
    RunStatus,
    RunTransition,
    StoredCheckpoint,
    StoredCompanyDay,
    StoredDay,
    StoredReceipt,
)
from orchestrator.store.schema import (
    campaigns,
    checkpoints,
    company_days,
    company_exits,
    company_windows,
    days,
    outcomes,
    receipts,
    run_environments,
    run_leases,
    run_states,
    run_transitions,
)
from orchestrator.store.window_rows import read_outcome

_WINDOWS_A_PAGE: Final = 8
_DAYS_A_PAGE: Final = 56

RUN_LEASES: Final = LeaseTable(run_leases, run_leases.c.run)
"""Who plays which run."""


class RunReader:
    """One run, read. Reading is free for all, whoever holds the run, and needs no lease."""

    def __init__(self, key: RunKey, home: RunHome) -> None:
        self.key = key
        self._home = home
        self._held: HeldRun | None = None
        self._opening = Lock()

    @repeated
    def environments(self) -> list[tuple[int, bytes]]:
        """What each owner of the run plays, or played, it with: (epoch of its lease, canonical JSON
        of `fingerprints.environment`), in order.
        """
        held = self.held()
        if held is None:
            return []
        columns = run_environments.c
        query = select(columns.epoch, columns.content).where(columns.run == held.run)
        with held.database.read() as connection:
            return [tuple(row) for row in connection.execute(query.order_by(columns.epoch))]

    @repeated
    def status(self) -> RunStatus:
        """How the run stands."""
        held = self.held()
        if held is None:
            free = LeaseState(None, 0, 0.0)
            return RunStatus(
                key=self.key,
                status=RunState.PLANNED,
                reason="",
                world_version=0,
                day=0,
                exits={},
                lease=free,
                updated_at=None,
            )
        with held.database.read() as connection:
            state = connection.execute(select(run_states).where(run_states.c.run == held.run)).one()
            exits = connection.execute(
                select(company_exits.c.seat, company_exits.c.day)
                .where(company_exits.c.run == held.run)
                .order_by(company_exits.c.seat)
            )
            return RunStatus(
                key=self.key,
                status=self._state(state.status),
                reason=state.reason,
                world_version=state.world_version,
                day=state.day,
                exits={row.seat: row.day for row in exits},
                lease=RUN_LEASES.state(connection, held.run),
                updated_at=moment(state.updated_at),
            )

    @repeated
    def transitions(self) -> list[RunTransition]:
        """Every change of the run's status that was no settlement, in order."""
        held = self.held()
        if held is None:
            return []
        query = select(run_transitions).where(run_transitions.c.run == held.run)
        with held.database.read() as connection:
            return [
                RunTransition(moment(row.at), self._state(row.status), row.reason)
                for row in connection.execute(query.order_by(run_transitions.c.number))
            ]

    @repeated
    def window_seconds(self, windows: int) -> list[float]:
        """How long each of the last so many windows took to settle, in seconds, the latest first;
        pauses included.
        """
        held = self.held()
        if held is None:
            return []
        query = (
            select(checkpoints.c.committed_at)
            .where(checkpoints.c.run == held.run)
            .order_by(checkpoints.c.version.desc())
            .limit(windows + 1)
        )
        with held.database.read() as connection:
            moments = list(connection.scalars(query))
        return [(later - earlier) / 1000 for later, earlier in pairwise(moments)]

    @repeated
    def latest(self) -> Checkpoint | None:
        """The last stored boundary, or None before `begin`.

        Raises:
            IntegrityError: the stored state or records are not what was settled.
        """
        held = self.held()
        if held is None:
            return None
        with held.database.read() as connection:
            reached = select(run_states.c.world_version).where(run_states.c.run == held.run)
            return self._boundary(connection, held, connection.scalars(reached).one())

    @repeated
    def boundary(self, version: int) -> Checkpoint | None:
        """The boundary at a world version, or None when it is not stored; errors as `latest`."""
        held = self.held()
        if held is None:
            return None
        with held.database.read() as connection:
            return self._boundary(connection, held, version)

    @repeated
    def manifest_json(self) -> bytes | None:
        """The run's own copy of its manifest as stored, or None when the run was never taken."""
        held = self.held()
        if held is None:
            return None
        with held.database.read() as connection:
            content: bytes = connection.scalars(
                select(campaigns.c.manifest).where(campaigns.c.name == self.key.campaign)
            ).one()
            return content

    def company_windows(self) -> Iterator[CompanyWindow]:
        """All closed windows, by world version and seat."""
        return self._paged(company_windows.c.version, _WINDOWS_A_PAGE, reading.read_company_windows)

    def receipts(self) -> Iterator[StoredReceipt]:
        """All action receipts, by world version, seat and number."""
        return self._paged(receipts.c.version, _WINDOWS_A_PAGE, reading.read_receipts)

    def days(self) -> Iterator[StoredDay]:
        """All settled days."""
        return self._paged(days.c.day, _DAYS_A_PAGE, reading.read_days)

    def company_days(self) -> Iterator[StoredCompanyDay]:
        """All company-days, by day and seat."""
        return self._paged(company_days.c.day, _DAYS_A_PAGE, reading.read_company_days)

    @repeated
    def closing_cash(self, after: int) -> list[tuple[int, int, int]]:
        """The cash of every company at the end of each settled day after a day: (day, seat, cents),
        in order.
        """
        held = self.held()
        if held is None:
            return []
        columns = company_days.c
        query = (
            select(columns.day, columns.seat, columns.closing_cash_cents)
            .where(columns.run == held.run, columns.day > after)
            .order_by(columns.day, columns.seat)
        )
        with held.database.read() as connection:
            return [
                (row.day, row.seat, row.closing_cash_cents) for row in connection.execute(query)
            ]

    def day_records(self) -> Iterator[DayRecord]:
        """All settled days, companies included. Raises IntegrityError at one that was changed."""
        return self._paged(days.c.day, _DAYS_A_PAGE, reading.read_day_records)

    def checkpoints(self) -> Iterator[StoredCheckpoint]:
        """The world at every boundary, day 0 first."""
        return self._paged(checkpoints.c.version, _WINDOWS_A_PAGE, reading.read_checkpoints)

    @repeated
    def outcomes(self) -> list[CompanyOutcome]:
        """How each company ended, by seat; empty until the run is completed."""
        held = self.held()
        if held is None:
            return []
        with held.database.read() as connection:
            rows = connection.execute(
                select(outcomes).where(outcomes.c.run == held.run).order_by(outcomes.c.seat)
            )
            return [read_outcome(self.key, held.planned, tuple(row)) for row in rows]

    def close(self) -> None:
        """Close the files of this run; the next use opens them again."""
        with self._opening:
            self._home.close()
            self._held = None

    def held(self) -> HeldRun | None:
        """The run's rows and where they are, or None when it was never taken."""
        with self._opening:
            if self._held is None:
                self._held = self._home.find()
            return self._held

    def _boundary(self, connection: Connection, held: HeldRun, version: int) -> Checkpoint | None:
        first = max(version - 1, 0)
        stored = reading.read_checkpoints(connection, held.run, first, version + 1)
        if not stored or stored[-1].version != version:
            return None
        before, last = stored[0], stored[-1]
        elapsed = reading.read_day_records(connection, held.run, before.day + 1, last.day + 1)
        receipts: dict[int, list[ActionReceipt]] = {}
        for led_here in reading.read_receipts(connection, held.run, version - 1, version):
            receipts.setdefault(led_here.seat, []).append(led_here.receipt)
        return Checkpoint(last.version, last.day, last.world(), elapsed, receipts)

    def _paged(
        self, key: Column[int], span: int, fetch: reading.Fetch[reading.Item]
    ) -> Iterator[reading.Item]:
        held = self.held()
        if held is not None:
            yield from reading.paged(held.database, held.run, key, span, fetch)

    def _state(self, status: str) -> RunState:
        return read_member(RunState, status, f"The status of the {self.key}")
