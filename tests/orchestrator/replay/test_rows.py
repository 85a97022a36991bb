"""Rows that are missing, or too many, and databases that cannot be read."""

import sqlite3
from pathlib import Path

import pytest

from tests.orchestrator.replay.replaying import ONE_RUN, RUNS, SETTLED_ROWS, only, replay, run_file
from tests.orchestrator.trial import REFERENCE


def test_a_run_that_the_catalogue_lost_is_named(copy: Path) -> None:
    with sqlite3.connect(copy / "catalogue.db") as connection:
        connection.execute("DELETE FROM runs WHERE run_id = ?", (REFERENCE,))
    connection.close()
    lost = only(replay(copy))
    assert (lost.run, lost.what) == (REFERENCE, "the catalogue's list of runs")
    assert (lost.recorded, lost.recomputed) == ("missing", "present")


@pytest.mark.parametrize("table", ["company_windows", *SETTLED_ROWS[1:4], "outcomes"])
def test_a_missing_row_is_found(table: str, copy: Path) -> None:
    key = {"company_windows": "version = 1 AND seat = 2", "outcomes": "seat = 2"}
    where = key.get(table, "version = 2" if table == "checkpoints" else "day = 9")
    with sqlite3.connect(run_file(copy)) as connection:
        assert connection.execute(f"DELETE FROM {table} WHERE {where}").rowcount > 0
    connection.close()
    found = only(replay(copy, ONE_RUN))
    assert (found.field, found.recorded) == ("row", "missing")


@pytest.mark.parametrize("table", ["days", "company_days", "checkpoints", "company_windows"])
def test_a_row_too_many_is_found(table: str, copy: Path) -> None:
    number = "version" if table in {"checkpoints", "company_windows"} else "day"
    with sqlite3.connect(run_file(copy)) as connection:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(f"{name} + 90" if name == number else name for name in names)
        connection.execute(
            f"INSERT INTO {table} SELECT {values} FROM {table} ORDER BY {number} LIMIT 1"
        )
    connection.close()
    assert only(replay(copy, ONE_RUN)).recorded in {"present", "missing"}


def test_a_lost_window_in_the_middle_is_found(copy: Path) -> None:
    with sqlite3.connect(run_file(copy)) as connection:
        connection.execute("DELETE FROM company_windows WHERE version = 1")
    connection.close()
    found = only(replay(copy, ONE_RUN))
    assert (found.what, found.field, found.day) == ("a window", "world version 1", 7)


def test_a_damaged_database_is_a_difference_of_its_run_alone(copy: Path) -> None:
    path = run_file(copy)
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    report = replay(copy)
    found = only(report)
    assert (found.run, found.what) == (REFERENCE, "the database")
    assert report.matched == RUNS - 1
