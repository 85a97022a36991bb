"""Directories for what may be lost, such as working copies: gone with whoever made them.

A process holds a lock on each of its directories for as long as it lives. One that dies leaves
them, without a lock: whoever next makes a directory of the same kind removes them first.
"""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

_UNBORN: Final = "new-"
"""How the name of a directory begins that is not locked yet."""

_YOUNG_SECONDS: Final = 600.0


class Scratch:
    """One directory of a kind, made when its path is first asked for, that this user alone can
    read. The kind is how its name begins; `parent` is the system's place for such things unless it
    is given.
    """

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        self._kind = kind
        self._parent = parent or Path(tempfile.gettempdir())
        self._making = Lock()
        self._path: Path | None = None
        self._lock = -1

    def path(self) -> Path:
        """The directory; another one when somebody has removed it. May be called from many
        threads.
        """
        with self._making:
            if self._path is not None and not _holds(self._lock, self._path):
                self._forget()
            if self._path is None:
                clear_scratch(self._kind, self._parent)
                made = Path(tempfile.mkdtemp(prefix=f"{_UNBORN}{self._kind}-", dir=self._parent))
                self._lock = _locked(made)
                self._path = made.rename(made.with_name(made.name.removeprefix(_UNBORN)))
            return self._path

    def close(self) -> None:
        """Remove the directory; asking for its path makes another one."""
        with self._making:
            if self._path is not None:
                self._forget()

    def _forget(self) -> None:
        assert self._path is not None
        shutil.rmtree(self._path, ignore_errors=True)
        os.close(self._lock)
        self._path = None


def clear_scratch(kind: str, parent: Path | None = None) -> None:
    """Remove the directories of this kind and user whose makers are dead."""
    place = parent or Path(tempfile.gettempdir())
    for left in place.glob(f"{kind}-*"):
        _remove_if_left(left)
    for unborn in place.glob(f"{_UNBORN}{kind}-*"):
        with suppress(OSError):
            if time.time() - unborn.stat().st_mtime > _YOUNG_SECONDS:
                _remove_if_left(unborn)


def _remove_if_left(directory: Path) -> None:
    # A lock that is held, a directory of somebody else, or one that is gone by now: let it be.
    with suppress(OSError):
        if directory.stat().st_uid == os.getuid():
            lock = _locked(directory)
            shutil.rmtree(directory, ignore_errors=True)
            os.close(lock)


def _locked(directory: Path) -> int:
    """The lock on a directory, held while the file number is open. Raises OSError if it is held."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise
    return number


def _holds(lock: int, directory: Path) -> bool:
    """Whether a lock is that of the directory which is at this path now."""
    try:
        return os.path.samestat(os.fstat(lock), directory.stat())
    except FileNotFoundError:
        return False
