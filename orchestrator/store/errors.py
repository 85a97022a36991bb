"""What can go wrong, in words: the store's own refusals, and those of the system under it."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound

from manifests.errors import ArenaError, StoreError
from orchestrator.owners import shown

BUSY_SECONDS: Final = 10.0
"""How long a transaction waits for another one before the store counts as locked."""

_LITTLE_SPACE: Final = 1 << 20

_FULL: Final = ("the disk is full", "Free some space, then try again.")
_READ_ONLY: Final = (
    "it is read-only",
    "Make it writable, or copy the whole directory (cp -a) to a place that is, and name that.",
)
_FORBIDDEN: Final = (
    "this user may not open it",
    "Grant read and write access to it and to its directory, or name a store in another place.",
)
_DAMAGED: Final = (
    "its content is damaged",
    "Restore it from a backup. A catalogue can also be moved away: the runs make a new one.",
)
_NOT_ONE_ROW: Final = (
    "a row that must be there once is missing or there twice",
    _DAMAGED[1],
)
_MOVED: Final = (
    "it was moved or deleted while it was open",
    "Put it back where it was, then try again.",
)
_LOCKED: Final = (
    f"another process kept it locked for {BUSY_SECONDS:g} seconds",
    "Find out which process holds it, then try again.",
)
_NOT_SQLITE: Final = (
    "it is not an SQLite database",
    "Move it away if it does not belong here, or restore it from a backup.",
)
_DISK_ERROR: Final = (
    "the system reports an input/output error",
    "Look into the system's log: the disk or its file system may be failing.",
)
_NO_HANDLES: Final = (
    "this process has too many files open",
    "Raise the limit of open files (ulimit -n), then try again.",
)

_BY_CODE: Final = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _NOT_SQLITE,
    sqlite3.SQLITE_IOERR: _DISK_ERROR,
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check that it is there and can be read."),
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_AUTH: _FORBIDDEN,
}

_BY_ERRNO: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EMFILE: _NO_HANDLES,
    errno.ENFILE: _NO_HANDLES,
    errno.EIO: _DISK_ERROR,
}


class TransactionLost(StoreError):
    """A transaction ended by no fault of its own: a lost connection, or others in its way.

    Only when the commit itself was lost it may have been done; see `connection.repeated`.
    """


class NoStore(StoreError):
    """There is nothing at a place where a store was looked for."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"There is no store at {place}.",
            "Launch a campaign to make one, or name the place of another.",
        )
        self.args = (place,)


class LeaseHeld(ArenaError):
    """Somebody else owns the run or the campaign, and the lease has not expired."""

    exit_code = 3

    def __init__(self, subject: str, owner: str, expires_in_seconds: float) -> None:
        super().__init__(
            f"{subject} belongs to {shown(owner)} for another "
            f"{max(expires_in_seconds, 0):.1f} seconds.",
            "Wait for it to finish or to expire. If that owner is still working, leave it at that.",
        )
        self.args = (subject, owner, expires_in_seconds)
        self.subject = subject
        self.owner = owner
        self.expires_in_seconds = expires_in_seconds


class LeaseLost(ArenaError):
    """The lease under which a write was tried is no longer the present one; nothing was written."""

    exit_code = 3

    def __init__(self, subject: str, owner: str, epoch: int) -> None:
        super().__init__(
            f"{shown(owner)} no longer owns {subject}: its lease of epoch {epoch} was taken over "
            "or given up. Nothing was written.",
            "The present owner continues; start again only if there is none.",
        )
        self.args = (subject, owner, epoch)
        self.subject = subject
        self.owner = owner
        self.epoch = epoch


class WindowConflict(ArenaError):
    """A window was to be committed at a world version at which the run does not stand."""

    def __init__(self, subject: str, found: int, offered: int) -> None:
        super().__init__(
            f"{subject} stands at world version {found}; a window from version {offered} "
            "does not follow. Nothing was written.",
            "Continue from the last stored boundary.",
        )
        self.args = (subject, found, offered)
        self.subject = subject
        self.found = found
        self.offered = offered


class WindowAlreadyCommitted(WindowConflict):
    """The very window is stored already: an earlier commit with an unknown end had succeeded."""


@contextmanager
def explained(place: Path) -> Iterator[None]:
    """Turn what the system under the file `place` reports into a StoreError; let the rest pass."""
    try:
        yield
    except DBAPIError as error:
        found = _of_database(place, error.orig)
        if found is None:
            raise
        raise _refusal(place, *found) from error
    except sqlite3.Error as error:
        found = _of_database(place, error)
        if found is None:
            raise
        raise _refusal(place, *found) from error
    except UnicodeDecodeError as error:
        raise _refusal(place, *_DAMAGED) from error
    except (NoResultFound, MultipleResultsFound) as error:
        raise _refusal(place, *_NOT_ONE_ROW) from error
    except OSError as error:
        cause, remedy = _BY_ERRNO.get(
            error.errno or 0, (os.strerror(error.errno or 0).lower(), "Check the path.")
        )
        raise _refusal(Path(error.filename or place), cause, remedy) from error


def is_read_only(place: Path) -> bool:
    """Whether the file system of the directory `place` takes no writes from anybody here."""
    try:
        return bool(os.statvfs(place).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def obstacle(place: Path) -> str:
    """Why nothing can be written into the directory `place` at present, as far as its file system
    tells; empty when nothing is known to be in the way.
    """
    if is_read_only(place):
        return f"The store at {place} is read-only."
    try:
        found = os.statvfs(place)
    except OSError:
        return ""
    free = found.f_bavail * found.f_frsize
    if free < _LITTLE_SPACE or (found.f_files and not found.f_favail):
        return f"The disk of the store at {place} is full ({free // 1024:,} KiB are free)."
    return ""


def _refusal(place: Path, cause: str, remedy: str) -> StoreError:
    return StoreError(f"The store cannot be used at {place}: {cause}.", remedy)


def _of_database(place: Path, error: BaseException | None) -> tuple[str, str] | None:
    """Cause and remedy, or None for an error that is a defect of this program."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # The driver itself found text that is not UTF-8.
        return _DAMAGED if str(error).startswith("Could not decode to UTF-8") else None
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return _MOVED
    kind = code & 0xFF
    if kind == sqlite3.SQLITE_IOERR and _free_bytes(place) < _LITTLE_SPACE:
        return _FULL
    if kind == sqlite3.SQLITE_CANTOPEN:
        return _closed(place) or _BY_CODE[kind]
    return _BY_CODE.get(kind)


def _closed(place: Path) -> tuple[str, str] | None:
    """Why a database that SQLite cannot open is closed to us, if that can be told."""
    directory = place.parent
    if not _allows(directory, os.F_OK):
        return None
    if _free_bytes(place) < _LITTLE_SPACE:
        return _FULL
    if is_read_only(directory):
        return _READ_ONLY
    if not _allows(directory, os.W_OK | os.X_OK):
        return _FORBIDDEN
    if _allows(place, os.F_OK) and not _allows(place, os.R_OK | os.W_OK):
        return _FORBIDDEN
    return None


def _allows(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _free_bytes(place: Path) -> int:
    try:
        return shutil.disk_usage(place.parent).free
    except OSError:
        return _LITTLE_SPACE
