"""Fresh attempts that a person asks for, and what that person is told (runtime.md section 4).

Who asks answers for what had to be put right. Where the supervisor has granted an attempt already
that waits for its time, it need not wait: that is noted beside the runs, because whoever plays one
has its lease.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from campaigns.plan import PlannedRun
from manifests.errors import InputError
from orchestrator.bound import bound_plan, execution_limits
from orchestrator.chosen import chosen_runs
from orchestrator.lifecycle import WAITING_FOR_A_PERSON, CompanyWindowStatus, RunState
from orchestrator.owners import own_name, shown
from orchestrator.session.recovery import RESUME_HELPS, Considered, Recovery
from orchestrator.status.progress import holder_of
from orchestrator.store import (
    AttemptKey,
    LeaseHeld,
    RunKey,
    RunStore,
    SessionReader,
    Store,
    Target,
)
from orchestrator.supervisor import FAILED, FreshAttempt, WaitForPerson
from orchestrator.tenure import tenure_of_run


@dataclass(frozen=True, slots=True)
class Which:
    """Which company-windows are meant; None is any."""

    run_id: str | None = None
    version: int | None = None
    seat: int | None = None
    candidate: str | None = None
    status: CompanyWindowStatus | None = None


@dataclass(frozen=True, slots=True)
class Retried:
    """What a retry finds, or did: `eligible` says whether a fresh attempt may follow or follows, or
    one that waits need wait no longer; `reason` why, `attempt` its index, or that of one which was
    granted before and has not begun.
    """

    target: Target
    candidate: str
    status: CompanyWindowStatus
    eligible: bool
    attempt: int | None
    reason: str

    @property
    def has_failed(self) -> bool:
        """Whether its present attempt has failed; else it is at work, waits, or has closed."""
        return self.status in FAILED

    @property
    def concerns_a_person(self) -> bool:
        """Whether a person may want to know of it unasked: it failed, rests, or has a fresh attempt
        that has not begun.
        """
        at_ease = (
            CompanyWindowStatus.OPEN,
            CompanyWindowStatus.SEALED,
            CompanyWindowStatus.BUDGET_EXHAUSTED,
        )
        return self.eligible or self.attempt is not None or self.status not in at_ease

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON."""
        return {
            "run": self.target.run_id,
            "world_version": self.target.version,
            "seat": self.target.seat,
            "candidate": self.candidate,
            "status": self.status.value,
            "eligible": self.eligible,
            "attempt": self.attempt,
            "reason": self.reason,
        }


