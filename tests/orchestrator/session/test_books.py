"""Books grow with each window and can be made again; a failure leaves them as they were."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.tables import TABLES
from manifests.errors import StoreError
from orchestrator.session.books import Books, definition
from tests.orchestrator.session.played import run

SEAT = 4


def opened(path: Path, windows: int, seat: int = SEAT) -> Books:
    """Books that have opened so many windows of the shared run."""
    books = Books(path)
    for moment in run()[:windows]:
        books.open_window(moment.observe(seat), moment.receipts.get(seat, []))
    return books


def content(books: Books) -> str:
    """Everything in the file, as SQL."""
    with closing(sqlite3.connect(books.path)) as connection:
        return "\n".join(connection.iterdump())


def rows(books: Books, sql: str) -> list[Any]:
    with closing(sqlite3.connect(books.path)) as connection:
        return connection.execute(sql).fetchall()


def test_a_window_shows_today_and_keeps_the_past(tmp_path: Path) -> None:
    books = opened(tmp_path / "books.db", 5)
    assert books.windows == 5
    assert rows(books, "SELECT day, world_version FROM company") == [(28, 4)]
    assert rows(books, "SELECT day FROM daily_cashflow") == [(day,) for day in range(1, 29)]
    assert rows(books, "SELECT count(*) FROM daily_expenses") == [(28 * 12,)]
    assert len(rows(books, "SELECT * FROM public_prices")) == 24


def test_the_schema_describes_itself(tmp_path: Path) -> None:
    """Whoever reads the schema in SQL reads each column's unit and meaning."""
    schema = dict(rows(Books(tmp_path / "books.db"), "SELECT name, sql FROM sqlite_master"))
    assert set(schema) == {table.name for table in TABLES}
    for table in TABLES:
        assert schema[table.name] == definition(table)
        assert table.description in schema[table.name]
        for column in table.columns:
            assert f"{column.name} {column.type}" in schema[table.name]
            assert column.description in schema[table.name]


def test_the_preceding_window_is_remembered(tmp_path: Path) -> None:
    books = Books(tmp_path / "books.db")
    assert books.preceding == ()
    earlier: tuple[Any, ...] = ()
    for moment in run()[:6]:
        observation = moment.observe(SEAT)
        books.open_window(observation, [])
        assert books.preceding == earlier
        earlier = observation.elapsed


def test_opening_a_window_again_changes_nothing(tmp_path: Path) -> None:
    books = opened(tmp_path / "books.db", 8)
    before = content(books)
    books.open_window(run()[7].observe(SEAT), run()[7].receipts.get(SEAT, []))
    assert content(books) == before
    assert books.windows == 8


@pytest.mark.parametrize("windows", [1, 2, 30, 72])
def test_books_made_again_are_the_same(windows: int, tmp_path: Path) -> None:
    """From all earlier boundaries at once, as after a crash; the last may be among them."""
    grown = opened(tmp_path / "grown.db", windows)
    last = run()[windows - 1]
    for taken in (windows - 1, windows):
        again = Books(tmp_path / "again.db")
        again.append(
            (moment.observe(SEAT), moment.receipts.get(SEAT, [])) for moment in run()[:taken]
        )
        again.open_window(last.observe(SEAT), last.receipts.get(SEAT, []))
        assert content(again) == content(grown)
        assert again.preceding == grown.preceding


def test_new_books_replace_what_is_there(tmp_path: Path) -> None:
    opened(tmp_path / "books.db", 3)
    books = Books(tmp_path / "books.db")
    assert rows(books, "SELECT * FROM daily_cashflow") == []
    (tmp_path / "books.db").write_bytes(b"torn by a crash")
    assert rows(Books(tmp_path / "books.db"), "SELECT * FROM company") == []


def test_a_boundary_out_of_order_is_refused_and_leaves_the_books(tmp_path: Path) -> None:
    books = opened(tmp_path / "books.db", 3)
    before = content(books)
    with pytest.raises(ValueError, match="world version 3, got 5"):
        books.open_window(run()[5].observe(SEAT), [])
    assert (content(books), books.windows) == (before, 3)


class BreaksOff(sqlite3.Connection):
    """A connection whose transaction fails at its end, like one on a full disk."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(sql, *arguments)


def test_a_failed_window_leaves_the_books_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = opened(tmp_path / "books.db", 3)
    before, preceding = content(books), books.preceding
    moment = run()[3]
    with monkeypatch.context() as patch:
        original = sqlite3.connect
        patch.setattr(
            sqlite3,
            "connect",
            lambda *args, **options: original(*args, factory=BreaksOff, **options),
        )
        with pytest.raises(StoreError, match="disk is full") as refusal:
            books.open_window(moment.observe(SEAT), [])
    assert str(tmp_path / "books.db") in refusal.value.message
    assert (content(books), books.windows, books.preceding) == (before, 3, preceding)
    books.open_window(moment.observe(SEAT), [])
    assert books.windows == 4


def test_a_place_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Cannot write the books"):
        Books(tmp_path / "file" / "books.db")


def test_closed_books_leave_no_file(tmp_path: Path) -> None:
    books = opened(tmp_path / "books.db", 2)
    books.close()
    books.close()
    assert list(tmp_path.iterdir()) == []


def test_many_companies_open_their_windows_in_threads(tmp_path: Path) -> None:
    seats = run()[20].seats
    with ThreadPoolExecutor(len(seats)) as threads:
        grown = list(threads.map(lambda seat: opened(tmp_path / f"{seat}.db", 21, seat), seats))
    for seat, books in zip(seats, grown, strict=True):
        assert rows(books, "SELECT company_id FROM company") == [(f"company-{seat}",)]
        assert content(books) == content(opened(tmp_path / "alone.db", 21, seat))


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each transaction writes or deletes."""
    counted: list[int] = []

    class Counting(sqlite3.Connection):
        def close(self) -> None:
            counted.append(self.total_changes)
            super().close()

    original = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda *args, **options: original(*args, factory=Counting, **options),
    )
    return counted


def test_a_late_window_is_no_more_work_than_an_early_one(
    tmp_path: Path, changes: list[int]
) -> None:
    """Rows written and deleted at day 490, at most three times those of day 70."""
    opened(tmp_path / "books.db", 72)
    by_day = {7 * number: count for number, count in enumerate(changes[1:])}
    assert by_day[490] <= 3 * by_day[70]
    assert max(by_day.values()) < 600
