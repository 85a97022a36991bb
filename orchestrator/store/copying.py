"""A whole store copied: to another directory while it is used, or to a server while it is not."""

import hashlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Column, Connection, RowMapping, Table, func, insert, select, text, update

from manifests.errors import InputError, IntegrityError, StoreError
from orchestrator.store.connection import CommitPoint, DatabaseNow
from orchestrator.store.directory import (
    CATALOGUE_FILE,
    open_directory,
    run_files,
    spent_in_run,
)
from orchestrator.store.errors import explained
from orchestrator.store.files import open_file
from orchestrator.store.homes import row_of
from orchestrator.store.location import directory_of, is_shared
from orchestrator.store.records import RunKey
from orchestrator.store.schema import (
    CATALOGUE_TABLES,
    RUN_TABLES,
    campaign_leases,
    campaigns,
    run_leases,
    runs,
)
from orchestrator.store.spending_rows import Spent, restate

_LEASES: Final = (campaign_leases, run_leases)

_SPACE: Final = 1 << 256


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds; `was_there` says that an earlier one had brought it."""

    runs: int
    rows: int
    was_there: bool

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON."""
        return asdict(self)


def backup(location: str, to: Path) -> int:
    """Copy the files of a store to a new directory, each as one state; how many there are.

    The catalogue is copied first: so no run in the copy is behind what the catalogue knows of it.
    Nobody holds anything in the copy.

    Raises:
        InputError: the store is on a server, or there is something at `to`.
        StoreError: there is no store, or the system refuses; nothing is left at `to` then.
    """
    if is_shared(location):
        raise InputError(
            "A store in PostgreSQL is backed up by the server's own program.",
            "Use: pg_dump --format=custom --file=FILE URL; and pg_restore to bring it back.",
        )
    source = directory_of(location)
    open_directory(source, create=False).close()
    with explained(to):
        if to.exists():
            raise InputError(f"There is something at {to} already.", "Name a new directory.")
        beginning = to.with_name(f".new-{to.name}-{secrets.token_hex(4)}")
        try:
            copied = _copy_files(source, beginning)
            beginning.rename(to)
            _sync(to.parent)
            # Of several that were broken off before, nothing is left.
            for leftover in to.parent.glob(f".new-{to.name}-*"):
                shutil.rmtree(leftover, ignore_errors=True)
        finally:
            shutil.rmtree(beginning, ignore_errors=True)
    return copied


def _copy_files(source: Path, to: Path) -> int:
    _copy_file(source / CATALOGUE_FILE, to / CATALOGUE_FILE)
    copied = 1
    for _, path in run_files(source):
        _copy_file(path, to / path.relative_to(source))
        copied += 1
    _restate_spending(to)
    for directory in (*to.rglob("*"), to):
        if directory.is_dir():
            _sync(directory)
    return copied


