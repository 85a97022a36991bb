"""Signals that ask a command to end: the first gently, the second at once.

Ray replaces the handlers of the thread that starts it, and is hurt by an exception in the middle;
`actors.session` starts and ends it in a thread of its own, so that these stay and strike elsewhere.
Wherever it starts, it puts a handler before that of SIGTERM, which prints a stack and sets an alarm
that aborts the process three seconds later: once Ray is there, the signals are taken back.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

import psutil

INTERRUPTED: Final = 130
"""The exit code of a command that was asked to end."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Whether the command was asked to end."""

    def __init__(self) -> None:
        self._asked = False
        self._deferred = False
        self._before: dict[signal.Signals, Any] = {}

    def take(self) -> None:
        """Handle the signals, also after somebody else's code has put itself before."""
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before = signal.signal(number, self._ask)
                self._before.setdefault(number, before)

    def give_back(self) -> None:
        """Let the signals be handled as they were before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, _signal: int, _frame: FrameType | None) -> None:
        # One that came while Ray was starting has set its alarm.
        signal.alarm(0)
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
    interruption.take()
    try:
        yield interruption
    finally:
        interruption.give_back()


def _end_at_once() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(INTERRUPTED)
