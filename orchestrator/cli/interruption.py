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


@contextmanager
def interruptible() -> Iterator[None]:
    """Let ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt once, and then end the process.

    The second kills what the process has started and ends it with `INTERRUPTED`. A signal that was
    ignored, as under nohup, stays so.
    """
    asked = False

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            _end_at_once()
        asked = True
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_at_once() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(INTERRUPTED)
