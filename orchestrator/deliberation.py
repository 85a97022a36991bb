"""Where policies think: in a thread of their run, so that none of them can hold its host up.

A policy is anybody's code. One that takes too long, or tries to leave the process, fails alone.
"""

import asyncio
import ctypes
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from time import monotonic
from typing import Any, Final, Generic, TypeVar

_T = TypeVar("_T")

MOST_SECONDS: Final = 60.0
"""How long one policy may think about one decision: thousands of times what ours need."""


class Deliberation:
    """The thread in which the policies of one run decide, one after the other.

    A policy that has thought for `most_seconds` is given up, and the others go on in another
    thread. An endless loop is broken; a call that never comes back to Python keeps its thread until
    the process ends.
    """

    def __init__(self, most_seconds: float = MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._thoughts: SimpleQueue[_Thought[Any] | None] = SimpleQueue()
        self._begun = False

    async def on(self, think: Callable[[], _T]) -> _T:
        """What `think` returns or raises.

        Raises:
            TimeoutError: it took too long. RuntimeError: it raised what would end a process.
        """
        if not self._begun:
            self._begun = True
            self._begin()
            weakref.finalize(self, self._thoughts.put, None)
        thought = _Thought(think, asyncio.get_running_loop())
        self._thoughts.put(thought)
        while not thought.done.done():
            seconds = self._most_seconds - thought.seconds
            if seconds > 0:
                await asyncio.wait({thought.done}, timeout=seconds)
            elif thought.give_up():
                self._begin()
                raise TimeoutError(f"no decision after {self._most_seconds:g} seconds")
            else:
                await thought.done
        return thought.result()

    def _begin(self) -> None:
        # A daemon, because a thread that does not come back must not keep the process alive.
        Thread(target=_think, args=(self._thoughts,), name="policies", daemon=True).start()


class _Thought(Generic[_T]):
    """One decision that is thought about: awaited in an event loop, found in a thread."""

    def __init__(self, think: Callable[[], _T], loop: asyncio.AbstractEventLoop) -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self._think = think
        self._loop = loop
        self._thread = 0
        self._begun_at: float | None = None
        self._found: list[_T] = []
        self._error: Exception | None = None
        self._lock = Lock()
        self._ended = False
        self._given_up = False

    @property
    def seconds(self) -> float:
        """For how long it has been thought about; waiting for other thoughts does not count."""
        return 0.0 if self._begun_at is None else monotonic() - self._begun_at

    def think(self) -> bool:
        """Find the result, in the thread that calls this; whether the thread may go on."""
        self._thread = get_ident()
        self._begun_at = monotonic()
        try:
            self._found.append(self._think())
        except Exception as error:  # noqa: BLE001 - it is raised where the decision is awaited
            self._error = error
        except BaseException as error:  # noqa: BLE001 - such as SystemExit, in anybody's code
            self._error = RuntimeError(f"the policy raised {error!r}")
        with self._lock:
            self._ended = not self._given_up
        if self._ended:
            # The loop is closed when nobody waits any more.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._tell)
        return self._ended

    def give_up(self) -> bool:
        """Let the thread end at its next step in Python; False when there is a result after all."""
        with self._lock:
            if not self._ended:
                self._given_up = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(SystemExit)
                )
            return self._given_up

    def result(self) -> _T:
        """What was found, or raises what was raised."""
        if self._error is not None:
            raise self._error
        return self._found[0]

    def _tell(self) -> None:
        if not self.done.cancelled():
            self.done.set_result(None)


def _think(thoughts: "SimpleQueue[_Thought[Any] | None]") -> None:
    while (thought := thoughts.get()) is not None:
        if not thought.think():
            return
