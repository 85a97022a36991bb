"""One run as its owner writes it: the lease, the status, and the commit of a window."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from engine.state import WorldState, encode_state, encoded_state_digest
from manifests.canonical import canonical_json
from manifests.errors import IntegrityError
from manifests.fingerprints import environment
from orchestrator.lifecycle import RunState, check_run_settles, check_run_transition
from orchestrator.owners import left_behind
from orchestrator.store.connection import CommitPoint, DatabaseNow, insert_rows, repeated
from orchestrator.store.errors import WindowAlreadyCommitted, WindowConflict
from orchestrator.store.homes import HeldRun
from orchestrator.store.leases import Lease
from orchestrator.store.records import WindowCommit
from orchestrator.store.run_reader import RUN_LEASES, RunReader
from orchestrator.store.schema import (
    checkpoints,
    run_environments,
    run_states,
    run_transitions,
)
from orchestrator.store.window_rows import window_rows

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


class RunStore(RunReader):
    """One run. Every write shows the lease and happens in one transaction, which raises LeaseLost
    and changes nothing when the lease is no longer the present one.
    """

    @repeated
    def acquire(self, owner: str, seconds: float, ended: str | None = None) -> Lease:
        """Become the one writer of the run, for `seconds` and then until somebody takes over.

        `owner` names one process in one life: who asks under the same name is the same. Nobody
        waits for one that has `ended`. That the owner of a running run did not give it up is added
        to the history of the run: what kept it from going on may have kept it from saying so.

        Raises:
            LeaseHeld: another owner has it.
        """
        with self._opening:
            held = self._held = self._held or self._home.make()
        with held.database.write(CommitPoint.ACQUIRE_RUN) as connection:
            before = RUN_LEASES.state(connection, held.run).owner
            lease = RUN_LEASES.acquire(connection, held.run, str(self.key), owner, seconds, ended)
            if before not in (None, owner):
                self._note_left_behind(connection, held, lease, before)
            connection.execute(
                insert(run_environments).values(
                    run=held.run, epoch=lease.epoch, content=canonical_json(environment())
                )
            )
            return lease

    @repeated
    def renew(self, lease: Lease) -> None:
        """Keep the lease for its time from now on. Raises LeaseLost."""
        held = self._present()
        with held.database.write(CommitPoint.RENEW_RUN) as connection:
            RUN_LEASES.renew(connection, held.run, str(self.key), lease)

    @repeated
    def release(self, lease: Lease) -> None:
        """Give the lease up; one that is lost or released already stays as it is."""
        held = self._present()
        with held.database.write(CommitPoint.RELEASE_RUN) as connection:
            RUN_LEASES.release(connection, held.run, str(self.key), lease)

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
                raise IntegrityError(
                    f"The {self.key} began with another state.",
                    "Go on with the package that its manifest binds.",
                )

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

    @contextmanager
    def fenced(self, lease: Lease, point: CommitPoint) -> Iterator[tuple[Connection, HeldRun]]:
        """A transaction of the lease's holder. Raises LeaseLost, and then changes nothing."""
        held = self._present()
        with held.database.write(point) as connection:
            RUN_LEASES.check(connection, held.run, str(self.key), lease)
            yield connection, held

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
        self._insert_transition(connection, held, lease, status, reason)

    def _note_left_behind(
        self, connection: Connection, held: HeldRun, lease: Lease, owner: str
    ) -> None:
        status = connection.scalar(select(run_states.c.status).where(run_states.c.run == held.run))
        if status == RunState.RUNNING:
            self._insert_transition(connection, held, lease, RunState.RUNNING, left_behind(owner))

    def _insert_transition(
        self, connection: Connection, held: HeldRun, lease: Lease, status: RunState, reason: str
    ) -> None:
        connection.execute(
            insert(run_transitions).values(
                run=held.run, at=DatabaseNow(), status=status, reason=reason, epoch=lease.epoch
            )
        )

    def _present(self) -> HeldRun:
        held = self.held()
        if held is None:
            raise ValueError(f"the {self.key} was never taken, so that no lease on it can exist")
        return held

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
