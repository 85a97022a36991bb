"""What a person does to a campaign, a run or a company-window: pause, resume, stop, retry.

Every act goes to the store and nowhere else, with its time and reason; the scheduler and the hosts
react to what they find there, whoever runs them and wherever. Doing a thing again does no harm, and
says so.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from campaigns.plan import PlannedRun
from engine.decision import company_name
from manifests.errors import InputError
from manifests.model import CampaignManifest
from orchestrator.bound import bound_plan, bound_scenario, execution_limits
from orchestrator.chosen import check_seat, chosen_runs, version_on
from orchestrator.lifecycle import WAITING_FOR_A_PERSON, CompanyWindowStatus, RunState
from orchestrator.owners import own_name, shown
from orchestrator.session.recovery import Considered, Recovery
from orchestrator.status.barriers import due_in_seconds
from orchestrator.status.progress import ProgressReader, holder_of
from orchestrator.store import (
    AttemptKey,
    DesiredState,
    LeaseHeld,
    RunKey,
    RunStore,
    SessionReader,
    Store,
    Target,
)
from orchestrator.supervisor import FAILED, FreshAttempt
from orchestrator.tenure import queue_again, tenure_of_run

_ACTS: Final = {
    DesiredState.PAUSED: ("pause", "pauses"),
    DesiredState.STOPPED: ("stop", "stops"),
}

# Twice as long as a host takes to notice what is held.
_NOTICE_SECONDS: Final = 1.5
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an act: whether it changed anything, and how things stand now, in a sentence."""

    target: Target
    act: str
    changed: bool
    said: str

    def to_json(self) -> dict[str, Any]:
        """The act as plain JSON; `run`, `world_version` and `seat` are null where it had none."""
        return {
            "campaign": self.target.campaign,
            "run": self.target.run_id,
            "world_version": self.target.version,
            "seat": self.target.seat,
            "act": self.act,
            "changed": self.changed,
            "said": self.said,
        }


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


