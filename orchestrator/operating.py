"""What a person does to a campaign, a run or a company-window: pause, resume, stop.

Every act goes to the store and nowhere else, with its time and reason; the scheduler and the hosts
react to what they find there, whoever runs them and wherever. Doing a thing again does no harm, and
says so.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

from engine.decision import company_name
from manifests.errors import InputError
from manifests.model import CampaignManifest
from orchestrator.bound import bound_scenario, execution_limits
from orchestrator.chosen import check_seat, version_on
from orchestrator.lifecycle import RunState
from orchestrator.status.barriers import due_in_seconds
from orchestrator.status.progress import ProgressReader, holder_of
from orchestrator.store import (
    DesiredState,
    RunKey,
    RunStore,
    Store,
    Target,
)
from orchestrator.tenure import queue_again

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
        run, subject = self._run(target.run_id), self._subject(target)
        settled = self._settled(target, run)
        if settled:
            return Done(target, act, changed=False, said=settled)
        if not self._store.holds.set(target, desired, reason):
            return Done(target, act, changed=False, said=f"{subject} is {desired} already.")
        if holder_of(run.status().lease) is None:
            return Done(target, act, changed=True, said=f"{subject} is {desired}.")
        when = "at its next step" if target.seat else "at its next window boundary"
        return Done(target, act, changed=True, said=f"{subject} comes to rest {when}.")

    def resume(self, target: Target, reason: str) -> Done:
        """Let a run or a company-window go on that was held, or that waits for a person.

        That person answers for what had paused the campaign's routes, too.
        """
        assert target.run_id is not None
        run, subject = self._run(target.run_id), self._subject(target)
        settled = self._settled(target, run)
        if settled:
            return Done(target, "resume", changed=False, said=settled)
        lifted = self._store.holds.lift(target, reason)
        if lifted:
            self._let_notice(run)
        holds = self._store.holds.of(self._campaign)
        if holds.keep(target.run_id, run.status().world_version):
            return Done(target, "resume", lifted, f"{subject} is held otherwise, too.")
        self._store.controls.resolve(self._campaign)
        queued = asyncio.run(queue_again(run, self._lease_seconds))
        if queued and not lifted:
            self._store.holds.record(target, "resume", reason)
        if not queued and not lifted:
            said = f"{subject} was not held."
            if due_in_seconds(run, run.status().world_version, holds.hastened_in(run.key.run_id)):
                said = f"{said} Its fresh attempt waits for its time: retry begins it at once."
            return Done(target, "resume", changed=False, said=said)
        return Done(target, "resume", changed=True, said=f"{subject} goes on. {self._by()}")

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
            return f"{self._subject(target)} is settled."
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

    def _subject(self, target: Target) -> str:
        """What an act is about, by the day by which people name a window."""
        if target.seat is None or target.version is None:
            return f"Run {target.run_id}"
        day = target.version * bound_scenario(self._manifest).window_days
        return f"{company_name(target.seat)} of run {target.run_id} on day {day}"

    def _run(self, run_id: str) -> RunStore:
        return self._store.run(RunKey(self._campaign, run_id))
