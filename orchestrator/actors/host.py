"""The host: an actor that owns many runs, each with its lease and its world (runtime.md section 6).

One call plays one run to its next rest and says how it ended. Whatever goes wrong in one run ends
that run's call and touches no other. The host keeps nothing that the store lacks. One that nobody
asks for any more, because its node is cut off from Ray, gives its runs up by itself.
"""

import asyncio
import gc
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from manifests.errors import ArenaError, InputError, StoreError
from manifests.model import CampaignManifest
from orchestrator.actors.limits import shared_ledger
from orchestrator.actors.metrics import WorkMetrics
from orchestrator.binding import check_package
from orchestrator.bound import bound_scenario, execution_limits
from orchestrator.causes import cause_of
from orchestrator.ceos import seated
from orchestrator.lifecycle import RunState
from orchestrator.session.services import ModelServices
from orchestrator.store import Lease, LeaseLost, RunKey, RunStore, open_store
from orchestrator.tenure import Unrecorded, tenure_of_run
from orchestrator.world import StopKind, StopRequest, World, put_to_rest

MOST_SILENT_LEASES: Final = 2
"""After so many lease times in which they hear nothing of each other, a scheduler gives a host up,
and the host its runs.
"""

# How often the holds of people are read.
_LOOK_SECONDS: Final = 0.5

_GARBAGE_THRESHOLDS: Final = (50_000, 20, 50)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a call ended: the run's state, and a trouble that the store could not record."""

    run_id: str
    state: RunState
    trouble: str = ""


class Host:
    """Plays runs of one campaign, all that it is given at the same time."""

    def __init__(self, location: str, campaign: str) -> None:
        _collect_less()
        self._store = open_store(location)
        self._campaign = campaign
        self._manifest = self._store.catalogue.manifest_in_force(campaign)
        self._lease_seconds = execution_limits(self._manifest).lease_seconds
        self._scenario = bound_scenario(self._manifest)
        heard = WorkMetrics(campaign).heard
        self._models = ModelServices(self._manifest, self._store.controls, shared_ledger(), heard)
        self._unfit = _unfitness(self._manifest)
        self._stops: dict[str, StopRequest] = {}
        self._heeding: asyncio.Task[None] | None = None
        self._silent_looks = 0

    async def play(self, run_id: str) -> RunEnd:
        """Play a run until it is completed, paused, stopped, or left."""
        self._silent_looks = 0
        stop = self._stops[run_id] = StopRequest()
        run = self._store.run(RunKey(self._campaign, run_id))
        if self._heeding is None or self._heeding.done():
            self._heeding = asyncio.create_task(self._heed())
        try:
            return await self._play_as_owner(run, stop)
        finally:
            del self._stops[run_id]
            run.close()

    async def alive(self) -> None:
        """Answers as long as the host's event loop goes round; the host lives as long as it is
        asked.
        """
        self._silent_looks = 0

    async def stop(self, kind: StopKind, reason: str, run_id: str | None = None) -> None:
        """Ask all runs that are being played, or one of them, to stop at their next boundary."""
        for each, request in self._stops.items():
            if run_id in {None, each}:
                request.ask(kind, reason)

    async def _heed(self) -> None:
        """As long as a run is being played, look what people hold of it, and whether anybody still
        asks for the host. Looks are counted, and not the time, in which it may have stood still.
        """
        while self._stops:
            self._silent_looks += 1
            if self._silent_looks * _LOOK_SECONDS > MOST_SILENT_LEASES * self._lease_seconds:
                await self.stop(StopKind.LEAVE, "")
            # A store that cannot be read stops the runs by itself.
            with suppress(StoreError):
                holds = await asyncio.to_thread(self._store.holds.of, self._campaign)
                for run_id, request in self._stops.items():
                    request.heed(holds, run_id)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _play_as_owner(self, run: RunStore, stop: StopRequest) -> RunEnd:
        run_id = run.key.run_id
        tenure = tenure_of_run(run, self._lease_seconds)
        try:
            if self._unfit:
                return RunEnd(run_id, await asyncio.to_thread(_state, run), self._unfit)
            lease = await tenure.take(lambda: stop.kind is None)
            if lease is None:
                return RunEnd(run_id, await asyncio.to_thread(_state, run))
            return await tenure.keep(lease, self._play_under(lease, run, stop))
        except LeaseLost:
            # Who took the run over plays it now; the campaign's scheduler asks again.
            return RunEnd(run_id, RunState.RUNNING)
        except Unrecorded as unrecorded:
            return RunEnd(run_id, unrecorded.state, unrecorded.message)
        except ArenaError as error:
            return RunEnd(run_id, RunState.PAUSED, cause_of(error))

    async def _play_under(self, lease: Lease, run: RunStore, stop: StopRequest) -> RunEnd:
        try:
            planned = (await asyncio.to_thread(self._store.catalogue.run, run.key)).planned
            rest = partial(stop.ask, StopKind.PAUSE)
            with self._models.for_run(run, lease, self._scenario, rest) as models:
                ceos = seated(self._manifest, planned.lineup, models.ceo)
                world = World(run, lease, planned, self._scenario, ceos, stop)
                return RunEnd(run.key.run_id, await models.kept_while(world.play()))
        except LeaseLost:
            raise
        except ArenaError as error:
            return await asyncio.to_thread(_rested, run, lease, RunState.PAUSED, cause_of(error))
        except Exception as error:  # noqa: BLE001 - a defect ends its own run, not the others
            return await asyncio.to_thread(_rested, run, lease, RunState.STOPPED, cause_of(error))


def _collect_less() -> None:
    """Let the garbage collector of this process pass over what stays, and come seldom.

    Settling makes many objects and hardly a cycle; looking for cycles among the modules of Ray and
    ours at the usual rate costs a host a seventh of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


def _unfitness(manifest: CampaignManifest) -> str:
    """Why this process may not play: its package is not that of the manifest, because it was
    changed while the campaign was running, or because this machine has another one.
    """
    try:
        check_package(manifest)
    except InputError as error:
        return cause_of(error)
    return ""


def _state(run: RunStore) -> RunState:
    return run.status().status


def _rested(run: RunStore, lease: Lease, state: RunState, reason: str) -> RunEnd:
    """The run at rest for this reason. Raises Unrecorded."""
    try:
        put_to_rest(run, lease, state, reason)
    except ArenaError as error:
        raise Unrecorded(state, reason) from error
    return RunEnd(run.key.run_id, state)
