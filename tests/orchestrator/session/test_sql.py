"""Queries as a CEO uses them: results, parameters, limits, and errors that help."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manifests.errors import StoreError
from orchestrator.session.books import Books
from orchestrator.session.sql import (
    MOST_ROWS,
    RESULT_BYTES,
    QueryRefused,
    QueryResult,
    QueryWorkers,
    query,
)
from tests.orchestrator.session.played import books_of, run

SEAT = 2


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """A company's books at day 497."""
    return books_of(tmp_path_factory.mktemp("books"), SEAT, 72)


@pytest.fixture(scope="module")
def workers() -> Iterator[QueryWorkers]:
    with QueryWorkers(2) as running:
        yield running


class Desk:
    """A company with its books and the workers."""

    def __init__(self, workers: QueryWorkers, books: Books) -> None:
        self.workers = workers
        self.books = books

    def result(self, sql: str, *arguments: Any) -> dict[str, Any]:
        outcome = query(self.workers, self.books, sql, *arguments)
        assert isinstance(outcome, QueryResult), outcome
        data: dict[str, Any] = json.loads(outcome.text)
        assert (data["row_count"], data["cut"]) == (outcome.row_count, outcome.cut)
        assert data["row_count"] == len(data["rows"])
        assert ("note" in data) == data["cut"]
        return data

    def refusal(self, sql: str, *arguments: Any) -> str:
        outcome = query(self.workers, self.books, sql, *arguments)
        assert isinstance(outcome, QueryRefused), outcome
        assert outcome.limit == ""
        return outcome.text


@pytest.fixture(scope="module")
def desk(workers: QueryWorkers, books: Books) -> Desk:
    return Desk(workers, books)


def test_the_form_of_a_result(desk: Desk) -> None:
    outcome = query(desk.workers, desk.books, "SELECT 1 AS one, 'é' AS text, NULL, 0.5")
    assert outcome == QueryResult(
        '{"columns":["one","text","NULL","0.5"],"rows":[[1,"é",null,0.5]],"row_count":1,"cut":false}',
        1,
        False,
    )


def test_ordinary_questions(desk: Desk) -> None:
    data = desk.result(
        "WITH recent AS (SELECT * FROM daily_product_sales WHERE day > 490) "
        "SELECT product_id, sum(fulfilled_units) AS units, sum(revenue_cents) "
        "FROM recent GROUP BY product_id ORDER BY product_id;"
    )
    assert data["columns"] == ["product_id", "units", "sum(revenue_cents)"]
    assert [row[0] for row in data["rows"]] == ["A", "B", "C"]
    days = [day for moment in run()[71:72] for day in moment.elapsed]
    sold = [
        sum(company.products[j].fulfilled_units for day in days for company in day.companies
            if company.seat == SEAT)
        for j in range(3)
    ]  # fmt: skip
    assert [row[1] for row in data["rows"]] == sold


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(satisfaction), min(loyalty), max(failures) FROM daily_segment_service",
        "SELECT day, sum(cents) OVER (ORDER BY day) FROM daily_expenses WHERE category = 'holding'",
        "SELECT company_id FROM public_prices JOIN products USING (product_id) WHERE NOT is_own",
        "SELECT * FROM tender_history WHERE winner_company_id LIKE 'company-%' LIMIT 3",
        "SELECT json_group_array(day) FROM daily_cashflow",
        "SELECT value FROM json_each('[1, 2]')",
        "SELECT printf('%.2f', cash_cents / 100.0), round(ln(2.5), 3) FROM company",
        "WITH RECURSIVE d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d LIMIT 9) SELECT n FROM d",
        "WITH d(n) AS (SELECT 1) SELECT count(*) FROM d",
        "SELECT count(*) FROM (SELECT 1 UNION SELECT 2 EXCEPT SELECT 2)",
        "/* a comment */ -- and another\n select day from company",
        "SELECT name, sql FROM sqlite_schema",
        "SELECT name FROM sqlite_master WHERE type = 'table'",
    ],
)
def test_all_of_select_works(desk: Desk, sql: str) -> None:
    assert desk.result(sql)["row_count"] > 0


def test_repeating_a_query_gives_the_same_bytes(desk: Desk) -> None:
    sql = "SELECT * FROM daily_segment_service"
    assert query(desk.workers, desk.books, sql) == query(desk.workers, desk.books, sql)


def test_parameters_by_place_and_by_name(desk: Desk) -> None:
    assert desk.result("SELECT ?, ?", [1, "x"])["rows"] == [[1, "x"]]
    assert desk.result("SELECT :a, :b", {"b": 2.5, "a": None})["rows"] == [[None, 2.5]]
    assert desk.result(
        "SELECT count(*) FROM daily_cashflow WHERE day BETWEEN :first AND :last",
        {"first": 10, "last": 19},
    )["rows"] == [[10]]


