"""Looking again and again until something is so; tenacity does the waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_result

_LOOK_SECONDS: Final = 1.0
"""How long a wait sleeps before it looks whether the run is to rest."""

_T = TypeVar("_T")


class Clock(Protocol):
    """Time as a session needs it, so that a test can hand in its own."""

    def monotonic(self) -> float: ...

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


async def waited_out(seconds: float, stopping: Callable[[], bool], clock: Clock) -> bool:
    """Wait so long, or until the run is to rest; False when it is."""
    end = clock.monotonic() + seconds

    async def seconds_left() -> float:
        return 0.0 if stopping() else end - clock.monotonic()

    await look_until(
        seconds_left, lambda left: min(left, _LOOK_SECONDS) if left > 0 else None, clock.sleep
    )
    return not stopping()


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
