"""Failures and fresh attempts of a run's company-windows, in the run's database.

Both tables only grow. An attempt that a fresh one replaced keeps its rows, under its own number;
with the fresh one its archive is stored, by whose digests it can be told that nothing of it has
changed since.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Select, func, insert, select

from manifests.errors import GO_ON, IntegrityError
from orchestrator.lifecycle import CompanyWindowStatus, check_company_window_transition
from orchestrator.store.attempt_keys import AttemptKey
from orchestrator.store.codec import read_member
from orchestrator.store.connection import CommitPoint, DatabaseNow, moment, repeated
from orchestrator.store.homes import HeldRun
from orchestrator.store.leases import Lease
from orchestrator.store.runs import RunStore
from orchestrator.store.schema import failures, fresh_attempts, run_states
from orchestrator.store.session_reader import SessionReader
from orchestrator.supervisor import FRESH_ATTEMPTS, wait_seconds

SUPERVISOR: Final = "supervisor"
"""Who grants an attempt that no person asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailure:
    """A failure of an attempt, and what the supervisor made of it; `ordinal` is that of its event.

    `verdict` is `fresh attempt N`, `waits for a person` or `no attempt`.
    """

    key: AttemptKey
    ordinal: int
    status: CompanyWindowStatus
    cause: str
    needs_person: bool
    reason: str
    verdict: str
    verdict_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFailure(AttemptFailure):
    """A failure as it was recorded."""

    failed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshGrant:
    """A fresh attempt, numbered from 1.

    `granted_by` is the supervisor or who asked for it. `files_digest` is that of the private files
    with which it begins, `carried` the encoded usage with which it does, `archive` the encoded
    archive of the attempt before it.
    """

    key: AttemptKey
    granted_by: str
    reason: str
    files_digest: str
    carried: bytes
    archive: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttempt(FreshGrant):
    """A fresh attempt as it was granted, `age_seconds` ago when it was read."""

    granted_at: datetime
    age_seconds: float = field(compare=False)

    @property
    def due_at(self) -> datetime:
        """When it may begin, by the database's clock."""
        return self.granted_at + timedelta(seconds=self._wait_seconds)

    @property
    def due_in_seconds(self) -> float:
        """How long it has still to wait; never longer than in all, whatever the clock did."""
        return min(max(self._wait_seconds - self.age_seconds, 0.0), self._wait_seconds)

    @property
    def _wait_seconds(self) -> float:
        return wait_seconds(self.key.attempt, by_person=self.granted_by != SUPERVISOR)


