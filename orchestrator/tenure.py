"""Holding a lease while something works: taken when it can be, renewed meanwhile, given up."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from manifests.errors import GO_ON, StoreError
from orchestrator.lifecycle import WAITING_FOR_A_PERSON, RunState
from orchestrator.owners import has_ended, is_alive, own_name
from orchestrator.store import Catalogue, Lease, LeaseHeld, RunStore

_T = TypeVar("_T")

_RENEWALS: Final = 3
"""A lease is renewed so often in its time that one failed renewal does not lose it."""

_LOOK_AGAIN_SECONDS: Final = 0.5


class Unrecorded(StoreError):
    """What was done under a lease comes to rest in this state, and the store does not take why; the
    message says it.
    """

    def __init__(self, state: RunState, reason: str) -> None:
        super().__init__(reason, GO_ON)
        self.state = state


class Tenure:
    """The ways to take, renew and release one lease as `owner`.

    `acquire` takes it under a name, if need be from an owner that has ended, as the store's methods
    do; `renew` and `release` are theirs.
    """

    def __init__(
        self,
        acquire: Callable[[str, str | None], Lease],
        renew: Callable[[Lease], None],
        release: Callable[[Lease], None],
        owner: str,
    ) -> None:
        self._acquire = acquire
        self._renew = renew
        self._release = release
        self._owner = owner

    async def take(self, wanted: Callable[[], bool]) -> Lease | None:
        """The lease, as soon as its present owner has ended, given it up, or let it expire.

        None when the lease is no longer `wanted` before it could be taken.
        """
        while wanted():
            try:
                return await asyncio.to_thread(self._acquire_or_succeed)
            except LeaseHeld as held:
                await asyncio.sleep(_pause(held))
        return None

    async def take_unless_kept(self) -> Lease:
        """The lease, unless its owner lives; one that cannot be seen lives when it renews it.

        Raises:
            LeaseHeld: the owner lives.
        """
        first: LeaseHeld | None = None
        while True:
            try:
                return await asyncio.to_thread(self._acquire_or_succeed)
            except LeaseHeld as held:
                first = first or held
                renewed = held.expires_in_seconds > first.expires_in_seconds
                if is_alive(held.owner) or renewed or held.owner != first.owner:
                    raise
                await asyncio.sleep(_pause(held))

    async def keep(self, lease: Lease, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of the work, during which the lease is renewed, and after which it is free.

        The renewal is a task of its own, so that work which takes long does not lose the lease.
        When the lease is lost all the same, the work is cancelled. When the store does not take why
        it ended, the lease is not given up: so whoever takes it next can tell.

        Raises:
            LeaseLost: somebody else owns what the lease was on. Else whatever the work raises.
        """
        working = asyncio.create_task(work)
        renewing = asyncio.create_task(self._renewals(lease))
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await renewing
            return working.result()
        finally:
            for task in (working, renewing):
                task.cancel()
            ended, _ = await asyncio.gather(working, renewing, return_exceptions=True)
            # A lease that cannot be given up expires.
            with suppress(StoreError):
                if not isinstance(ended, Unrecorded):
                    await asyncio.to_thread(self._release, lease)

    async def _renewals(self, lease: Lease) -> None:
        """Renew the lease for ever; ends by LeaseLost alone."""
        while True:
            await asyncio.sleep(lease.seconds / _RENEWALS)
            # The work meets the same trouble and tells it; until then the lease may still hold.
            with suppress(StoreError):
                await asyncio.to_thread(self._renew, lease)

    def _acquire_or_succeed(self) -> Lease:
        try:
            return self._acquire(self._owner, None)
        except LeaseHeld as held:
            if not has_ended(held.owner):
                raise
            return self._acquire(self._owner, held.owner)


def tenure_of_campaign(catalogue: Catalogue, name: str, seconds: float, owner: str) -> Tenure:
    """The tenure of a campaign by `owner`, for so many seconds at a time."""
    return Tenure(
        lambda each, ended: catalogue.acquire_campaign(name, each, seconds, ended),
        catalogue.renew,
        catalogue.release,
        owner,
    )


def tenure_of_run(run: RunStore, seconds: float) -> Tenure:
    """The tenure of a run by this process, for so many seconds at a time."""
    return Tenure(
        lambda owner, ended: run.acquire(owner, seconds, ended), run.renew, run.release, own_name()
    )


async def queue_again(run: RunStore, seconds: float) -> bool:
    """Put a run that waits for a person back into the queue; whether it did wait.

    Its last owner may be about to give the lease up, or may have died before it did.
    """
    lease = await tenure_of_run(run, seconds).take(lambda: _rests(run))
    if lease is None:
        return False
    try:
        waits = _rests(run)
        if waits:
            run.set_status(lease, RunState.QUEUED, "")
        return waits
    finally:
        run.release(lease)


def _rests(run: RunStore) -> bool:
    return run.status().status in WAITING_FOR_A_PERSON


def _pause(held: LeaseHeld) -> float:
    return min(_LOOK_AGAIN_SECONDS, max(held.expires_in_seconds, 0.05))
