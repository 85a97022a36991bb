"""The books of one company: its private tables in a SQLite file (interface.md section 3).

A window appends its rows to the history and replaces what holds only today; nothing is rebuilt, so
that the last window opens about as fast as the tenth. The file can always be made again from past
observations. It is a working copy: losing it loses nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from engine.observation import Observation
from engine.records import ActionReceipt, CompanyDay
from engine.tables import PENDING, TABLES, Chronicle, Column, Row, Table
from manifests.errors import StoreError

_REMEDY: Final = "Check that its disk has space and can be written."


class Books:
    """One company's private tables; one window at a time.

    Every method may run in a thread of its own, but no two of the same books at once. Each opens
    the file anew, so that an idle company costs no memory.
    """

    def __init__(self, path: Path) -> None:
        """Begin empty books at ``path``, in a directory that exists, replacing what is there.

        Raises StoreError.
        """
        self.path = path
        self._chronicle = Chronicle()
        self._preceding: Sequence[CompanyDay] = ()
        self._latest: Sequence[CompanyDay] = ()
        self._shown = -1
        try:
            path.unlink(missing_ok=True)
            path.write_bytes(_blank())
        except (sqlite3.Error, OSError) as error:
            raise self._unwritable(error) from error

    @property
    def windows(self) -> int:
        """How many boundaries are in the books; the next one has this world version."""
        return self._chronicle.windows

    @property
    def preceding(self) -> Sequence[CompanyDay]:
        """The company's days of the window before the last elapsed one; empty when there is
        none.
        """
        return self._preceding

    def append(self, past: Iterable[tuple[Observation, Sequence[ActionReceipt]]]) -> None:
        """Take boundaries in their order, each with the receipts of the window that led to it, when
        books are made again. What holds today appears when `open_window` opens the last of them or
        the next.

        Raises StoreError, and ValueError when a boundary is not the next one.
        """
        with self._writing() as connection:
            self._follow(connection, past)

    def open_window(self, observation: Observation, receipts: Sequence[ActionReceipt]) -> None:
        """Show the tables of this boundary; ``receipts`` are those of the window that led to it.

        Opening the same boundary again changes nothing. Raises StoreError, and ValueError when the
        boundary is not the next one.
        """
        version = observation.world_version
        if version == self._shown:
            return
        with self._writing() as connection:
            if version != self.windows - 1:
                self._follow(connection, [(observation, receipts)])
            for table in TABLES:
                if table.present is not None:
                    _replace(connection, table, table.present(observation))
        self._shown = version

    def close(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def _follow(
        self,
        connection: sqlite3.Connection,
        past: Iterable[tuple[Observation, Sequence[ActionReceipt]]],
    ) -> None:
        for observation, receipts in past:
            elapsed = self._chronicle.follow(observation, receipts)
            self._preceding, self._latest = self._latest, observation.elapsed
            for table in TABLES:
                if table.added is not None:
                    _insert(connection, table, table.added(elapsed))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; when it fails, these books are as they were before."""
        before = copy(self._chronicle), self._preceding, self._latest
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
                # A working copy: what is lost with the machine is made again.
                connection.execute("PRAGMA journal_mode = MEMORY")
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
        except BaseException as error:
            self._chronicle, self._preceding, self._latest = before
            if isinstance(error, sqlite3.Error | OSError):
                raise self._unwritable(error) from error
            raise

    def _unwritable(self, error: sqlite3.Error | OSError) -> StoreError:
        return StoreError(f"Cannot write the books {self.path}: {error}", _REMEDY)


@cache
def _blank() -> bytes:
    """The file of books without rows: to copy it is cheaper than to define the tables again."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "blank.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                connection.execute(definition(table))
            connection.execute("COMMIT")
        return path.read_bytes()


def definition(table: Table) -> str:
    """The table in SQL, described in its comments: whoever reads the schema can read these."""
    lines = [_column(column, last=column is table.columns[-1]) for column in table.columns]
    key = f"  , PRIMARY KEY ({', '.join(table.key)})\n" if table.key else ""
    # A key makes the order of rows; without one they stay in the order in which they came.
    ending = ") WITHOUT ROWID" if table.key else ")"
    return (
        f"CREATE TABLE {table.name} ( -- {table.description}\n"
        + "\n".join(lines)
        + f"\n{key}{ending}"
    )


def _column(column: Column, *, last: bool) -> str:
    required = "" if column.nullable else " NOT NULL"
    unit = f"{column.unit}: " if column.unit else ""
    comma = "" if last else ","
    return f"  {column.name} {column.type}{required}{comma} -- {unit}{column.description}"


def _replace(connection: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> None:
    finished = "" if table.added is None else f" WHERE status = '{PENDING}'"
    connection.execute(f"DELETE FROM {table.name}{finished}")
    _insert(connection, table, rows)


def _insert(connection: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> None:
    # What is finished takes the place of its pending row.
    verb = "INSERT" if table.present is None or table.added is None else "REPLACE"
    places = ", ".join("?" * len(table.columns))
    connection.executemany(f"{verb} INTO {table.name} VALUES ({places})", rows)