def _copy_file(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    database = open_file(source)
    try:
        with database.read() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            target = sqlite3.connect(to)
            try:
                raw.backup(target)
            finally:
                target.close()
    finally:
        database.close()
    copy = open_file(to)
    try:
        with copy.write(CommitPoint.RELEASE_COPY) as connection:
            for leases in _LEASES:
                free = update(leases).where(leases.c.owner.is_not(None))
                connection.execute(free.values(owner=None, expires_at=DatabaseNow()))
    finally:
        copy.close()
    _sync(to)


def _restate_spending(copy: Path) -> None:
    """Let the copied catalogue say what the copied runs spent, which were copied after it."""
    spent: list[tuple[str, Spent]] = []
    for key, path in run_files(copy):
        with (
            closing(open_file(path)) as database,
            database.read() as connection,
        ):
            spent += spent_in_run(connection, key, *connection.execute(row_of(key)).one())
    with (
        closing(open_file(copy / CATALOGUE_FILE)) as catalogue,
        catalogue.write(CommitPoint.RELEASE_COPY) as connection,
    ):
        restate(connection, spent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def copy_to_server(location: str, to: str) -> Copied:
    """Copy a store from its directory into an empty database of PostgreSQL, in one transaction.

    Raises:
        InputError: the places are not a directory and a database.
        StoreError: somebody is carrying a campaign out, the database holds another store, or a
            system refuses.
        IntegrityError: what arrived is not what was sent; nothing was kept.
    """
    from orchestrator.store.postgresql import postgresql_url
    from orchestrator.store.server import open_server

    if is_shared(location) or not is_shared(to):
        raise InputError(
            "A store is copied from a directory to a database of PostgreSQL.",
            "Name them: ceo-arena copy postgresql://user@host/database --store DIRECTORY",
        )
    source = directory_of(location)
    with ExitStack() as stack:
        home = stack.enter_context(_closing(open_directory(source, create=False)))
        server = stack.enter_context(_closing(open_server(postgresql_url(to), create=True)))
        # While the catalogue is locked, nobody can begin to carry a campaign out.
        with (
            home.catalogue.write(CommitPoint.COPY_STORE) as catalogue,
            server.catalogue.write(CommitPoint.COPY_STORE) as target,
        ):
            return _copy_all(catalogue, source, target)


@contextmanager
def _closing(opened: Any) -> Iterator[Any]:
    try:
        yield opened
    finally:
        opened.close()


def _copy_all(catalogue: Connection, source: Path, to: Connection) -> Copied:
    was_there = to.scalar(select(func.count()).select_from(campaigns)) != 0
    rows, copied_runs = 0, 0
    for place, tables, connection in _parts(catalogue, source):
        _check_free(connection, place)
        run = None if place is None else _number_of(connection, place)
        for table in tables:
            if not was_there:
                _send(connection, to, table)
            rows += _compared(connection, to, table, run, was_there)
        copied_runs += place is not None
    if not was_there:
        to.execute(_NEXT_RUN)
    return Copied(copied_runs, rows, was_there)


_NEXT_RUN: Final = text(
    "SELECT setval(pg_get_serial_sequence('runs', 'run'), max(run)) FROM runs HAVING max(run) > 0"
)


def _parts(
    catalogue: Connection, source: Path
) -> Iterator[tuple[RunKey | None, tuple[Table, ...], Connection]]:
    """The catalogue, then the file of each of its runs: which tables are its own, and a reader."""
    yield None, CATALOGUE_TABLES, catalogue
    planned = catalogue.execute(select(runs.c.campaign, runs.c.run_id))
    known = {RunKey(*row) for row in planned}
    for key, path in run_files(source):
        if key not in known:
            raise StoreError(f"The catalogue does not know the run in {path}.", "Move it away.")
        database = open_file(path)
        try:
            with database.read() as connection:
                yield key, RUN_TABLES, connection
        finally:
            database.close()


def _number_of(connection: Connection, key: RunKey) -> int:
    return int(connection.execute(row_of(key)).one().run)


def _check_free(connection: Connection, place: RunKey | None) -> None:
    """Raise StoreError while somebody holds a campaign or the run."""
    for leases in _LEASES:
        held = select(leases.c.owner).where(
            leases.c.owner.is_not(None), leases.c.expires_at > DatabaseNow()
        )
        owner = connection.scalar(held)
        if owner is not None:
            what = "A campaign" if place is None else f"The {place}"
            raise StoreError(
                f"{what} is being carried out by {owner}.",
                "Pause it, wait until it rests, then copy the store.",
            )


def _send(source: Connection, to: Connection, table: Table) -> None:
    ordered = select(*_columns(table)).order_by(*table.primary_key.columns)
    for rows in source.execute(ordered).mappings().partitions(500):
        to.execute(insert(table), [_freed(table, row) for row in rows])


def _columns(table: Table) -> list[Column[Any]]:
    """All columns but the number that a database gives to rows of its own accord, which says
    nothing but their order. That of a run is used all over the store.
    """
    given = None if table is runs else table.autoincrement_column
    return [column for column in table.c if column is not given]


def _freed(table: Table, row: RowMapping) -> dict[str, Any]:
    # Nobody holds anything in a copy.
    return {**row, "owner": None} if table in _LEASES else dict(row)


def _compared(
    source: Connection, to: Connection, table: Table, run: int | None, was_there: bool
) -> int:
    """The number of rows of a table that are the same in both. Raises StoreError and IntegrityError
    when they are not.
    """
    sent, arrived = _summary(source, table, None), _summary(to, table, run)
    if sent == arrived:
        return sent[0]
    if was_there:
        raise StoreError(
            f"The database holds another store, or one that has gone on: its table {table.name} "
            "differs.",
            "Copy into an empty database.",
        )
    raise IntegrityError(
        f"The table {table.name} did not arrive as it was sent: {arrived[0]} rows of {sent[0]}.",
        "Nothing was kept.",
    )


def _summary(connection: Connection, table: Table, run: int | None) -> tuple[int, int]:
    """How many rows a table has, and a digest of their content in any order."""
    query = select(*_columns(table))
    if run is not None:
        query = query.where(table.c.run == run)
    count = total = 0
    for row in connection.execute(query.execution_options(yield_per=500)).mappings():
        content = repr(sorted(_freed(table, row).items())).encode()
        total = (total + int.from_bytes(hashlib.sha256(content).digest())) % _SPACE
        count += 1
    return count, total
