"""The campaign's scheduler: an actor that gives runs to hosts until the campaign is at rest.

One actor carries a campaign out, under the campaign's lease. What it decides follows from the
store by `orchestrator.scheduler`; what the operator wants it reads there, too, so that any shell
can pause and resume without Ray. It knows nothing that the store lacks, except who plays what.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import ray
from ray.exceptions import RayActorError

from campaigns.analysis.rule_search import rule_search
from campaigns.plan import resolve
from manifests.errors import ArenaError, IntegrityError
from orchestrator.actors.host import Host, RunEnd
from orchestrator.binding import bound_plan, execution_limits
from orchestrator.lifecycle import WAITING_FOR_A_PERSON, RunState
from orchestrator.scheduler import (
    RunView,
    runs_to_resolve,
    runs_to_start,
)
from orchestrator.store import DesiredState, RunKey, RunStore, open_store
from orchestrator.tenure import Tenure, queue_again
from orchestrator.world import StopKind

_STOP: Final[Mapping[DesiredState, StopKind]] = {
    DesiredState.PAUSED: StopKind.PAUSE,
    DesiredState.STOPPED: StopKind.STOP,
}

# How often the operator's wish is read.
_LOOK_SECONDS: Final = 0.5

# How long runs may take to come to a boundary when the scheduler itself cannot go on.
_ABANDON_SECONDS: Final = 10.0

# Deaths of hosts in a row, without a window settled in between, after which a person must look.
_MOST_DEATHS: Final = 6

# Calls that are no runs: questions and requests to stop.
_CONTROL_CALLS: Final = 8


@dataclass(frozen=True, slots=True)
class CampaignEnd:
    """The campaign is at rest; `troubles` are those that the store could not record."""

    troubles: tuple[str, ...]


class CampaignScheduler:
    """Carries one campaign out on some hosts, in the name of `owner`.

    That is the process whose end ends this actor, too: whoever comes next need not wait for both.
    """

    def __init__(self, location: str, campaign: str, hosts: int, owner: str) -> None:
        self._owner = owner
        self._store = open_store(location)
        self._catalogue = self._store.catalogue
        self._campaign = campaign
        manifest = self._catalogue.manifest(campaign)
        self._plan = bound_plan(manifest)
        self._limits = execution_limits(manifest)
        self._hosts = _Hosts(location, campaign, hosts, self._limits.max_active_runs)
        self._views: dict[str, RunView] = {}
        self._calls: dict[str, asyncio.Task[RunEnd | None]] = {}
        self._troubles: list[str] = []
        self._left = asyncio.Event()
        self._last_act = 0
        self._deaths_seen = 0
        self._barren_deaths = 0
        self._windows_at_death = -1

    async def carry_out(self, requeue: bool) -> CampaignEnd:
        """Play all runs that can be played; returns when none is active and none can start.

        `requeue` first returns to the queue what waits for a person: that person gave the command.

        Raises:
            LeaseHeld: somebody else carries the campaign out. LeaseLost: somebody does now.
            StoreError, IntegrityError: the catalogue refuses or contradicts itself.
        """
        catalogue, seconds = self._catalogue, self._limits.lease_seconds
        tenure = Tenure(
            lambda owner: catalogue.acquire_campaign(self._campaign, owner, seconds),
            catalogue.renew,
            catalogue.release,
            self._owner,
        )
        lease = await tenure.take_unless_kept()
        try:
            return await tenure.keep(lease, self._schedule(requeue))
        except ArenaError:
            await self._abandon()
            raise

    async def leave(self) -> None:
        """Let all runs stop at their next boundary, in no other state, and come to an end."""
        self._left.set()

    async def _schedule(self, requeue: bool) -> CampaignEnd:
        statuses = {status.key.run_id: status for status in self._store.statuses(self._campaign)}
        for run in self._catalogue.runs(self._campaign):
            run_id = run.planned.run_id
            self._views[run_id] = RunView(run.planned, statuses[run_id].status)
        if requeue:
            await self._requeue()
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
                self._start()
            if self._calls:
                await self._some_call_ended()
            elif pausing and not leaving and wish.desired is DesiredState.RUNNING:
                # Resumed before all runs had come to rest.
                pausing = None
                await self._requeue()
            else:
                return CampaignEnd(tuple(self._troubles))

    def _look_at_acts(self, last: int) -> None:
        """After a person did something: what is held, and how the runs stand that nobody plays."""
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

    async def _abandon(self) -> None:
        """Let all runs stop at their next boundary, if they can still be told."""
        await self._hosts.stop(StopKind.LEAVE, "")
        if self._calls:
            await asyncio.wait(self._calls.values(), timeout=_ABANDON_SECONDS)

    def _start(self) -> None:
        ready = runs_to_start(
            list(self._views.values()), self._calls.keys(), self._limits.max_active_runs
        )
        for run_id in ready:
            self._calls[run_id] = asyncio.create_task(self._hosts.play(run_id))

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
            if end is not None and end.trouble:
                self._troubles.append(f"Run {run_id}: {end.trouble}")
                state = end.state
            else:
                # A person may have let it go on before this was noticed.
                state = self._run(run_id).status().status
            self._views[run_id] = replace(self._views[run_id], state=state)
        if self._hosts.deaths > self._deaths_seen:
            self._look_at_deaths()

    def _look_at_deaths(self) -> None:
        """After a host died: whether anything was settled since the last one did."""
        died, self._deaths_seen = self._hosts.deaths - self._deaths_seen, self._hosts.deaths
        windows = sum(found.world_version for found in self._store.statuses(self._campaign))
        self._barren_deaths = died + (
            0 if windows > self._windows_at_death else self._barren_deaths
        )
        self._windows_at_death = windows
        if self._barren_deaths >= _MOST_DEATHS:
            self._troubles.append(
                f"Hosts died {self._barren_deaths} times without settling a window. Look for what "
                "ends them: memory, a limit of the system, or a policy."
            )

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


class _Hosts:
    """The hosts of one campaign, made when there are runs for them.

    A run goes to the host that has fewest; a dead host is replaced.
    """

    def __init__(self, location: str, campaign: str, count: int, limit: int) -> None:
        self._place = (location, campaign)
        self._remote: Any = ray.remote(Host)
        self._count = count
        self._options: Mapping[str, Any] = {
            "num_cpus": 0,
            "max_concurrency": limit + _CONTROL_CALLS,
            # Ray must neither revive a host nor repeat a call: the store decides what runs again.
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        self._actors: list[Any] = []
        self._load: list[int] = []
        self.deaths = 0

    async def play(self, run_id: str) -> RunEnd | None:
        """How the run ended on one of the hosts, or None when that host died with it."""
        if len(self._actors) < self._count:
            self._actors.append(self._made())
            self._load.append(0)
        place = self._load.index(min(self._load))
        actor = self._actors[place]
        self._load[place] += 1
        try:
            end: RunEnd = await actor.play.remote(run_id)
            return end
        except RayActorError:
            if self._actors[place] is actor:
                self._actors[place] = self._made()
                self.deaths += 1
                # Ray may call dead what it only cannot reach.
                ray.kill(actor)
            return None
        finally:
            self._load[place] -= 1

    async def stop(self, kind: StopKind, reason: str) -> None:
        """Ask all worlds of all hosts to stop at their next boundary."""
        for actor in self._actors:
            # Whoever plays on a host that dies hears of it.
            with suppress(RayActorError):
                await actor.stop.remote(kind, reason)

    def _made(self) -> Any:
        return self._remote.options(**self._options).remote(*self._place)
