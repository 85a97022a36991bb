"""The actor that carries a campaign out, from its birth on (runtime.md section 6).

When its process or its node is lost, Ray starts it again where it can, and it goes on from the
store like any successor: nobody needs to be there to ask for it. It ends with the command that made
it, or, on a cluster, some time after the campaign has come to rest.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import ray

from manifests.errors import StoreError
from orchestrator.actors.campaign import CampaignEnd, CampaignScheduler
from orchestrator.owners import own_name
from orchestrator.store import Lease, open_store

# How long whoever follows the campaign may take to hear how it ended.
_LINGER_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A campaign of a store that is to be carried out on some hosts, in the name of `owner`.

    That is the process whose end ends the actor, too: whoever comes next need not wait for both. An
    actor that has no such process is its own owner, and takes the place of the command that
    `announced` the campaign.
    """

    location: str
    campaign: str
    hosts: int
    owner: str | None
    announced: Lease | None


class Carrier:
    """Carries out what it is charged with."""

    # Ray runs it on the event loop of the actor: only there can a task be made.
    async def __init__(self, charge: Charge) -> None:  # type: ignore[misc]
        self._charge = charge
        self._left = asyncio.Event()
        revived: bool = ray.get_runtime_context().was_current_actor_reconstructed
        self._work = asyncio.create_task(self._carry_out(revived))
        self._work.add_done_callback(_end_later)

    # To ask twice does no harm, so that whoever waits need not know of a new life.
    @ray.method(max_task_retries=-1)
    async def end(self) -> CampaignEnd:
        """How it ended, as soon as it has. Raises what `CampaignScheduler.carry_out` raises."""
        return await asyncio.shield(self._work)

    async def leave(self) -> None:
        """Let all runs stop at their next boundary, in no other state, and come to an end."""
        self._left.set()

    async def _carry_out(self, revived: bool) -> CampaignEnd:
        charge = self._charge
        if charge.announced is not None:
            await asyncio.to_thread(_succeed, charge.location, charge.announced)
        owner = charge.owner or own_name()
        with open_store(charge.location) as store:
            scheduler = CampaignScheduler(store, charge.campaign, charge.hosts, owner, self._left)
            return await scheduler.carry_out(revived=revived)


def _succeed(location: str, announced: Lease) -> None:
    """Give up the lease of a command; whether this process may have it, is found when it tries."""
    with suppress(StoreError), open_store(location) as store:
        store.catalogue.release(announced)


def _end_later(_work: "asyncio.Task[Any]") -> None:
    asyncio.get_running_loop().call_later(_LINGER_SECONDS, _end_this_actor)


def _end_this_actor() -> None:
    ray.kill(ray.get_runtime_context().current_actor)