class Retrying:
    """Retries failed company-windows of one campaign."""

    def __init__(self, store: Store, campaign: str) -> None:
        self._store = store
        self._campaign = campaign
        manifest = store.catalogue.manifest_in_force(campaign)
        self._policy = bound_plan(manifest).definition.recovery
        self._lease_seconds = execution_limits(manifest).lease_seconds

    def retry(self, which: Which, reason: str, *, dry_run: bool) -> list[Retried]:
        """Give failed company-windows a fresh attempt, or say which may have one.

        A person who asks answers for what had to be put right. Runs all of whose failed windows
        have one go back to the queue. A fresh attempt that waits for its time begins at once.

        Raises:
            InputError: there is no such run, seat or candidate.
        """
        rows = []
        for planned in self._meant(which):
            run = self._store.run(RunKey(self._campaign, planned.run_id))
            try:
                rows += self._retry_in(run, planned.lineup, which, reason, dry_run=dry_run)
            finally:
                run.close()
        return rows

    def _meant(self, which: Which) -> list[PlannedRun]:
        """The runs that are meant, one of which seats a candidate that is named."""
        rows = chosen_runs(self._store.catalogue, self._campaign, which.run_id, which.seat)
        runs = [row.planned for row in rows]
        seated = {candidate for run in runs for candidate in run.lineup}
        if which.candidate is not None and which.candidate not in seated:
            raise InputError(
                f'No run seats a candidate "{which.candidate}".',
                f"There are: {', '.join(sorted(seated))}.",
            )
        return runs

    def _retry_in(
        self, run: RunStore, lineup: tuple[str, ...], which: Which, reason: str, *, dry_run: bool
    ) -> list[Retried]:
        recovery, found = Recovery(run, self._policy), []
        for early, row in self._rows(run, recovery, lineup, which):
            found.append(row)
            if early is not None and not dry_run:
                self._hasten(run.key, early, reason)
        player = holder_of(run.status().lease)
        if player is not None:
            return _while_played(found, player)
        failed = [row for row in found if row.eligible and row.has_failed]
        if dry_run or not failed:
            return found
        try:
            self._grant(run, recovery, failed, reason)
        except LeaseHeld as held:
            return _while_played(found, shown(held.owner))
        return found

    def _rows(
        self, run: RunStore, recovery: Recovery, lineup: tuple[str, ...], which: Which
    ) -> Iterator[tuple[AttemptKey | None, Retried]]:
        """The windows of a run that are meant, each with its attempt if that waits for its time."""
        hastened = self._store.holds.of(self._campaign).hastened_in(run.key.run_id)
        for version, seat in _windows_of(run, which.version):
            candidate = lineup[seat - 1]
            if which.seat not in (None, seat) or which.candidate not in (None, candidate):
                continue
            found = recovery.consider(version, seat, by_person=True)
            if which.status in (None, found.standing.status):
                early = found.key if _waits(found) and found.key not in hastened else None
                target = Target(*run.key, version, seat)
                yield early, _row(target, candidate, found, is_early=early is not None)

    def _hasten(self, run: RunKey, attempt: AttemptKey, reason: str) -> None:
        """Let a fresh attempt that waits begin at once, whoever plays the run."""
        self._store.holds.hasten(run, attempt, reason)
        self._store.controls.resolve(self._campaign)

    def _grant(self, run: RunStore, recovery: Recovery, rows: list[Retried], reason: str) -> None:
        lease = asyncio.run(tenure_of_run(run, self._lease_seconds).take_unless_kept())
        person = shown(own_name()).partition(",")[0]
        try:
            for row in rows:
                assert row.target.version is not None
                assert row.target.seat is not None
                recovery.carry_out(lease, row.target.version, row.target.seat, person)
                self._store.holds.record(row.target, "retry", reason)
            self._store.controls.resolve(self._campaign)
            if _may_go_on(run, recovery):
                run.set_status(lease, RunState.QUEUED, "")
        finally:
            run.release(lease)


def _windows_of(run: RunStore, version: int | None) -> Iterator[tuple[int, int]]:
    """The world version and seat of each window that models decide; of a version, or where the run
    stands.
    """
    at = run.status().world_version if version is None else version
    keys: list[AttemptKey] = SessionReader(run).attempts()
    yield from sorted({(key.version, key.seat) for key in keys if key.version == at})


def _may_go_on(run: RunStore, recovery: Recovery) -> bool:
    """Whether a run that rests has no failed window left for which a person must act."""
    status = run.status()
    if status.status not in WAITING_FOR_A_PERSON:
        return False
    return all(
        recovery.consider(*place, by_person=True).standing.status
        is not CompanyWindowStatus.PROVIDER_ERROR
        for place in _windows_of(run, None)
    )


def _waits(found: Considered) -> bool:
    """Whether a fresh attempt has still to wait for its time."""
    fresh = found.fresh
    if fresh is None or found.bodies or found.standing.settled:
        return False
    return fresh.due_in_seconds > 0


def _row(target: Target, candidate: str, found: Considered, *, is_early: bool) -> Retried:
    verdict, failure = found.verdict, found.standing.failure
    attempt = found.key.attempt if found.key.attempt and not found.bodies else None
    reason = verdict.reason
    if failure is not None and isinstance(verdict, WaitForPerson):
        reason = f"{reason}; {RESUME_HELPS}"
    if isinstance(verdict, FreshAttempt):
        assert failure is not None, "a fresh attempt follows a failure"
        attempt, reason = verdict.number, failure.reason
    elif is_early:
        assert found.fresh is not None, "a fresh attempt waits"
        due = f"{found.fresh.due_at:%Y-%m-%d %H:%M:%S} UTC"
        reason = f"its fresh attempt {attempt} need not wait until {due}"
    return Retried(
        target,
        candidate,
        found.standing.status,
        eligible=isinstance(verdict, FreshAttempt) or is_early,
        attempt=attempt,
        reason=reason,
    )


def _while_played(rows: list[Retried], player: str) -> list[Retried]:
    """The rows of a run that somebody plays: it stops by itself when all have closed."""
    reason = f"its run is being played by {player}: its peers still decide"
    return [
        replace(row, eligible=False, attempt=None, reason=reason)
        if row.eligible and row.has_failed
        else row
        for row in rows
    ]