class Operator:
    """Acts on one campaign of a store."""

    def __init__(self, store: Store, campaign: str) -> None:
        self._store = store
        self._campaign = campaign
        self._manifest: CampaignManifest = store.catalogue.manifest_in_force(campaign)
        self._lease_seconds = execution_limits(self._manifest).lease_seconds

    def target(self, run_id: str | None, day: int | None, seat: int | None) -> Target:
        """What is meant by a run, a day on which a window opens and a seat.

        Raises:
            InputError: no such run, day or seat, or a day without the rest.
        """
        if run_id is None:
            if day is not None or seat is not None:
                raise InputError("A company-window needs its run.", "Name it with --run.")
            return Target(self._campaign)
        planned = self._store.catalogue.run(RunKey(self._campaign, run_id)).planned
        if day is None and seat is None:
            return Target(self._campaign, run_id)
        if seat is None:
            raise InputError("A company-window needs its seat.", "Name it with --seat.")
        check_seat(planned, seat)
        if day is None:
            version = self._run(run_id).status().world_version
        else:
            version = version_on(day, bound_scenario(self._manifest))
        return Target(self._campaign, run_id, version, seat)

    def rest(self, target: Target, desired: DesiredState, reason: str) -> Done:
        """Let a campaign, a run, or a company-window and with it its run, rest until somebody
        resumes it: paused, or stopped.
        """
        if target.run_id is None:
            return self._rest_all(target, desired, reason)
        act, _ = _ACTS[desired]
        run = self._run(target.run_id)
        settled = self._settled(target, run)
        if settled:
            return Done(target, act, changed=False, said=settled)
        if not self._store.holds.set(target, desired, reason):
            return Done(
                target, act, changed=False, said=f"{_subject(target)} is {desired} already."
            )
        if holder_of(run.status().lease) is None:
            return Done(target, act, changed=True, said=f"{_subject(target)} is {desired}.")
        when = "at its next step" if target.seat else "at its next window boundary"
        return Done(target, act, changed=True, said=f"{_subject(target)} comes to rest {when}.")

    def resume(self, target: Target, reason: str) -> Done:
        """Let a run or a company-window go on that was held, or that waits for a person.

        That person answers for what had paused the campaign's routes, too.
        """
        assert target.run_id is not None
        run = self._run(target.run_id)
        settled = self._settled(target, run)
        if settled:
            return Done(target, "resume", changed=False, said=settled)
        lifted = self._store.holds.lift(target, reason)
        if lifted:
            self._let_notice(run)
        holds = self._store.holds.of(self._campaign)
        if holds.keep(target.run_id, run.status().world_version):
            return Done(target, "resume", lifted, f"{_subject(target)} is held otherwise, too.")
        self._store.controls.resolve(self._campaign)
        queued = asyncio.run(queue_again(run, self._lease_seconds))
        if queued and not lifted:
            self._store.holds.record(target, "resume", reason)
        if not queued and not lifted:
            said = f"{_subject(target)} was not held."
            if due_in_seconds(run, run.status().world_version, holds.hastened_in(run.key.run_id)):
                said = f"{said} Its fresh attempt waits for its time: retry begins it at once."
            return Done(target, "resume", changed=False, said=said)
        return Done(
            target, "resume", changed=True, said=f"{_subject(target)} goes on. {self._by()}"
        )

    def retry(self, which: Which, reason: str, *, dry_run: bool) -> list[Retried]:
        """Give failed company-windows a fresh attempt, or say which may have one.

        A person who asks answers for what had to be put right. Runs all of whose failed windows
        have one go back to the queue. A fresh attempt that waits for its time begins at once.

        Raises:
            InputError: there is no such run, seat or candidate.
        """
        rows = []
        for planned in self._meant(which):
            run = self._run(planned.run_id)
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
        recovery = Recovery(run, bound_plan(self._manifest).definition.recovery)
        hastened = self._store.holds.of(self._campaign).hastened_in(run.key.run_id)
        found, early = [], []
        for version, seat in _windows_of(run, which.version):
            candidate = lineup[seat - 1]
            if which.seat not in (None, seat) or which.candidate not in (None, candidate):
                continue
            considered = recovery.consider(version, seat, by_person=True)
            if which.status not in (None, considered.standing.status):
                continue
            is_early = _waits(considered) and considered.key not in hastened
            target = Target(*run.key, version, seat)
            found.append(_row(target, candidate, considered, is_early=is_early))
            early += [considered.key] if is_early else []
        if not dry_run:
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

    def _hasten(self, run: RunKey, attempts: Sequence[AttemptKey], reason: str) -> None:
        """Let fresh attempts that wait begin at once, whoever plays the run."""
        for attempt in attempts:
            self._store.holds.hasten(run, attempt, reason)
        if attempts:
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

    def _rest_all(self, target: Target, desired: DesiredState, reason: str) -> Done:
        act, verb = _ACTS[desired]
        name, progress = self._campaign, ProgressReader(self._store, self._campaign).read()
        if progress.finished:
            said = f"Campaign {name} is completed; there is nothing to {act}."
            return Done(target, act, False, said)
        if progress.desired is desired:
            because = f": {progress.reason}" if progress.reason else ""
            return Done(target, act, False, f"Campaign {name} is {desired} already{because}.")
        self._store.catalogue.set_desired(name, desired, reason)
        if progress.owner is None:
            said = f"Campaign {name} is {desired}. Nobody was carrying it out."
            return Done(target, act, True, said)
        said = f"Campaign {name} {verb}: every run stops at its next window boundary."
        return Done(target, act, True, said)

    def _settled(self, target: Target, run: RunStore) -> str:
        """Why nothing can be done any more to a target; empty while something can."""
        status = run.status()
        if status.status is RunState.COMPLETED:
            return f"Run {target.run_id} is completed."
        if target.version is not None and target.version < status.world_version:
            return f"{_subject(target)} is settled."
        return ""

    def _let_notice(self, run: RunStore) -> None:
        """Wait until a host that plays the run has noticed that nothing is held any more."""
        until = time.monotonic() + _NOTICE_SECONDS
        while time.monotonic() < until:
            status = run.status()
            if status.status is not RunState.RUNNING or holder_of(status.lease) is None:
                return
            time.sleep(_LOOK_SECONDS)

    def _by(self) -> str:
        owner = holder_of(self._store.catalogue.campaign(self._campaign).lease)
        return "Nobody carries the campaign out: resume it." if owner is None else f"By {owner}."

    def _run(self, run_id: str) -> RunStore:
        return self._store.run(RunKey(self._campaign, run_id))


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


def _subject(target: Target) -> str:
    if target.seat is None:
        return f"Run {target.run_id}"
    return f"{company_name(target.seat)} of run {target.run_id} at world version {target.version}"
