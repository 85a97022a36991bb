"""The campaign's scheduler: gives runs to hosts until the campaign is at rest.

One scheduler carries a campaign out, under the campaign's lease. What it decides follows from the
store by `orchestrator.scheduler`; what the operator wants it reads there, too, so that any shell
can pause and resume without Ray. It knows nothing that the store lacks, except who plays what.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from campaigns.analysis.rule_search import rule_search
from campaigns.plan import resolve
from manifests.errors import ArenaError, IntegrityError, StoreError
from orchestrator.actors.host import RunEnd
from orchestrator.actors.hosts import HostDeath, Hosts, TaskFailed
from orchestrator.actors.metrics import CampaignMetrics
from orchestrator.bound import bound_plan, execution_limits
from orchestrator.causes import cause_of
from orchestrator.lifecycle import WAITING_FOR_A_PERSON, RunState
from orchestrator.scheduler import (
    WAITING_FOR_A_SLOT,
    RunView,
    runs_to_resolve,
    runs_to_start,
)
from orchestrator.status.barriers import due_in_seconds
from orchestrator.store import (
    DesiredState,
    RunKey,
    RunStatus,
    RunStore,
    Store,
    is_shared,
)
from orchestrator.suspicion import Standing, Suspicion
from orchestrator.tenure import queue_again, tenure_of_campaign, tenure_of_run
from orchestrator.webhook import Rest, Webhook
from orchestrator.world import StopKind, put_to_rest

_STOP: Final[Mapping[DesiredState, StopKind]] = {
    DesiredState.PAUSED: StopKind.PAUSE,
    DesiredState.STOPPED: StopKind.STOP,
}

# How often the operator's wish is read.
_LOOK_SECONDS: Final = 0.5

# How long runs may take to come to a boundary when the scheduler itself cannot go on.
_ABANDON_SECONDS: Final = 10.0

# Hosts in a row that could not even be started, after which a person must look.
_MOST_STILLBORN: Final = 6


@dataclass(frozen=True, slots=True)
class CampaignEnd:
    """The campaign is at rest; `troubles` are those that the store could not record."""

    troubles: tuple[str, ...]


class CampaignScheduler:
    """Carries one campaign of a store out on some hosts, in the name of `owner`, until it is at
    rest or `left` is set: then all runs stop at their next boundary, in no other state.
    """

    def __init__(
        self, store: Store, campaign: str, hosts: int, owner: str, left: asyncio.Event
    ) -> None:
        self._owner = owner
        self._store = store
        self._catalogue = store.catalogue
        self._campaign = campaign
        manifest = self._catalogue.manifest_in_force(campaign)
        self._plan = bound_plan(manifest)
        self._limits = execution_limits(manifest)
        self._hosts = Hosts(
            store.location,
            campaign,
            hosts,
            self._limits.max_active_runs,
            self._limits.lease_seconds,
            spread=is_shared(store.location),
        )
        self._suspicion = Suspicion()
        self._webhook = Webhook()
        self._metrics = CampaignMetrics(store, campaign)
        self._views: dict[str, RunView] = {}
        self._due: dict[str, float] = {}
        self._calls: dict[str, asyncio.Task[RunEnd]] = {}
        self._troubles: list[str] = []
        self._left = left
        self._last_act = 0

    async def carry_out(self, *, revived: bool) -> CampaignEnd:
        """Play all runs that can be played; returns when none is active and none can start.

        Unless this is a `revived` one, a person gave the command, which first returns to the queue
        what waits for a person. A revived one waits until its predecessor is gone for certain.

        Raises:
            LeaseHeld: somebody else carries the campaign out. LeaseLost: somebody does now.
            StoreError, IntegrityError: the catalogue refuses or contradicts itself.
        """
        catalogue, seconds = self._catalogue, self._limits.lease_seconds
        tenure = tenure_of_campaign(catalogue, self._campaign, seconds, self._owner)
        taken = await tenure.take(lambda: True) if revived else await tenure.take_unless_kept()
        assert taken is not None
        telling = asyncio.create_task(self._metrics.go_on())
        try:
            return await tenure.keep(taken, self._schedule(requeue=not revived))
        except ArenaError:
            await self._abandon()
            raise
        finally:
            telling.cancel()
            self._hosts.close()
            with suppress(StoreError):
                await asyncio.to_thread(self._metrics.show)
            await self._webhook.close()

    async def _schedule(self, *, requeue: bool) -> CampaignEnd:
        statuses = {status.key.run_id: status for status in self._store.statuses(self._campaign)}
        for run in self._catalogue.planned(self._campaign)[1]:
            run_id = run.planned.run_id
            self._views[run_id] = RunView(run.planned, statuses[run_id].status)
            await self._note_due(statuses[run_id])
        if requeue:
            await self._requeue()
        await self._hosts.start()
        pausing: StopKind | None = None
        while True:
            wish = self._catalogue.campaign(self._campaign)
            self._look_at_acts(wish.last_act)
            pausing = _STOP.get(wish.desired, pausing)
            leaving = self._left.is_set() or bool(self._troubles)
            if leaving:
                await self._hosts.stop(StopKind.LEAVE, "")
            elif pausing is not None:
                await self._hosts.stop(pausing, wish.reason)
            else:
                self._resolve()
                await self._hosts.tend()
                self._start()
            if self._calls or (self._due and not leaving and pausing is None):
                await self._some_call_ended()
            elif pausing and not leaving and wish.desired is DesiredState.RUNNING:
                # Resumed before all runs had come to rest.
                pausing = None
                await self._requeue()
            else:
                return CampaignEnd(tuple(self._troubles))

    def _look_at_acts(self, last: int) -> None:
        """After a person did something: what is held or hastened, and how the runs stand that
        nobody plays.
        """
        if last == self._last_act:
            return
        self._last_act = last
        holds = self._store.holds.of(self._campaign)
        for status in self._store.statuses(self._campaign):
            run_id = status.key.run_id
            view = self._views[run_id]
            state = view.state if run_id in self._calls else status.status
            held = holds.keep(run_id, status.world_version)
            self._views[run_id] = replace(view, state=state, held=held)
            if run_id in self._due and self._seconds_early(status) <= 0:
                del self._due[run_id]

    async def _abandon(self) -> None:
        """Let all runs stop at their next boundary, if they can still be told."""
        await self._hosts.stop(StopKind.LEAVE, "")
        if self._calls:
            await asyncio.wait(self._calls.values(), timeout=_ABANDON_SECONDS)

    async def _note_due(self, status: RunStatus) -> None:
        """Until when a run waits in the queue because its fresh attempts do."""
        if status.status is RunState.QUEUED:
            left = await asyncio.to_thread(self._seconds_early, status)
            if left > 0:
                self._due[status.key.run_id] = time.monotonic() + left

    def _seconds_early(self, status: RunStatus) -> float:
        """How many seconds a run's fresh attempts have still to wait."""
        hastened = self._store.holds.of(self._campaign).hastened_in(status.key.run_id)
        return due_in_seconds(self._store.run(status.key), status.world_version, hastened)

    def _start(self) -> None:
        now = time.monotonic()
        self._due = {run_id: due for run_id, due in self._due.items() if due > now}
        views = [replace(view, early=run_id in self._due) for run_id, view in self._views.items()]
        ready = runs_to_start(views, self._calls.keys(), self._limits.max_active_runs)
        for run_id in ready:
            self._calls[run_id] = asyncio.create_task(self._play(run_id))

    async def _play(self, run_id: str) -> RunEnd:
        alone = self._suspicion.standing(run_id) is Standing.SUSPECTED
        try:
            found = await (self._hosts.play_alone if alone else self._hosts.play)(run_id)
        except TaskFailed as failure:
            return await self._stopped(run_id, str(failure))
        if isinstance(found, RunEnd):
            return found
        return await self._bereft(run_id, found, alone)

    async def _bereft(self, run_id: str, death: HostDeath, alone: bool) -> RunEnd:
        """A run whose host died under it: it goes on elsewhere, unless the death was its fault."""
        status = await asyncio.to_thread(self._run(run_id).status)
        if death.started and status.status is not RunState.COMPLETED:
            standing = self._suspicion.died(run_id, status.world_version, alone)
            if standing is Standing.GUILTY:
                return await self._stopped(
                    run_id,
                    f"its host died {self._suspicion.deaths(run_id)} times in the window of day "
                    f"{status.day}, the last time with no other run on it: {death.cause}",
                )
        return RunEnd(run_id, status.status)

    async def _stopped(self, run_id: str, reason: str) -> RunEnd:
        """Stop a run in the place of a host that could not."""
        run = self._run(run_id)
        self._suspicion.acquit(run_id)
        try:
            lease = await tenure_of_run(run, self._limits.lease_seconds).take(lambda: True)
            assert lease is not None
            found = (await asyncio.to_thread(run.status)).status
            if found not in WAITING_FOR_A_SLOT:
                await asyncio.to_thread(run.release, lease)
                return RunEnd(run_id, found)
            await asyncio.to_thread(put_to_rest, run, lease, RunState.STOPPED, reason)
            await asyncio.to_thread(run.release, lease)
        except ArenaError as error:
            return RunEnd(run_id, RunState.STOPPED, f"{reason} ({cause_of(error)})")
        return RunEnd(run_id, RunState.STOPPED)

    async def _some_call_ended(self) -> None:
        left = asyncio.create_task(self._left.wait())
        watched: set[asyncio.Task[Any]] = {*self._calls.values()}
        if not self._left.is_set():
            watched.add(left)
        await asyncio.wait(watched, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        ended = [run_id for run_id, call in self._calls.items() if call.done()]
        for run_id in ended:
            end = self._calls.pop(run_id).result()
            if end.trouble:
                self._troubles.append(f"Run {run_id}: {end.trouble}")
                state = end.state
                self._tell(run_id, state, end.trouble, None)
            else:
                # A person may have let it go on before this was noticed.
                status = self._run(run_id).status()
                state = status.status
                await self._note_due(status)
                if state in WAITING_FOR_A_PERSON and not self._wished(run_id):
                    self._tell(run_id, state, status.reason, status.day)
            self._views[run_id] = replace(self._views[run_id], state=state)
        await self._acquit()
        if self._hosts.stillborn >= _MOST_STILLBORN and not self._troubles:
            self._troubles.append(
                f"{self._hosts.stillborn} hosts in a row could not be started: "
                f"{self._hosts.last_cause}"
            )

    def _wished(self, run_id: str) -> bool:
        """Whether a person told this run, or the whole campaign, to rest."""
        wish = self._catalogue.campaign(self._campaign)
        self._look_at_acts(wish.last_act)
        return wish.desired is not DesiredState.RUNNING or self._views[run_id].held

    def _tell(self, run_id: str, state: RunState, reason: str, day: int | None) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._webhook.tell(
            Rest(campaign=self._campaign, run=run_id, status=state, reason=reason, day=day, at=at)
        )

    async def _acquit(self) -> None:
        """Let suspected runs that settled a window return to the others."""
        for run_id in self._calls:
            if self._suspicion.standing(run_id) is not Standing.SUSPECTED:
                continue
            version = (await asyncio.to_thread(self._run(run_id).status)).world_version
            if self._suspicion.progressed(run_id, version):
                await self._hosts.stop(StopKind.LEAVE, "", run_id)

    async def _requeue(self) -> None:
        """Put every run that waits for a person back into the queue, unless it is held itself.

        That person answers for what had paused the campaign's routes, too.
        """
        self._store.controls.resolve(self._campaign)
        self._look_at_acts(self._catalogue.campaign(self._campaign).last_act)
        for run_id, view in self._views.items():
            if view.state not in WAITING_FOR_A_PERSON or view.held:
                continue
            run = self._run(run_id)
            await queue_again(run, self._limits.lease_seconds)
            run.close()
            self._views[run_id] = replace(view, state=RunState.QUEUED)

    def _resolve(self) -> None:
        """Seat the winner of the search in the runs that wait for it, once it is known."""
        waiting = runs_to_resolve(list(self._views.values()))
        if not waiting:
            return
        winner = rule_search(self._plan, self._store.outcomes(self._campaign)).winner
        if winner is None:
            raise IntegrityError(
                f"Campaign {self._campaign}: its development runs are completed, but the search "
                "has no winner.",
                "Put back the databases that belong to these runs.",
            )
        for run_id in waiting:
            view = self._views[run_id]
            planned = resolve(view.planned, winner.candidate)
            self._catalogue.resolve_run(self._campaign, planned)
            self._views[run_id] = replace(view, planned=planned)

    def _run(self, run_id: str) -> RunStore:
        return self._store.run(RunKey(self._campaign, run_id))