class AttemptStore:
    """The failures and fresh attempts of one run. Reading is free for all."""

    def __init__(self, run: RunStore) -> None:
        self._run = run

    @repeated
    def failures(self) -> list[StoredFailure]:
        """All failures, in the order in which they came."""
        query = select(failures).order_by(failures.c.number)
        held = self._run.held()
        if held is None:
            return []
        with held.database.read() as connection:
            rows = connection.execute(query.where(failures.c.run == held.run)).all()
        return [
            StoredFailure(
                key=AttemptKey(row.version, row.seat, row.attempt),
                ordinal=row.ordinal,
                status=read_member(
                    CompanyWindowStatus, row.status, f"The status of failure {row.number}"
                ),
                cause=row.cause,
                needs_person=row.needs_person,
                reason=row.reason,
                verdict=row.verdict,
                verdict_reason=row.verdict_reason,
                failed_at=moment(row.failed_at),
            )
            for row in rows
        ]

    @repeated
    def fresh(self, version: int | None = None, seat: int | None = None) -> list[StoredAttempt]:
        """All fresh attempts by world version, seat and number, or some of them."""
        held = self._run.held()
        if held is None:
            return []
        with held.database.read() as connection:
            return [
                StoredAttempt(
                    key=AttemptKey(row.version, row.seat, row.attempt),
                    granted_by=row.granted_by,
                    reason=row.reason,
                    files_digest=row.files_digest,
                    carried=row.carried,
                    archive=row.archive,
                    granted_at=moment(row.granted_at),
                    age_seconds=row.age / 1000,
                )
                for row in connection.execute(_fresh(held, version, seat))
            ]

    def not_begun(self, version: int) -> list[StoredAttempt]:
        """The fresh attempts at a world version in which nothing has happened yet, by seat."""
        begun = {latest.key for latest in SessionReader(self._run).latest(version)}
        newest = {fresh.key.seat: fresh for fresh in self.fresh(version)}
        return [fresh for _, fresh in sorted(newest.items()) if fresh.key not in begun]

    def present(self, version: int, seat: int) -> StoredAttempt | None:
        """The fresh attempt that stands now; None while it is the original one."""
        found = self.fresh(version, seat)
        return found[-1] if found else None

    @repeated
    def record(self, lease: Lease, failure: AttemptFailure, fresh: FreshGrant | None) -> None:
        """Store a failure and the fresh attempt that follows it, in one transaction; storing the
        same again does nothing.

        Raises:
            LeaseLost: nothing is written.
            IllegalTransition: no fresh attempt can follow the status.
            IntegrityError: the fresh attempt is not the next one.
        """
        with self._run.fenced(lease, CommitPoint.RECORD_FAILURE) as (connection, held):
            self._insert_failure(connection, held, lease, failure)
            if fresh is not None:
                self._insert_fresh(connection, held, lease, failure, fresh)

    def _insert_failure(
        self, connection: Connection, held: HeldRun, lease: Lease, failure: AttemptFailure
    ) -> None:
        table = failures.c
        there = select(table.number).where(
            table.run == held.run,
            table.version == failure.key.version,
            table.seat == failure.key.seat,
            table.attempt == failure.key.attempt,
            table.ordinal == failure.ordinal,
        )
        if connection.scalar(there) is not None:
            return
        connection.execute(
            insert(failures).values(
                run=held.run,
                **failure.key._asdict(),
                ordinal=failure.ordinal,
                status=failure.status,
                cause=failure.cause,
                needs_person=failure.needs_person,
                reason=failure.reason,
                verdict=failure.verdict,
                verdict_reason=failure.verdict_reason,
                epoch=lease.epoch,
                failed_at=DatabaseNow(),
            )
        )

    def _insert_fresh(
        self,
        connection: Connection,
        held: HeldRun,
        lease: Lease,
        failure: AttemptFailure,
        fresh: FreshGrant,
    ) -> None:
        key = fresh.key
        subject = f"The window of company-{key.seat} at world version {key.version}"
        check_company_window_transition(subject, failure.status, CompanyWindowStatus.OPEN)
        last = connection.scalar(
            select(func.max(fresh_attempts.c.attempt)).where(
                fresh_attempts.c.run == held.run,
                fresh_attempts.c.version == key.version,
                fresh_attempts.c.seat == key.seat,
            )
        )
        if last == key.attempt:
            return
        reached = connection.scalar(
            select(run_states.c.world_version).where(run_states.c.run == held.run)
        )
        if reached != key.version:
            raise IntegrityError(
                f"{subject} in {self._run.key} is settled: it cannot be reopened.", GO_ON
            )
        if key.attempt != (last or 0) + 1 or key.attempt > FRESH_ATTEMPTS:
            raise IntegrityError(
                f"{subject} in {self._run.key} has {last or 0} fresh attempts; number "
                f"{key.attempt} cannot follow.",
                GO_ON,
            )
        connection.execute(
            insert(fresh_attempts).values(
                run=held.run,
                **key._asdict(),
                granted_by=fresh.granted_by,
                reason=fresh.reason,
                files_digest=fresh.files_digest,
                carried=fresh.carried,
                archive=fresh.archive,
                epoch=lease.epoch,
                granted_at=DatabaseNow(),
            )
        )


def _fresh(held: HeldRun, version: int | None, seat: int | None) -> Select[Any]:
    table = fresh_attempts.c
    age = DatabaseNow() - table.granted_at
    query = select(fresh_attempts, age.label("age")).where(table.run == held.run)
    if version is not None:
        query = query.where(table.version == version)
    if seat is not None:
        query = query.where(table.seat == seat)
    return query.order_by(table.version, table.seat, table.attempt)
