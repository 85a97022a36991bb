"""A database of PostgreSQL, which all processes of all machines share.

A writer locks what it builds upon, a run's lease before all else, and so sees the present state at
READ COMMITTED; a reader sees one state of the whole database. Serverside limits keep a process that
was stopped in the middle of a transaction from holding a run for ever.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from manifests.errors import InputError, StoreError
from orchestrator.store.connection import Database, prepare_each
from orchestrator.store.errors import BUSY_SECONDS, TransactionLost

CONNECTIONS: Final = 4
"""The connections that one process opens at most; its threads take turns on them."""

_DRIVER: Final = "postgresql+psycopg"

_SECRETS: Final = frozenset({"password", "sslpassword"})
_CATALOGUE_LOCK: Final = 0x0CE0_A7EA
"""The advisory lock of whoever writes to the catalogue; the number means nothing."""

_IDLE_SECONDS: Final = BUSY_SECONDS / 2

_SESSION: Final = (
    # What a commit promises must be on disk, whatever the server's default.
    """SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'""",
    f"SET lock_timeout = '{BUSY_SECONDS:g}s'",
    # A process that was stopped must give up its locks before those who wait for them give up.
    f"SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS:g}s'",
)

# A server, or the network to it, that is gone without a word is noticed in seconds.
_CONNECT: Final[dict[str, Any]] = {
    "autocommit": True,
    "application_name": "ceo-arena",
    "client_encoding": "utf8",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}

_BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

_UNUSABLE: Final = """
    SELECT indexrelid::regclass::text FROM pg_index WHERE NOT (indisvalid AND indisready)
    UNION ALL SELECT conname FROM pg_constraint WHERE NOT convalidated"""

_LOST_TO_OTHERS: Final = ("40001", "40P01")
_LOST_CONNECTION: Final = ("08", "57P01", "57P02", "57P03", "25P03", "53300")
_REFUSED: Final = {
    "25006": ("it is read-only", "Name the primary server, or another store."),
    "42501": ("this user may not do that", "Let the user of the store own its database."),
    "53100": ("its disk is full", "Free some space on the server, then try again."),
    "53200": ("the server is out of memory", "Give it more memory, then try again."),
    "55P03": (
        f"another process kept a row locked for {BUSY_SECONDS:g} seconds",
        "Find out which process holds it (pg_stat_activity), then try again.",
    ),
    "58030": ("the server reports an input/output error", "Look into the server's log."),
    "XX001": ("its content is damaged", "Restore it from a backup."),
    "XX002": ("one of its indexes is damaged", "Rebuild it with REINDEX, then run an audit."),
}


class PostgresqlDatabase(Database):
    """One database; when `alone`, its writers are one at a time, as those of a file are."""

    def __init__(self, engine: Engine, place: str, alone: bool = False) -> None:
        super().__init__(engine, place)
        self._alone = alone

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Names the database, and what the server has against it."""
        try:
            yield
        except DBAPIError as error:
            found = _refusal(self.place, error)
            if found is None:
                raise
            raise found from error
        except NoConnectionFree as error:
            raise TransactionLost(
                f"The store at {self.place} was busy: all {CONNECTIONS} connections of this "
                "process were in use."
            ) from error

    def faults(self) -> Iterator[str]:
        """Settings with which a loss of power loses what was committed, and unusable indexes."""
        with self.read() as connection:
            for setting in ("fsync", "full_page_writes"):
                if connection.exec_driver_sql(f"SHOW {setting}").scalar_one() == "off":
                    yield f"the server runs with {setting} off"
            for name in connection.exec_driver_sql(_UNUSABLE).scalars():
                yield f"{name} is not valid"

    def _begin(self, connection: Connection, writing: bool) -> None:
        connection.exec_driver_sql(_BEGIN_WRITING if writing else _BEGIN_READING)
        if writing and self._alone:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CATALOGUE_LOCK})")


def postgresql_url(location: str) -> URL:
    """The URL of a database. Its password comes from where PostgreSQL's own programs take it.

    Raises:
        InputError: no usable URL, or a password in it, for which reason it is not repeated.
    """
    url = _parsed(location)
    if not url.database:
        raise InputError(
            "The URL of the store names no database.",
            "Name one: postgresql://user@host:5432/database.",
        )
    if url.password is not None or _SECRETS & url.query.keys():
        raise InputError(
            "The URL of the store has a password in it, which other people may read where it is "
            "shown.",
            "Leave it out, and give it in the variable PGPASSWORD or in a password file.",
        )
    return url.set(drivername="postgresql")


def without_password(location: str) -> tuple[str, str | None]:
    """A URL without its password, and the password. Raises InputError when it is no URL."""
    url = _parsed(location)
    bare = URL.create(
        url.drivername, url.username, None, url.host, url.port, url.database, url.query
    )
    return bare.render_as_string(), None if url.password is None else str(url.password)


def postgresql_engine(url: URL) -> Engine:
    """The connections of this process to a database, none of which is open yet."""
    engine = create_engine(
        url.set(drivername=_DRIVER),
        connect_args=_CONNECT,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        use_native_hstore=False,
        # Replies and decisions have no place in the text of an error.
        hide_parameters=True,
    )
    prepare_each(engine, _configure)
    return engine


def _parsed(location: str) -> URL:
    try:
        return make_url(location)
    except (ArgumentError, ValueError):
        raise InputError(
            "The URL of the store cannot be read.",
            "Write it as postgresql://user@host:5432/database.",
        ) from None


def _configure(connection: "psycopg.Connection[Any]") -> None:
    for statement in _SESSION:
        connection.execute(statement.encode())


def _refusal(place: object, error: DBAPIError) -> StoreError | None:
    """What the server has against a statement, or None for a defect of this program."""
    cause = error.orig
    state = getattr(cause, "sqlstate", None)
    if state in _REFUSED:
        because, remedy = _REFUSED[state]
        return StoreError(f"The store cannot be used at {place}: {because}.", remedy)
    if state in _LOST_TO_OTHERS:
        return TransactionLost(f"The store at {place} was busy: {_first_line(cause)}.")
    if state is None and not isinstance(cause, psycopg.OperationalError):
        return None
    if state is None or state.startswith(_LOST_CONNECTION):
        return TransactionLost(
            f"The store cannot be reached at {place}: {_first_line(cause)}.",
            "Check that the server runs there and lets this user in, then try again.",
        )
    return None


def _first_line(error: BaseException | None) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "no reason was given"
