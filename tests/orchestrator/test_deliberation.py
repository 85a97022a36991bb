"""Policies that think too long, and what becomes of those behind them."""

import asyncio
import gc
import threading
import time
from collections.abc import Callable

import pytest

from orchestrator.deliberation import Deliberation
from tests.patience import until

SHORT = 0.05


def loop_for_ever() -> None:
    while True:
        pass


def leave() -> None:
    raise SystemExit(4)


def stop() -> None:
    raise StopIteration


def policy_threads() -> set[threading.Thread]:
    # From Python 3.12 on, `asyncio.run` leaves its result, here with an exception whose traceback
    # has a deliberation, to the garbage collector.
    gc.collect()
    return {thread for thread in threading.enumerate() if thread.name == "policies"}


def test_thoughts_come_one_after_the_other_in_one_thread() -> None:
    async def think() -> list[int]:
        deliberation = Deliberation()
        thoughts = [deliberation.on(threading.get_ident) for _ in range(5)]
        return await asyncio.gather(*thoughts)

    (thread,) = set(asyncio.run(think()))
    assert thread != threading.get_ident()


def test_an_endless_loop_fails_alone_and_is_broken() -> None:
    before = policy_threads()

    async def think() -> tuple[object, ...]:
        deliberation = Deliberation(SHORT)
        return await asyncio.gather(
            deliberation.on(lambda: "before"),
            deliberation.on(loop_for_ever),
            deliberation.on(lambda: "after"),
            return_exceptions=True,
        )

    first, endless, last = asyncio.run(think())
    assert (first, last) == ("before", "after")
    assert isinstance(endless, TimeoutError)
    assert str(endless) == "no decision after 0.05 seconds"
    # Its traceback keeps the deliberation.
    del endless
    until(lambda: policy_threads() <= before)


def test_the_event_loop_goes_on_while_a_policy_sleeps() -> None:
    async def think() -> int:
        asleep = asyncio.create_task(Deliberation().on(lambda: time.sleep(0.3)))
        steps = 0
        while not asleep.done():
            await asyncio.sleep(0.001)
            steps += 1
        return steps

    assert asyncio.run(think()) > 1


@pytest.mark.parametrize("end", [leave, stop])
def test_what_would_end_a_process_or_a_coroutine_is_an_ordinary_failure(
    end: Callable[[], None],
) -> None:
    async def think() -> None:
        await Deliberation().on(end)

    with pytest.raises(RuntimeError):
        asyncio.run(think())


def test_the_thread_ends_with_its_deliberation() -> None:
    before = policy_threads()
    asyncio.run(Deliberation().on(lambda: None))
    until(lambda: policy_threads() <= before)
