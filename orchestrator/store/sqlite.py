"""A database in a file of SQLite.

A reader says BEGIN and stays one, because SQLite would refuse an upgrade at once whatever the
timeout; a writer says BEGIN IMMEDIATE and waits for its turn.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import QueuePool

from manifests.errors import StoreError
from orchestrator.store.connection import CommitPoint, Database, prepare_each
from orchestrator.store.errors import BUSY_SECONDS, explained, is_read_only

_NEW: Final = "mode=rwc"


class SqliteDatabase(Database):
    """One file."""

    def __init__(self, engine: Engine, path: Path) -> None:
        super().__init__(engine, path)
        self._path = path
        self._writing = Lock()

    @contextmanager
    def write(self, point: CommitPoint) -> Iterator[Connection]:
        """As `Database.write`. The writers of this object take turns before SQLite makes them: they
        wait without asking again and again, and one connection serves them all.
        """
        with self._writing, super().write(point) as connection:
            yield connection

    def explained(self) -> AbstractContextManager[None]:
        """Names the file, and what SQLite or the system has against it."""
        return explained(self._path)

    def keep_log_ahead(self) -> None:
        """Give a new database the write-ahead log, for good."""
        with self.explained(), self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            _set_journal(raw, self._path, "wal")

    def faults(self) -> Iterator[str]:
        """What SQLite finds damaged, and rows that name a row that is not there."""
        with self.read() as connection:
            for line in connection.exec_driver_sql("PRAGMA integrity_check").scalars():
                if line != "ok":
                    yield str(line)
            for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
                yield f"row {row} of {table} names a row of {parent} that is not there"

    def _begin(self, connection: Connection, writing: bool) -> None:
        if connection.info.get("writing") is not writing:
            connection.exec_driver_sql(f"PRAGMA query_only={'OFF' if writing else 'ON'}")
            connection.info["writing"] = writing
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def sqlite_database(path: Path, *, new: bool = False, place: Path | None = None) -> SqliteDatabase:
    """The database in a file, which messages call `place` if it is not to keep its name.

    A `new` one is made with a rollback journal, so that the file holds all of it at every commit.
    Any other must exist, and has SQLite's write-ahead log beside it while it is open; on a file
    system that is read-only it is only read.
    """
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path, _NEW if new else _way_in(path)),
        poolclass=QueuePool,
        # One connection stays open: closing the last one checkpoints and removes the log.
        pool_size=1,
        max_overflow=-1,
        # Replies and decisions have no place in the text of an error.
        hide_parameters=True,
    )
    prepare_each(engine, partial(_configure, path, "delete" if new else "wal"))
    return SqliteDatabase(engine, place or path)


def _way_in(path: Path) -> str:
    """How a database that exists is opened.

    Where nothing can be written SQLite could not even make the log that a database of ours asks
    for. Without a log nobody has it open, and the file is all there is; with one, who writes
    through another mount may be at work, and SQLite reads with its locks.
    """
    if not is_read_only(path.parent):
        return "mode=rw"
    log = path.with_name(f"{path.name}-wal")
    return "mode=ro" if log.exists() else "mode=ro&immutable=1"


def _connect(path: Path, way: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{way}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        # The pool hands a connection to one thread at a time.
        check_same_thread=False,
    )


def _configure(
    path: Path, journal: Literal["delete", "wal"], connection: sqlite3.Connection
) -> None:
    connection.execute("PRAGMA synchronous=FULL")
    # On macOS only these make the disk itself write; elsewhere they do nothing.
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")
    connection.execute("PRAGMA foreign_keys=ON")
    if not is_read_only(path.parent):
        _set_journal(connection, path, journal)


def _set_journal(
    connection: sqlite3.Connection, path: Path, journal: Literal["delete", "wal"]
) -> None:
    (found,) = connection.execute(f"PRAGMA journal_mode={journal}").fetchone()
    if found != journal:
        raise StoreError(
            f"The store cannot be used at {path}: SQLite keeps its journal in mode {found}, "
            f"not {journal}.",
            "Keep the store on a local disk that offers shared memory.",
        )
