"""What a session still finishes when it is cancelled, as it is when its run has another owner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Final, TypeVar

from orchestrator.session.looking import Clock

_MOMENT_SECONDS: Final = 5.0
"""How long a reply may take to come for an owner that has just learned that it is none any more."""

_T = TypeVar("_T")


async def undisturbed(work: Awaitable[None]) -> None:
    """Do the work to its end, also when this is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        task.exception()  # seen, so that nobody reports it as lost
        raise


async def given_a_moment(work: Coroutine[Any, Any, _T], clock: Clock) -> _T:
    """The result of the work, which has a moment to come to its end when this is cancelled.

    A reply that is paid may be in the process already, or about to come.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        moment = asyncio.ensure_future(clock.sleep(_MOMENT_SECONDS))
        try:
            await asyncio.wait({task, moment}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (task, moment):
                each.cancel()
            await asyncio.gather(task, moment, return_exceptions=True)
        raise