def test_rows_are_limited_and_a_cut_result_says_so(desk: Desk) -> None:
    data = desk.result("SELECT * FROM daily_expenses")
    assert (data["row_count"], data["cut"]) == (1_000, True)
    assert data["note"].startswith("Cut after 1000 rows, the row limit; there are more.")
    data = desk.result("SELECT * FROM daily_expenses", None, MOST_ROWS)
    assert (data["row_count"], data["cut"]) == (497 * 12, False)
    assert desk.result("SELECT * FROM daily_expenses LIMIT 5", None, 5)["cut"] is False
    assert desk.result("SELECT * FROM daily_expenses LIMIT 6", None, 5)["cut"] is True


def test_a_result_holds_at_most_1_mb_and_says_that_it_is_cut(desk: Desk) -> None:
    sql = "SELECT printf('%09000d', day) FROM daily_cashflow"
    outcome = query(desk.workers, desk.books, sql)
    assert isinstance(outcome, QueryResult)
    assert outcome.cut
    assert RESULT_BYTES - 10_000 < len(outcome.text.encode()) <= RESULT_BYTES
    note = json.loads(outcome.text)["note"]
    assert note.startswith(f"Cut after {outcome.row_count} rows: a result holds at most 1000000 by")


def test_a_row_above_1_mb_leaves_an_empty_cut_result(desk: Desk) -> None:
    data = desk.result("SELECT " + ", ".join(["printf('%090000d', 1)"] * 12))
    assert (data["rows"], data["cut"]) == ([], True)


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_row_limit_out_of_range_is_refused(desk: Desk, limit: int) -> None:
    expected = f"row_limit: must be 1..10000, received {limit}"
    assert desk.refusal("SELECT 1", None, limit) == expected


def test_an_unknown_table_names_those_that_exist(desk: Desk) -> None:
    text = desk.refusal("SELECT * FROM sales")
    assert text.startswith("SQL error: no such table: sales. The tables are: action_receipts, ")
    assert "daily_product_sales" in text
    assert text.count(",") == 28


def test_an_unknown_column_names_those_of_the_tables_in_use(desk: Desk) -> None:
    assert desk.refusal("SELECT c.money, p.day FROM company c, products p") == (
        "SQL error: no such column: c.money. The columns are: "
        "company (company_id, status, world_version, day, cash_cents, support_queue); "
        "products (product_id, price_cents, promotion_cents, effective_price_cents, "
        "reorder_target, daily_development_budget_cents, realized_quality)."
    )
    assert "The tables are: action_receipts, " in desk.refusal("SELECT money")


@pytest.mark.parametrize(
    ("sql", "parameters", "text"),
    [
        ("SELECT 1 +", None, "SQL error: incomplete input"),
        ("SELECT ?", None, "SQL error: Incorrect number of bindings supplied."),
        ("SELECT :a", {"b": 1}, "SQL error: You did not supply a value for binding"),
        ("SELECT ?", [2**64], "SQL error: Python int too large to convert to SQLite INTEGER"),
        ("SELECT ?", [[1]], "parameters[1]: must be text, a number or null, received a list"),
        ("SELECT :a", {"a": {}}, "parameters['a']: must be text, a number or null, received a dic"),
        ("SELECT regexp('a', 'b')", None, "SQL error: no such function: regexp"),
        ("SELECT 'a' REGEXP 'b'", None, "SQL error: no such function: REGEXP"),
    ],
)
def test_errors_say_what_is_wrong(desk: Desk, sql: str, parameters: Any, text: str) -> None:
    assert desk.refusal(sql, parameters).startswith(text)


def test_cells_that_json_does_not_know(desk: Desk) -> None:
    data = desk.result("SELECT x'00ff', 1e999, -1e999, CAST(x'41ff42' AS TEXT), 'a' || char(0)")
    assert data["rows"] == [["x'00ff'", "inf", "-inf", "A\ufffdB", "a\0"]]


def test_missing_books_are_a_fault_of_the_store(tmp_path: Path, workers: QueryWorkers) -> None:
    lost = books_of(tmp_path, SEAT, 2)
    lost.path.unlink()
    with pytest.raises(StoreError, match=r"Cannot read the books .*company-2\.db"):
        query(workers, lost, "SELECT 1")


def test_damaged_books_are_a_fault_of_the_store(tmp_path: Path, workers: QueryWorkers) -> None:
    damaged = books_of(tmp_path, SEAT, 2)
    damaged.path.write_bytes(b"no database at all" * 1_000)
    with pytest.raises(StoreError, match="file is not a database"):
        query(workers, damaged, "SELECT * FROM company")
