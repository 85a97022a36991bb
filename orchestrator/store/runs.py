"""The durable state of one run: its lease, its status, and every settled window."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock
from typing import Final

from sqlalchemy import Column, Connection, bindparam, insert, select, update

from campaigns.records import CompanyOutcome
from engine.records import ActionReceipt, DayRecord
from engine.state import WorldState, encode_state, encoded_state_digest
from manifests.canonical import canonical_json
from manifests.errors import IntegrityError
from manifests.fingerprints import environment
from manifests.model import CampaignManifest
from orchestrator.lifecycle import RunState, check_run_settles, check_run_transition
from orchestrator.store import reading
from orchestrator.store.codec import read_member
from orchestrator.store.connection import (
    CommitPoint,
    DatabaseNow,
    insert_rows,
    moment,
    repeated,
)
from orchestrator.store.errors import WindowAlreadyCommitted, WindowConflict
from orchestrator.store.homes import HeldRun, RunHome
from orchestrator.store.leases import Lease, LeaseState, LeaseTable
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
    WindowCommit,
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
from orchestrator.store.window_rows import read_outcome, window_rows

_WINDOWS_A_PAGE: Final = 8
_DAYS_A_PAGE: Final = 56

_LEASES: Final = LeaseTable(run_leases, run_leases.c.run)

# Built once: they run at every window, and building costs more than running.
_FRONTIER: Final = (
    select(run_states.c.status, run_states.c.world_version, run_states.c.day)
    .join(
        checkpoints,
        (checkpoints.c.run == run_states.c.run)
        & (checkpoints.c.version == run_states.c.world_version),
    )
    .where(run_states.c.run == bindparam("of_run"))
)
_ADVANCE: Final = (
    update(run_states)
    .where(run_states.c.run == bindparam("of_run"))
    .values(
        status=bindparam("to_status"),
        world_version=bindparam("to_version"),
        day=bindparam("to_day"),
        updated_at=DatabaseNow(),
    )
)
_CHECKPOINT: Final = insert(checkpoints).values(
    run=bindparam("run"),
    version=bindparam("version"),
    day=bindparam("day"),
    state=bindparam("state"),
    state_digest=bindparam("state_digest"),
    epoch=bindparam("epoch"),
    committed_at=DatabaseNow(),
)


class RunStore:
    """One run. Reading is free for all; every write shows the lease and happens in one transaction,
    which raises LeaseLost and changes nothing when the lease is no longer the present one."""

    def __init__(self, key: RunKey, home: RunHome) -> None:
        self.key = key
        self._home = home
        self._held: HeldRun | None = None
        self._opening = Lock()

    @repeated
    def acquire(self, owner: str, seconds: float) -> Lease:
        """Become the one writer of the run, for `seconds` and then until somebody takes over.

        `owner` names one process in one life: who asks under the same name is the same.

        Raises:
            LeaseHeld: another owner has it.
        """
        with self._opening:
            held = self._held = self._held or self._home.make()
        with held.database.write(CommitPoint.ACQUIRE_RUN) as connection:
            lease = _LEASES.acquire(connection, held.run, str(self.key), owner, seconds)
            connection.execute(
                insert(run_environments).values(
                    run=held.run, epoch=lease.epoch, content=canonical_json(environment())
                )
            )
            return lease

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
    def renew(self, lease: Lease) -> None:
        """Keep the lease for its time from now on. Raises LeaseLost."""
        held = self._present()
        with held.database.write(CommitPoint.RENEW_RUN) as connection:
            _LEASES.renew(connection, held.run, str(self.key), lease)

    @repeated
    def release(self, lease: Lease) -> None:
        """Give the lease up; one that is lost or released already stays as it is."""
        held = self._present()
        with held.database.write(CommitPoint.RELEASE_RUN) as connection:
            _LEASES.release(connection, held.run, str(self.key), lease)

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
                lease=_LEASES.state(connection, held.run),
                updated_at=moment(state.updated_at),
            )

    def set_status(self, lease: Lease, status: RunState, reason: str) -> None:
        """Move the run to another status. It completes with its last window, not by this.

        Raises:
            IllegalTransition: `status` cannot follow the present one.
        """
        self.pass_through(lease, ((status, reason),))

    @repeated
    def pass_through(self, lease: Lease, steps: Sequence[tuple[RunState, str]]) -> None:
        """Move the run through several statuses, each with its reason, in one transaction; errors
        as `set_status`.
        """
        with self.fenced(lease, CommitPoint.SET_STATUS) as (connection, held):
            for status, reason in steps:
                self._step_to(connection, held, lease, status, reason)

    def _step_to(
        self, connection: Connection, held: HeldRun, lease: Lease, status: RunState, reason: str
    ) -> None:
        if status is RunState.COMPLETED:
            raise ValueError("a run is completed by the commit of its last window")
        of_run = run_states.c.run == held.run
        columns = (run_states.c.status, run_states.c.reason)
        found = connection.execute(select(*columns).where(of_run)).one()
        check_run_transition(str(self.key), self._state(found.status), status)
        if (found.status, found.reason) == (status, reason):
            return
        connection.execute(
            update(run_states)
            .where(of_run)
            .values(status=status, reason=reason, updated_at=DatabaseNow())
        )
        connection.execute(
            insert(run_transitions).values(
                run=held.run, at=DatabaseNow(), status=status, reason=reason, epoch=lease.epoch
            )
        )

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
    def begin(self, lease: Lease, state: WorldState) -> None:
        """Store the world at day 0; storing the same again does nothing.

        Raises:
            IntegrityError: the run began with another state.
        """
        content = encode_state(state)
        digest = encoded_state_digest(content)
        with self.fenced(lease, CommitPoint.BEGIN_RUN) as (connection, held):
            found = connection.scalar(
                select(checkpoints.c.state_digest).where(
                    checkpoints.c.run == held.run, checkpoints.c.version == 0
                )
            )
            if found is None:
                self._insert_checkpoint(connection, held, lease, state, content, digest)
            elif found != digest:
                raise IntegrityError(f"The {self.key} began with another state.")

    @repeated
    def commit_window(self, lease: Lease, commit: WindowCommit) -> None:
        """Store all that a barrier settles; with outcomes the run is completed.

        After a StoreError the commit may or may not have happened: `latest` tells.

        Raises:
            WindowAlreadyCommitted: it is stored already.
            WindowConflict: the run stands at another world version.
            NotRunning: the run is paused, stopped or completed.
            IntegrityError: the parts of the commit contradict each other or the run.
        """
        held = self._present()
        written = window_rows(held.run, self.key, held.planned, commit)
        status = RunState.RUNNING if commit.outcomes is None else RunState.COMPLETED
        point = CommitPoint.COMMIT_WINDOW if commit.outcomes is None else CommitPoint.COMPLETE_RUN
        with self.fenced(lease, point) as (connection, held):
            self._check_follows(connection, held, commit)
            for table, rows in written.rows:
                insert_rows(connection, table, rows)
            self._insert_checkpoint(
                connection, held, lease, commit.state, written.state, written.state_digest
            )
            connection.execute(
                _ADVANCE,
                {
                    "of_run": held.run,
                    "to_status": status,
                    "to_version": commit.state.version,
                    "to_day": commit.state.day,
                },
            )

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

    def manifest(self) -> CampaignManifest | None:
        """The decoded copy of the manifest.

        Raises:
            IntegrityError: it does not have its own plan hash.
        """
        content = self.manifest_json()
        if content is None:
            return None
        return CampaignManifest.from_json(content, f"The manifest stored with {self.key}")

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

    def _present(self) -> HeldRun:
        held = self.held()
        if held is None:
            raise ValueError(f"the {self.key} was never taken, so that no lease on it can exist")
        return held

    def _paged(
        self, key: Column[int], span: int, fetch: reading.Fetch[reading.Item]
    ) -> Iterator[reading.Item]:
        held = self.held()
        if held is not None:
            yield from reading.paged(held.database, held.run, key, span, fetch)

    @contextmanager
    def fenced(self, lease: Lease, point: CommitPoint) -> Iterator[tuple[Connection, HeldRun]]:
        """A transaction of the lease's holder. Raises LeaseLost, and then changes nothing."""
        held = self._present()
        with held.database.write(point) as connection:
            _LEASES.check(connection, held.run, str(self.key), lease)
            yield connection, held

    def _state(self, status: str) -> RunState:
        return read_member(RunState, status, f"The status of the {self.key}")

    def _check_follows(self, connection: Connection, held: HeldRun, commit: WindowCommit) -> None:
        frontier = connection.execute(_FRONTIER, {"of_run": held.run}).one_or_none()
        if frontier is None:
            raise ValueError(f"the {self.key} has not begun")
        found, offered = frontier.world_version, commit.version_before
        if found == offered + 1:
            raise WindowAlreadyCommitted(str(self.key), found, offered)
        if found != offered or commit.days[0].day != frontier.day + 1:
            raise WindowConflict(str(self.key), found, offered)
        check_run_settles(str(self.key), self._state(frontier.status))

    def _insert_checkpoint(
        self,
        connection: Connection,
        held: HeldRun,
        lease: Lease,
        state: WorldState,
        content: bytes,
        digest: str,
    ) -> None:
        connection.execute(
            _CHECKPOINT,
            {
                "run": held.run,
                "version": state.version,
                "day": state.day,
                "state": content,
                "state_digest": digest,
                "epoch": lease.epoch,
            },
        )
