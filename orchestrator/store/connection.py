"""A database and the two ways to use it, read and write. All SQL peculiar to SQLite is here.

The driver runs in autocommit mode and the transactions are ours: a reader says BEGIN and can never
become a writer, because SQLite would refuse that upgrade at once whatever the timeout; a writer
says BEGIN IMMEDIATE and waits for its turn.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from sqlalchemy import BigInteger, Connection, Dialect, Engine, Table, create_engine, event, insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.sql.functions import GenericFunction

from manifests.errors import StoreError
from orchestrator.store.errors import BUSY_SECONDS, explained

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CommitPoint(StrEnum):
    """Every transaction that writes. SQLAlchemy's `commit` event of the engine class comes before
    each; the connection's execution option `commit_point` says which it is."""

    CREATE_DATABASE = "create database"
    UPGRADE_DATABASE = "upgrade database"
    CREATE_CAMPAIGN = "create campaign"
    RESOLVE_RUN = "resolve run"
    SET_DESIRED = "set desired"
    ACQUIRE_CAMPAIGN = "acquire campaign"
    RENEW_CAMPAIGN = "renew campaign"
    RELEASE_CAMPAIGN = "release campaign"
    ACQUIRE_RUN = "acquire run"
    RENEW_RUN = "renew run"
    RELEASE_RUN = "release run"
    SET_STATUS = "set status"
    BEGIN_RUN = "begin run"
    COMMIT_WINDOW = "commit window"
    COMPLETE_RUN = "complete run"
    APPEND_EVENT = "append event"
    BEAT = "beat"
    KEEP_LATE_REPLY = "keep late reply"
    PAUSE_ROUTE = "pause route"
    RESOLVE_ROUTES = "resolve routes"
    SET_CAP = "set cap"
    SET_ASIDE = "set aside"
    SETTLE_SPENDING = "settle spending"
    RECORD_FAILURE = "record failure"
    SET_HOLD = "set hold"


class DatabaseNow(GenericFunction[int]):
    """Milliseconds since 1970 (UTC) by the database's clock at the moment of the statement."""

    type = BigInteger()
    inherit_cache = True


@compiles(DatabaseNow, "sqlite")
def _sqlite_now(_element: DatabaseNow, _compiler: Any, **_options: Any) -> str:
    # julianday counts days since noon of 24 November 4714 BC; SQLite's clock has whole
    # milliseconds.
    return "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"


@compiles(DatabaseNow, "postgresql")
def _postgresql_now(_element: DatabaseNow, _compiler: Any, **_options: Any) -> str:
    # Not now(): a transaction that waited for a lock would see the time at which it began to wait.
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"


def moment(milliseconds: int) -> datetime:
    """The point in time of a stored number of milliseconds."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


class Database:
    """One database; `place` is its file, for messages."""

    def __init__(self, engine: Engine, place: Path) -> None:
        self.engine = engine
        self.place = place

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and cannot write."""
        with explained(self.place), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, point: CommitPoint) -> Iterator[Connection]:
        """A transaction that commits at the end of the block; after an exception nothing changes.

        Raises:
            StoreError: the database or the system under it refuses. If that happens in the commit
                itself, only reading back can tell whether it was done.
        """
        with explained(self.place), self.engine.connect() as plain:
            connection = plain.execution_options(commit_point=point)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close the files; using the database again opens them again."""
        self.engine.dispose()


def sqlite_database(path: Path, *, new: bool = False, place: Path | None = None) -> Database:
    """The database in a file, which messages call `place` if it is not to keep its name.

    A `new` one is made with a rollback journal, so that the file holds all of it at every commit.
    Any other must exist, and has SQLite's write-ahead log beside it while it is open.
    """
    engine = create_engine(
        "sqlite://",
        creator=partial(_connect, path, "rwc" if new else "rw"),
        poolclass=QueuePool,
        # One connection stays open: closing the last one checkpoints and removes the log.
        pool_size=1,
        max_overflow=-1,
    )
    event.listen(engine, "connect", partial(_configure, path, "delete" if new else "wal"))
    event.listen(engine, "begin", _begin)
    return Database(engine, place or path)


def keep_log_ahead(database: Database) -> None:
    """Give a new SQLite database the write-ahead log, for good."""
    with explained(database.place), database.engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        _set_journal(raw, database.place, "wal")


def insert_rows(connection: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """Insert rows that hold the table's columns in order, in one call of the driver.

    Half the time of Core's own `executemany`, which rearranges and converts every row; the types of
    our columns need no conversion.
    """
    if rows:
        connection.exec_driver_sql(_insertion(table, connection.dialect), rows)


_insertions: Final[dict[tuple[str, str], str]] = {}


def _insertion(table: Table, dialect: Dialect) -> str:
    key = (table.name, dialect.name)
    if key not in _insertions:
        _insertions[key] = str(insert(table).compile(dialect=dialect))
    return _insertions[key]


def _connect(path: Path, mode: Literal["rw", "rwc"]) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        # The pool hands a connection to one thread at a time.
        check_same_thread=False,
    )


def _configure(
    path: Path,
    journal: Literal["delete", "wal"],
    connection: sqlite3.Connection,
    _entry: ConnectionPoolEntry,
) -> None:
    connection.execute("PRAGMA synchronous=FULL")
    # On macOS only these make the disk itself write; elsewhere they do nothing.
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")
    connection.execute("PRAGMA foreign_keys=ON")
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


def _begin(connection: Connection) -> None:
    writing = "commit_point" in connection.get_execution_options()
    if connection.info.get("writing") is not writing:
        connection.exec_driver_sql(f"PRAGMA query_only={'OFF' if writing else 'ON'}")
        connection.info["writing"] = writing
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
