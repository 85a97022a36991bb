"""The hosts of one campaign: made, given runs, replaced when they die or stand still, and moved
when nodes come or go.

Whose fault a death was, no host can say. A run that was on hosts that died, and that settled
nothing in between, plays alone until it settles a window; one that loses its host even then is at
fault, and stops (`Suspicion`). The store decides what goes on, whoever died.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import ray
from ray.exceptions import ActorUnschedulableError, RayActorError, RayError, RayTaskError

from orchestrator.actors.host import MOST_SILENT_LEASES, Host, RunEnd
from orchestrator.actors.nodes import Processors, crowded, nodes_at_work, on_node, roomiest
from orchestrator.world import StopKind

# Calls that are no runs: questions and requests to stop.
_CONTROL_CALLS: Final = 8

# A host is asked for a sign of life, again and again.
_LOOKS_A_LEASE: Final = 2

# How long the first runs wait for the last host to start.
_START_SECONDS: Final = 60.0

# How long hosts may take to hear that their runs are to stop; a silent one is replaced anyway.
_TELL_SECONDS: Final = 5.0


_GONE: Final = (RayActorError, ActorUnschedulableError)
"""What a call raises whose host is no more, or never was."""


@dataclass(frozen=True, slots=True)
class HostDeath:
    """What ended a call instead of the run: its host died, or was given up, for this cause."""

    cause: str
    started: bool
    """Whether the host had ever answered: one that never did says nothing about its runs."""


class _StoodStill(Exception):
    """A host gave no sign of life for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it stood still for {seconds:g} seconds")


class TaskFailed(Exception):
    """A call of a living host raised what it should have handled; the message says what."""


@dataclass(eq=False)
class _Place:
    """One host in its time; `lost` is done when nothing is to be hoped for from it."""

    actor: Any
    node: str
    lost: asyncio.Future[HostDeath]
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    load: int = 0
    pulse: asyncio.Task[None] | None = None

    async def answered(self) -> None:
        """Until the host answers for the first time, or is lost."""
        ready = asyncio.ensure_future(self.ready.wait())
        first: set[asyncio.Future[Any]] = {ready, self.lost}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()


