"""Waiting for what other processes and threads do: patiently, but not for ever."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

_PATIENCE_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.02

T = TypeVar("T")


def until(met: Callable[[], T], otherwise: str = "it never came to that") -> T:
    """What `met` gives as soon as that is true; fails when it does not come to it."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not (found := met()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(_LOOK_SECONDS)
    return found
