"""Looking again and again until something is so; tenacity does the waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_result

_T = TypeVar("_T")


async def look_until(
    look: Callable[[], Awaitable[_T]],
    again: Callable[[_T], float | None],
    sleep: Callable[[float], Awaitable[None]],
) -> _T:
    """What was found in the end: ``again`` says in how many seconds to look again after what was
    found, or None when that is it.
    """

    def seconds(state: RetryCallState) -> float:
        assert state.outcome is not None, "somebody has looked"
        return again(state.outcome.result()) or 0.0

    looking = AsyncRetrying(
        retry=retry_if_result(lambda found: again(found) is not None), wait=seconds, sleep=sleep
    )
    return await looking(look)
