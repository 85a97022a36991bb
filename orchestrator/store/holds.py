"""What people want to rest or to hurry below the level of a campaign, and the record of what they
did.

A hold is on a run or on a company-window. It stays until somebody lifts it, however often the run
is taken and left meanwhile. A fresh attempt that is hastened begins before its time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select

from manifests.errors import InputError
from orchestrator.store.attempt_keys import AttemptKey
from orchestrator.store.codec import read_member
from orchestrator.store.connection import CommitPoint, Database, DatabaseNow, repeated
from orchestrator.store.records import DesiredState, RunKey, Target
from orchestrator.store.schema import acts, hastened_attempts, run_holds, runs, window_holds


@dataclass(frozen=True, slots=True)
class Hold:
    """A run or a company-window is to rest: paused or stopped, and why."""

    desired: DesiredState
    reason: str


@dataclass(frozen=True, slots=True)
class CampaignHolds:
    """All holds of a campaign: of runs by run id, of company-windows by run id, world version and
    seat; and the fresh attempts that are hastened, by run id.
    """

    runs: Mapping[str, Hold]
    windows: Mapping[tuple[str, int, int], Hold]
    hastened: Mapping[str, frozenset[AttemptKey]]

    def keep(self, run_id: str, version: int) -> bool:
        """Whether a run that stands at a world version cannot go on for a hold."""
        return run_id in self.runs or any(
            (of_run, at) == (run_id, version) for of_run, at, _ in self.windows
        )

    def windows_of(self, run_id: str) -> dict[tuple[int, int], Hold]:
        """The holds on company-windows of one run, by world version and seat."""
        return {
            (version, seat): hold
            for (of_run, version, seat), hold in self.windows.items()
            if of_run == run_id
        }

    def hastened_in(self, run_id: str) -> frozenset[AttemptKey]:
        """The fresh attempts of one run that are to begin before their time."""
        return self.hastened.get(run_id, frozenset())


class Holds:
    """The holds of one store, and what is hastened in it. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeated
    def of(self, campaign: str) -> CampaignHolds:
        """The holds of a campaign as they stand."""
        with self._database.read() as connection:
            of_runs = connection.execute(
                select(runs.c.run_id, run_holds)
                .join(run_holds, run_holds.c.run == runs.c.run)
                .where(runs.c.campaign == campaign)
            )
            found_runs = {row.run_id: _hold(row) for row in of_runs}
            of_windows = connection.execute(
                select(runs.c.run_id, window_holds)
                .join(window_holds, window_holds.c.run == runs.c.run)
                .where(runs.c.campaign == campaign)
            )
            found_windows = {(row.run_id, row.version, row.seat): _hold(row) for row in of_windows}
            of_attempts = connection.execute(
                select(runs.c.run_id, hastened_attempts)
                .join(hastened_attempts, hastened_attempts.c.run == runs.c.run)
                .where(runs.c.campaign == campaign)
            )
            hastened: dict[str, set[AttemptKey]] = {}
            for row in of_attempts:
                key = AttemptKey(row.version, row.seat, row.attempt)
                hastened.setdefault(row.run_id, set()).add(key)
        by_run = {run_id: frozenset(keys) for run_id, keys in hastened.items()}
        return CampaignHolds(found_runs, found_windows, by_run)

    @repeated
    def set(self, target: Target, desired: DesiredState, reason: str) -> bool:
        """Hold a run or a company-window; whether anything changed. A change is recorded.

        Raises:
            InputError: there is no such run.
        """
        act = "pause" if desired is DesiredState.PAUSED else "stop"
        with self._database.write(CommitPoint.SET_HOLD) as connection:
            table, key, where = _place(connection, target)
            found = connection.scalar(select(table.c.desired).where(*where))
            if found == desired:
                return False
            connection.execute(delete(table).where(*where))
            connection.execute(
                insert(table).values(
                    **key, desired=desired, reason=reason, changed_at=DatabaseNow()
                )
            )
            record_act(connection, target, act, reason)
        return True

    @repeated
    def lift(self, target: Target, reason: str) -> bool:
        """Let a run or a company-window go on; whether it was held. Raises InputError as `set`."""
        with self._database.write(CommitPoint.SET_HOLD) as connection:
            table, _, where = _place(connection, target)
            if connection.execute(delete(table).where(*where)).rowcount == 0:
                return False
            record_act(connection, target, "resume", reason)
        return True

    @repeated
    def hasten(self, run: RunKey, attempt: AttemptKey, reason: str) -> bool:
        """Let a fresh attempt begin before its time; whether anything changed. A change is recorded
        as a retry of its company-window.

        Raises:
            InputError: there is no such run.
        """
        with self._database.write(CommitPoint.SET_HOLD) as connection:
            window = Target(*run, attempt.version, attempt.seat)
            place = {"run": _number(connection, window)} | attempt._asdict()
            table = hastened_attempts.c
            there = select(table.at).where(*(table[name] == part for name, part in place.items()))
            if connection.scalar(there) is not None:
                return False
            connection.execute(insert(hastened_attempts).values(**place, at=DatabaseNow()))
            record_act(connection, window, "retry", reason)
        return True

    @repeated
    def record(self, target: Target, act: str, reason: str) -> None:
        """Add something that a person did to the record."""
        with self._database.write(CommitPoint.SET_HOLD) as connection:
            record_act(connection, target, act, reason)


def record_act(connection: Connection, target: Target, act: str, reason: str) -> None:
    """Add to the record what a person did; part of the transaction that does it."""
    connection.execute(
        insert(acts).values(
            at=DatabaseNow(),
            campaign=target.campaign,
            act=act,
            target=str(target),
            reason=reason,
        )
    )


def _place(
    connection: Connection, target: Target
) -> tuple[Table, dict[str, int], list[ColumnElement[bool]]]:
    """The table that holds the target, and its key there."""
    key = {"run": _number(connection, target)}
    table = run_holds
    if target.version is not None and target.seat is not None:
        table = window_holds
        key |= {"version": target.version, "seat": target.seat}
    return table, key, [table.c[name] == value for name, value in key.items()]


def _number(connection: Connection, target: Target) -> int:
    """The number of the target's run. Raises InputError when there is none."""
    run: int | None = connection.scalar(
        select(runs.c.run)
        .where(runs.c.campaign == target.campaign, runs.c.run_id == target.run_id)
        # Of several people who act on one thing at once, each waits for the one before.
        .with_for_update()
    )
    if run is None:
        raise InputError(f"There is no {target}.", "`ceo-arena status --runs` lists the runs.")
    return run


def _hold(row: Any) -> Hold:
    return Hold(read_member(DesiredState, row.desired, "What is wanted of a run"), row.reason)
