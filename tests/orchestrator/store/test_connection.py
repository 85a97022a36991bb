"""Transactions on SQLite: readers that cannot write, writers that wait, the database's clock."""

import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, select, text
from sqlalchemy.exc import OperationalError

from manifests.errors import StoreError
from orchestrator.store import errors
from orchestrator.store.connection import (
    CommitPoint,
    Database,
    DatabaseNow,
    moment,
)
from orchestrator.store.files import create_file, open_file
from orchestrator.store.sqlite import sqlite_database

POINT = CommitPoint.SET_DESIRED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    def fill(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))

    made = tmp_path / "some.db"
    create_file(made, fill)
    return made


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = open_file(path)
    yield opened
    opened.close()


def rows(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.scalars(text("SELECT x FROM t ORDER BY x")))


def test_durable_settings(database: Database) -> None:
    settings = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }
    for _ in range(2):
        with database.read() as connection:
            for name, value in settings.items():
                assert connection.scalar(text(f"PRAGMA {name}")) == value
        database.close()


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StoreError), database.read() as connection:
        connection.execute(text("INSERT INTO t VALUES (1)"))
    with database.write(POINT) as connection:
        connection.execute(text("INSERT INTO t VALUES (2)"))
    assert rows(database) == [2]


def test_a_reader_sees_one_state(path: Path, database: Database) -> None:
    other = open_file(path)
    with database.read() as connection:
        before = connection.scalar(text("SELECT count(*) FROM t"))
        with other.write(POINT) as writer:
            writer.execute(text("INSERT INTO t VALUES (1)"))
        assert connection.scalar(text("SELECT count(*) FROM t")) == before == 0
    assert rows(database) == [1]
    other.close()


def test_an_exception_rolls_back(database: Database) -> None:
    def fail() -> None:
        with database.write(POINT) as connection:
            connection.execute(text("INSERT INTO t VALUES (1)"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert rows(database) == []


def test_writers_wait_for_each_other(path: Path) -> None:
    def add() -> None:
        own = open_file(path)
        for _ in range(10):
            with own.write(POINT) as connection:
                # Reads before it writes: without BEGIN IMMEDIATE the upgrade would fail at once.
                count = connection.scalar(text("SELECT count(*) FROM t"))
                connection.execute(text("INSERT INTO t VALUES (:x)"), {"x": count})
        own.close()

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database = open_file(path)
    assert rows(database) == list(range(40))
    database.close()


def test_a_lock_that_lasts_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.store.sqlite.BUSY_SECONDS", 0.05)
    holder, waiter = open_file(path), open_file(path)
    with (
        holder.write(POINT),
        pytest.raises(StoreError, match=r"some.db: another process kept it locked"),
        waiter.write(POINT),
    ):
        pass
    holder.close()
    waiter.close()


def test_the_commit_point_can_be_seen_from_outside(database: Database) -> None:
    seen = []
    event.listen(
        database.engine,
        "commit",
        lambda connection: seen.append(connection.get_execution_options().get("commit_point")),
    )
    with database.write(CommitPoint.BEGIN_RUN):
        pass
    rows(database)
    with database.write(CommitPoint.COMMIT_WINDOW):
        pass
    assert [point for point in seen if point] == ["begin run", "commit window"]


def test_the_clock_is_the_databases(database: Database) -> None:
    before = datetime.now(UTC)
    with database.read() as connection:
        found = moment(connection.scalars(select(DatabaseNow())).one())
    after = datetime.now(UTC)
    assert abs(found - before) <= abs(after - before) + datetime.resolution * 2_000


def test_the_clock_of_postgresql_is_that_of_the_statement() -> None:
    from sqlalchemy.dialects import postgresql

    sql = str(select(DatabaseNow()).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    assert "EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT" in sql


def test_nothing_is_created_by_opening(tmp_path: Path) -> None:
    database = sqlite_database(tmp_path / "missing.db")
    with pytest.raises(StoreError, match="it cannot be opened"), database.read():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_defect_is_not_disguised(database: Database) -> None:
    with pytest.raises(OperationalError, match="no such table"), database.read() as connection:
        connection.execute(text("SELECT * FROM missing"))


def test_a_file_system_without_shared_memory_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA journal_mode=DELETE")
    plain.close()
    real = sqlite3.connect

    def connect(name: str, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(f"{name}&vfs=unix-none", **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    database = sqlite_database(path)
    with pytest.raises(StoreError, match="keeps its journal in mode delete"), database.read():
        pass
    database.close()


def test_the_disk_is_blamed_when_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_free_bytes", lambda _place: 0)
    failure = sqlite3.OperationalError("disk I/O error")
    failure.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    with pytest.raises(StoreError, match="the disk is full"), errors.explained(tmp_path / "x.db"):
        raise failure
