"""Databases as SQLite files: made whole or not at all, opened at the present revision."""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from manifests.errors import StoreError
from orchestrator.store.connection import CommitPoint, Database
from orchestrator.store.errors import explained
from orchestrator.store.revisions import anything, brought_up_to_date, stamp
from orchestrator.store.schema import metadata
from orchestrator.store.sqlite import sqlite_database


def create_file(
    path: Path,
    fill: Callable[[Connection], None],
    point: CommitPoint = CommitPoint.CREATE_DATABASE,
) -> None:
    """Make the database at `path` with the tables and what `fill` inserts, unless it exists.

    It is built under another name and linked into place when it is complete, so that neither a
    killed process nor a full disk leaves half a database, and of two that make it at once one wins.

    Raises:
        StoreError: the place is read-only, full or forbidden; nothing is left there.
    """
    beginning = f".new-{hashlib.sha256(path.name.encode()).hexdigest()[:8]}-"
    with explained(path), _directory(path.parent):
        temporary = path.with_name(f"{beginning}{secrets.token_hex(8)}.db")
        try:
            _build(temporary, path, fill, point)
            os.link(temporary, path)
        except (StoreError, OSError):
            # Of several that make one database, the first removes what the others have begun.
            if not path.exists():
                raise
        else:
            _sync(path.parent)
        finally:
            useless = beginning if path.exists() else temporary.name
            for leftover in path.parent.glob(f"{useless}*"):
                leftover.unlink(missing_ok=True)


def open_file(path: Path, check: Callable[[Connection], None] = anything) -> Database:
    """The database at `path`, migrated to the present revision if it is older, unless `check`
    raises.

    Raises:
        StoreError: no such file, no database of a store, from a newer version, or refused.
    """
    with explained(path):
        if not path.is_file():
            raise StoreError(f"There is no database at {path}.", "Check the path of the store.")
    database = sqlite_database(path)
    try:
        brought_up_to_date(database, check)
    except BaseException:
        database.close()
        raise
    return database


def _build(
    temporary: Path, path: Path, fill: Callable[[Connection], None], point: CommitPoint
) -> None:
    database = sqlite_database(temporary, new=True, place=path)
    try:
        with database.write(point) as connection:
            # A new file has no tables that would have to be looked for.
            metadata.create_all(connection, checkfirst=False)
            stamp(connection)
            fill(connection)
        database.keep_log_ahead()
    finally:
        database.close()


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    """Make a directory and those missing above it; after an exception remove what is empty."""
    missing = [path, *path.parents]
    missing = missing[: next(n for n, parent in enumerate(missing) if parent.exists())]
    made: list[Path] = []
    try:
        for directory in reversed(missing):
            directory.mkdir(exist_ok=True)
            made.append(directory)
            _sync(directory.parent)
        yield
    except BaseException:
        for directory in reversed(made):
            try:
                directory.rmdir()
            except OSError:
                break
        raise


def _sync(directory: Path) -> None:
    """Make the names in a directory survive a loss of power."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
