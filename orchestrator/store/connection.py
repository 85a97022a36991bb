"""A database and the two ways to use it, read and write.

What is peculiar to a kind of database is in `sqlite` and `postgresql`: how a transaction begins,
and what its refusals mean. The driver runs in autocommit mode and the transactions are ours, so
that a reader can never become a writer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import tenacity
from sqlalchemy import BigInteger, Connection, Dialect, Engine, Table, event, insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql.functions import GenericFunction

from manifests.errors import RESTORE, IntegrityError
from orchestrator.store.errors import TransactionLost

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

PATIENCE_SECONDS: Final = 20.0
"""How long a transaction that was lost is tried again: a server needs some seconds to restart."""


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
    CREATE_RUN = "create run"
    NOTE_FILE = "note file"
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
    RELEASE_COPY = "release copy"
    COPY_STORE = "copy store"
    PAUSE_ROUTE = "pause route"
    RESOLVE_ROUTES = "resolve routes"
    SET_CAP = "set cap"
    SET_ASIDE = "set aside"
    HOLD_SET_ASIDE = "hold set aside"
    SETTLE_SPENDING = "settle spending"
    RECORD_FAILURE = "record failure"
    SET_HOLD = "set hold"
    EXTEND_CAMPAIGN = "extend campaign"
    RENEW_COPY = "renew copy"


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
    """The point in time of a stored number of milliseconds. Raises IntegrityError for no time."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, TypeError) as error:
        raise IntegrityError(
            f"The store holds {milliseconds!r} as a point in time.", RESTORE
        ) from error


class Database(ABC):
    """One database; `place` is where it is, for messages."""

    def __init__(self, engine: Engine, place: Path | str) -> None:
        self.engine = engine
        self.place = place

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and cannot write.

        Raises:
            StoreError: the database or the system under it refuses. TransactionLost: it is gone.
        """
        with self.explained(), self.engine.connect() as connection, connection.begin():
            self._begin(connection, writing=False)
            yield connection

    @contextmanager
    def write(self, point: CommitPoint) -> Iterator[Connection]:
        """A transaction that commits at the end of the block; after an exception nothing changes.

        Raises:
            StoreError: the database or the system under it refuses. If that happens in the commit
                itself, only reading back can tell whether it was done. TransactionLost: the same,
                and it may be tried again.
        """
        with self.explained(), self.engine.connect() as plain:
            connection = plain.execution_options(commit_point=point)
            with connection.begin():
                self._begin(connection, writing=True)
                yield connection

    def close(self) -> None:
        """Close files and connections; using the database again opens them again."""
        self.engine.dispose()

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """What the database itself finds wrong with its content or its settings."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """Turns what the database reports in the block into a StoreError; lets the rest pass."""

    @abstractmethod
    def _begin(self, connection: Connection, writing: bool) -> None:
        """Say BEGIN in the database's words."""


class _Driver(Protocol):
    def close(self) -> None: ...


_D = TypeVar("_D", bound=_Driver)


def prepare_each(engine: Engine, prepare: Callable[[_D], None]) -> None:
    """Prepare every connection that an engine opens. One for which that fails is closed, because
    the engine forgets it without doing so.
    """

    def prepared(connection: _D, _entry: ConnectionPoolEntry) -> None:
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise

    event.listen(engine, "connect", prepared)


repeated: Final = tenacity.retry(
    retry=tenacity.retry_if_exception_type(TransactionLost),
    wait=tenacity.wait_random_exponential(multiplier=0.05, max=2.0),
    stop=tenacity.stop_after_delay(PATIENCE_SECONDS),
    reraise=True,
)
"""Decorates a method that is one transaction: it is done again when that was lost, for a while.

The lost transaction may have been committed. So a method that writes begins by reading what it
builds upon, and leaves be what it finds there already.
"""


def insert_rows(connection: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """Insert rows that hold the table's columns in order, many with one statement.

    SQLite's driver lets other threads go first at every row of an `executemany`, and PostgreSQL's
    asks the server for each. The types of our columns need no conversion.
    """
    offset = 0
    for count in _portions(len(rows)):
        values = tuple(value for row in rows[offset : offset + count] for value in row)
        connection.exec_driver_sql(_insertion(table, connection.dialect, count), values)
        offset += count


_MOST_ROWS: Final = 64
_POSITIONAL: Final = {"sqlite": "qmark", "postgresql": "format"}
_insertions: Final[dict[tuple[str, str, int], str]] = {}


def _portions(count: int) -> Iterator[int]:
    """Powers of two that add up to a number of rows: so there are few different statements."""
    while count:
        portion = min(_MOST_ROWS, 1 << (count.bit_length() - 1))
        yield portion
        count -= portion


def _insertion(table: Table, dialect: Dialect, rows: int) -> str:
    key = (table.name, dialect.name, rows)
    if key not in _insertions:
        positional: Any = type(dialect)
        one = str(insert(table).compile(dialect=positional(paramstyle=_POSITIONAL[dialect.name])))
        beginning, values = one.split(" VALUES ")
        _insertions[key] = f"{beginning} VALUES {', '.join([values] * rows)}"
    return _insertions[key]