class Hosts:
    """So many hosts as there are to be, and for each run that must play alone one of its own.

    A run goes to the host that has fewest. Where they may be `spread`, hosts are shared out over
    the nodes of the cluster, those that join later included. `stillborn` counts the hosts, since
    one last answered, that died before they ever did.
    """

    def __init__(
        self,
        location: str,
        campaign: str,
        count: int,
        limit: int,
        lease_seconds: float,
        *,
        spread: bool,
    ) -> None:
        self._arguments = (location, campaign)
        self._remote: Any = ray.remote(Host)
        self._count = count
        self._lease_seconds = lease_seconds
        self._options: Mapping[str, Any] = {
            "num_cpus": 0,
            "max_concurrency": limit + _CONTROL_CALLS,
            # Ray must neither revive a host nor repeat a call: the store decides what runs again.
            "max_restarts": 0,
            "max_task_retries": 0,
        }
        self._spread = spread
        self._nodes: Processors = {}
        self._places: list[_Place] = []
        self._apart: list[_Place] = []
        self._leaving: list[_Place] = []
        self._alone = asyncio.Semaphore(count)
        self.stillborn = 0
        self.last_cause = ""

    async def start(self) -> None:
        """Make all hosts, and wait until they answer: shared out evenly, the runs end together."""
        await self._look_at_nodes()
        for _ in range(self._count):
            self._places.append(self._made())
        answers = [asyncio.create_task(place.answered()) for place in self._places]
        _, late = await asyncio.wait(answers, timeout=_START_SECONDS)
        for answer in late:
            answer.cancel()

    async def tend(self) -> None:
        """Move hosts to where they belong: away from a node that is being drained, and to one that
        has joined. What moves gives its runs up at their next boundaries.
        """
        await self._look_at_nodes()
        for place in self._misplaced():
            self._places.remove(place)
            self._leaving.append(place)
            self._places.append(self._made())
        drained = [place for place in self._apart if place.node not in self._nodes]
        await self._ask([*self._leaving, *drained], StopKind.LEAVE, "", None)
        for place in [each for each in self._leaving if not each.load]:
            self._leaving.remove(place)
            self._give_up(place)

    async def play(self, run_id: str) -> RunEnd | HostDeath:
        """How the run ended on one of the hosts, or what became of the host.

        Raises:
            TaskFailed: the host lives, but could not play the run.
        """
        for index, each in enumerate(self._places):
            if each.lost.done():
                self._places[index] = self._made()
        return await self._play_on(min(self._places, key=lambda each: each.load), run_id)

    async def play_alone(self, run_id: str) -> RunEnd | HostDeath:
        """The same on a host that has no other run, and that ends with this one."""
        async with self._alone:
            place = self._made()
            self._apart.append(place)
            try:
                return await self._play_on(place, run_id)
            finally:
                self._apart.remove(place)
                self._give_up(place)

    async def stop(self, kind: StopKind, reason: str, run_id: str | None = None) -> None:
        """Ask all worlds of all hosts, or one of them, to stop at their next boundary."""
        await self._ask([*self._places, *self._apart, *self._leaving], kind, reason, run_id)

    async def _ask(
        self, places: Sequence[_Place], kind: StopKind, reason: str, run_id: str | None
    ) -> None:
        told = [asyncio.ensure_future(p.actor.stop.remote(kind, reason, run_id)) for p in places]
        if told:
            await asyncio.wait(told, timeout=_TELL_SECONDS)
        for each in told:
            # Whoever plays on a host that dies hears of it.
            if not each.done() or each.exception() is not None:
                each.cancel()

    def close(self) -> None:
        """Ask for no more signs of life."""
        for place in (*self._places, *self._apart, *self._leaving):
            if place.pulse is not None:
                place.pulse.cancel()

    async def _play_on(self, place: _Place, run_id: str) -> RunEnd | HostDeath:
        place.load += 1
        call: asyncio.Future[RunEnd] = asyncio.ensure_future(place.actor.play.remote(run_id))
        try:
            first: set[asyncio.Future[Any]] = {call, place.lost}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                call.cancel()
                return place.lost.result()
            return call.result()
        except RayTaskError as error:
            raise TaskFailed(_told(error.cause or error)) from error
        except _GONE as error:
            self._lose(place, error)
            return place.lost.result()
        finally:
            place.load -= 1

    def _made(self) -> _Place:
        node = roomiest(self._nodes, self._shares())
        options = {**self._options, "scheduling_strategy": on_node(node)}
        actor = self._remote.options(**options).remote(*self._arguments)
        place = _Place(actor, node, asyncio.get_running_loop().create_future())
        place.pulse = asyncio.create_task(self._feel(place))
        return place

    async def _look_at_nodes(self) -> None:
        """Learn which nodes there are; where Ray cannot be asked, those that there were."""
        if not self._spread:
            self._nodes = {ray.get_runtime_context().get_node_id(): 1.0}
            return
        try:
            self._nodes = await asyncio.to_thread(nodes_at_work)
        except RayError:
            if not self._nodes:
                raise

    def _shares(self) -> Counter[str]:
        """How many hosts each node has that are to stay."""
        return Counter(place.node for place in self._places if not place.lost.done())

    def _misplaced(self) -> list[_Place]:
        """The hosts that are to move: from drained nodes all, to a node that joined one by one."""
        living = [place for place in self._places if not place.lost.done()]
        drained = [place for place in living if place.node not in self._nodes]
        if drained:
            return drained
        if self._leaving:
            return []
        node = crowded(self._nodes, self._shares())
        there = (place for place in living if place.node == node)
        return [] if node is None else [min(there, key=lambda place: place.load)]

    async def _feel(self, place: _Place) -> None:
        """Ask a host for signs of life until it gives none. Its birth may take what it takes."""
        look = self._lease_seconds / _LOOKS_A_LEASE
        try:
            await place.actor.alive.remote()
            place.ready.set()
            self.stillborn = 0
            while True:
                sign = asyncio.ensure_future(place.actor.alive.remote())
                # Several looks, because this process may have stood still instead of the host.
                for _ in range(MOST_SILENT_LEASES * _LOOKS_A_LEASE):
                    await asyncio.wait({sign}, timeout=look)
                    if sign.done():
                        break
                else:
                    sign.cancel()
                    raise _StoodStill(MOST_SILENT_LEASES * self._lease_seconds)
                await sign
                await asyncio.sleep(look)
        except (*_GONE, RayTaskError, _StoodStill) as error:
            self._lose(place, error)

    def _lose(self, place: _Place, error: Exception) -> None:
        if not place.lost.done():
            cause, born = _told(error), place.ready.is_set()
            place.lost.set_result(HostDeath(cause, born))
            # That its node was lost in between says nothing about the next host.
            self.stillborn += not born and not isinstance(error, ActorUnschedulableError)
            self.last_cause = cause
        self._give_up(place)

    def _give_up(self, place: _Place) -> None:
        if place.pulse is not None and place.pulse is not asyncio.current_task():
            place.pulse.cancel()
        # Ray may call dead what it only cannot reach; and what stands still must not wake again.
        with suppress(RayActorError):
            ray.kill(place.actor)


def _told(error: BaseException) -> str:
    """What Ray says in many lines, in one: of a host that could not be made, what it raised."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if "creation task" in lines[0] else lines[0]
