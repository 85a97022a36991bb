"""Databases as SQLite files: made whole or not at all, opened at the present revision."""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select

from manifests.errors import StoreError
from orchestrator.store.connection import (
    CommitPoint,
    Database,
    keep_log_ahead,
    sqlite_database,
)
from orchestrator.store.errors import explained
from orchestrator.store.schema import REVISION, metadata, version_table


def create_file(path: Path, fill: Callable[[Connection], None]) -> None:
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
            _build(temporary, path, fill)
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


def open_file(path: Path) -> Database:
    """The database at `path`, migrated to the present revision if it is older.

    Raises:
        StoreError: no such file, no database of a store, from a newer version, or refused.
    """
    with explained(path):
        if not path.is_file():
            raise StoreError(f"There is no database at {path}.", "Check the path of the store.")
    database = sqlite_database(path)
    try:
        found = _revision(database)
        if found != REVISION:
            # Alembic takes most of a second to import, and is rarely needed.
            from orchestrator.store import migrations

            migrations.upgrade(database, found)
    except BaseException:
        database.close()
        raise
    return database


def _build(temporary: Path, path: Path, fill: Callable[[Connection], None]) -> None:
    database = sqlite_database(temporary, new=True, place=path)
    try:
        with database.write(CommitPoint.CREATE_DATABASE) as connection:
            metadata.create_all(connection)
            version_table.create(connection)
            connection.execute(insert(version_table).values(version_num=REVISION))
            fill(connection)
        keep_log_ahead(database)
    finally:
        database.close()


def _revision(database: Database) -> str | None:
    """The revision at which a database of ours is; None before the first."""
    with database.read() as connection:
        if not inspect(connection).has_table(version_table.name):
            raise StoreError(
                f"{database.place} is a database, but not one of a CEO Arena store.",
                "Name another place for the store.",
            )
        return connection.execute(select(version_table.c.version_num)).scalar()


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
