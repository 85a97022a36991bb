"""Signals that ask a command to end: the first gently, the second at once.

Ray replaces the handlers of the thread that starts it, and is hurt by an exception in the middle;
`actors.session` starts and ends it in a thread of its own, so that these stay and strike elsewhere.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import psutil

INTERRUPTED: Final = 130
"""The exit code of a command that was asked to end."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Whether the command was asked to end."""

    def __init__(self) -> None:
        self._asked = False
        self._deferred = False

    def ask(self, _signal: int, _frame: FrameType | None) -> None:
        """The handler of the signals."""
        if self._asked:
            _end_at_once()
        self._asked = True
        if not self._deferred:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt when the command was asked to end: where a signal strikes,
        somebody else's code may swallow the exception.
        """
        if self._asked:
            raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let the first signal wait for the end of the block, as imports need it."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        self.check()


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Let ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt once, and then end the process.

    The second kills what the process has started and ends it with `INTERRUPTED`. A signal that was
    ignored, as under nohup, stays so.
    """
    interruption = Interruption()
    before = {
        number: signal.signal(number, interruption.ask)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_at_once() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(INTERRUPTED)
