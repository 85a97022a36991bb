"""Hostile SQL gets refusals, never data, never a change, never a stuck host.

Every statement goes through the ordinary door; then the books must have the same bytes, no file may
have appeared, and the next query must be answered.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.session.books import Books
from orchestrator.session.sql import (
    RESULT_BYTES,
    Parameters,
    QueryRefused,
    QueryResult,
    QueryWorkers,
    query,
    worker,
)
from tests.orchestrator.session.played import books_of


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """Our books; a rival's lie beside them."""
    folder = tmp_path_factory.mktemp("books")
    books_of(folder, 3, 30)
    return books_of(folder, 2, 30)


@pytest.fixture(scope="module")
def workers() -> Iterator[QueryWorkers]:
    with QueryWorkers(2) as running:
        yield running


def asked(
    workers: QueryWorkers, books: Books, sql: str, row_limit: int | None = None
) -> QueryResult | QueryRefused:
    """The outcome of a statement that must leave no trace."""
    before = {path: path.read_bytes() for path in books.path.parent.iterdir()}
    here = set(Path.cwd().iterdir())
    outcome = query(workers, books, sql, None, row_limit)
    assert {path: path.read_bytes() for path in books.path.parent.iterdir()} == before
    assert set(Path.cwd().iterdir()) == here
    after = query(workers, books, "SELECT company_id FROM company")
    assert isinstance(after, QueryResult)
    assert json.loads(after.text)["rows"] == [["company-2"]]
    return outcome


CHANGES = [
    "INSERT INTO company SELECT * FROM company",
    "UPDATE company SET cash_cents = 1",
    "DELETE FROM company",
    "REPLACE INTO channels VALUES ('a', 'b')",
    "INSERT INTO channels VALUES ('a', 'b') RETURNING *",
    "UPDATE sqlite_master SET sql = 'x'",
    "DELETE FROM sqlite_master",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "CREATE TEMP TABLE t AS SELECT * FROM company",
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE VIEW v AS SELECT 1",
    "CREATE INDEX i ON company (day)",
    "CREATE TRIGGER t AFTER INSERT ON company BEGIN SELECT 1; END",
    "CREATE TEMP TRIGGER t AFTER INSERT ON company BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "CREATE VIRTUAL TABLE r USING rtree(a, b, c)",
    "DROP TABLE company",
    "ALTER TABLE company RENAME TO mine",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "SAVEPOINT s",
    "ATTACH 'company-3.db' AS rival",
    "ATTACH ':memory:' AS m",
    "ATTACH DATABASE 'file:company-3.db?mode=ro' AS rival",
    "DETACH main",
    "PRAGMA table_info(company)",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = OFF",
    "PRAGMA trusted_schema = ON",
    "PRAGMA hard_heap_limit = 0",
    "PRAGMA database_list",
    "PRAGMA temp_store_directory = '/'",
    "PRAGMA function_list",
]


@pytest.mark.parametrize("sql", CHANGES)
def test_only_select_and_with_can_be_run(workers: QueryWorkers, books: Books, sql: str) -> None:
    outcome = asked(workers, books, sql)
    assert isinstance(outcome, QueryRefused)
    word = sql.split(maxsplit=1)[0].strip(";")
    assert outcome.text == (
        f"Only one SELECT or WITH statement can be run; this begins with {word!r}. The tables and "
        "their columns are listed by SELECT name, sql FROM sqlite_schema."
    )


@pytest.mark.parametrize("sql", CHANGES)
def test_the_authorizer_alone_refuses_each(books: Books, sql: str, tmp_path: Path) -> None:
    """Not the look at the first word: here it is the only guard, on a copy that can be written."""
    copy = tmp_path / "copy.db"
    copy.write_bytes(books.path.read_bytes())
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.set_authorizer(worker.Guard(["company"], []))
        with pytest.raises(sqlite3.DatabaseError, match=r"authoriz|may not be modified"):
            connection.execute(sql)
    assert copy.read_bytes() == books.path.read_bytes()


@pytest.mark.parametrize(
    "sql",
    [sql for sql in CHANGES if sql.split()[0] in ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP")],
)
def test_the_connection_alone_refuses_each(books: Books, sql: str) -> None:
    before = books.path.read_bytes()
    with closing(worker.connect(books.path)) as connection, pytest.raises(sqlite3.Error):
        connection.execute(sql)
    assert books.path.read_bytes() == before


@pytest.mark.parametrize("sql", [sql for sql in CHANGES if sql.split()[0] in ("INSERT", "UPDATE")])
def test_with_opens_no_back_door(workers: QueryWorkers, books: Books, sql: str) -> None:
    outcome = asked(workers, books, f"WITH x AS (SELECT 1) {sql}")
    assert isinstance(outcome, QueryRefused)
    assert outcome.text.startswith(("Refused: ", "SQL error: table sqlite_master may not be"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM company",
        "SELECT 1; ATTACH 'company-3.db' AS rival",
        "SELECT 1;;SELECT 2",
        "; SELECT 1",
        "",
        "   ",
        "-- nothing",
        "/* not closed",
        "/* SELECT */ PRAGMA query_only = OFF",
        "EXPLAIN SELECT 1",
        "EXPLAIN QUERY PLAN SELECT * FROM company",
        "VALUES (1)",
        "SELECTED",
        "SELECT 1 \0 ; DELETE FROM company",
        "SELECT '\0'",
        "SELECT '\ud800'",
        "SELECT \x00",
        "\ufeffSELECT 1",
        "SELECT 'open",
        "SELECT * FROM company LIMIT",
    ],
)
def test_one_whole_statement_or_none(workers: QueryWorkers, books: Books, sql: str) -> None:
    assert isinstance(asked(workers, books, sql), QueryRefused)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("CAST(x'ff' AS TEXT)", "\ufffd"),
        ("CAST(x'c328' AS TEXT)", "\ufffd("),
        ("printf('%s', CAST(x'f09f98' AS TEXT))", "\ufffd"),
        ("substr(CAST(x'61ff' AS TEXT), 2)", "\ufffd"),
        ("group_concat(CAST(x'ff' AS TEXT))", "\ufffd"),
        ("char(55296)", "\ufffd\ufffd\ufffd"),
        ("json_extract('[\"\\ud800\"]', '$[0]')", "\ufffd\ufffd\ufffd"),
        ("char(0)", "\0"),
        ("CAST(x'00' AS TEXT)", "\0"),
        ("x''", "x''"),
        ("x'00ff'", "x'00ff'"),
        ("9e999", "inf"),
    ],
)
def test_bytes_that_are_no_text_are_shown_as_what_can_be_printed(
    workers: QueryWorkers, books: Books, expression: str, shown: str
) -> None:
    outcome = asked(workers, books, f"SELECT {expression} AS a")
    assert isinstance(outcome, QueryResult)
    assert json.loads(outcome.text)["rows"] == [[shown]]
    assert outcome.text.encode(), "what goes into a request is UTF-8"


@pytest.mark.parametrize("place", ["WHERE {} = '1'", "ORDER BY {}", "GROUP BY {}"])
def test_bytes_that_are_no_text_break_no_other_clause(
    workers: QueryWorkers, books: Books, place: str
) -> None:
    where = place.format("CAST(x'ff' AS TEXT)")
    assert isinstance(asked(workers, books, f"SELECT day FROM company {where}"), QueryResult)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT json_extract('{}', CAST(x'ff' AS TEXT))",
        "SELECT json_set('{}', CAST(x'ff' AS TEXT), 1)",
        "SELECT json(CAST(x'ff' AS TEXT))",
        "SELECT * FROM json_each('{}', CAST(x'ff' AS TEXT))",
        "SELECT x'f'",
        "SELECT '\udfff'",
        'SELECT 1 AS "\ud800"',
    ],
)
def test_an_error_over_such_bytes_is_one_that_a_model_can_read(
    workers: QueryWorkers, books: Books, sql: str
) -> None:
    outcome = asked(workers, books, sql)
    assert isinstance(outcome, QueryRefused)
    assert outcome.text.startswith("SQL error: ")
    assert outcome.text.isascii()
    assert "codec" not in outcome.text


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT ?", None),
        ("SELECT ?", [1, 2]),
        ("SELECT :a", {"b": 1}),
        ("SELECT ?", {"a": 1}),
    ],
)
def test_placeholders_without_their_values_are_told_how_to_have_them(
    workers: QueryWorkers, books: Books, sql: str, parameters: Parameters | None
) -> None:
    outcome = query(workers, books, sql, parameters)
    assert isinstance(outcome, QueryRefused)
    assert "Give parameters one value for each placeholder" in outcome.text


HIDDEN_PLACES = [
    "SELECT * FROM rival.company",
    "SELECT * FROM 'company-3.db'",
    "SELECT * FROM sqlite_temp_master",
    "SELECT * FROM sqlite_temp_schema",
    "SELECT * FROM dbstat",
    "SELECT count(*) FROM dbstat",
    "SELECT * FROM sqlite_stmt",
    "SELECT count(*) FROM sqlite_stmt",
    "SELECT * FROM sqlite_dbpage",
    "SELECT count(*) FROM sqlite_dbpage",
    "SELECT * FROM bytecode('SELECT 1')",
    "SELECT * FROM tables_used('SELECT 1')",
    "SELECT * FROM pragma_database_list",
    "SELECT count(*) FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('company')",
    "SELECT * FROM pragma_function_list()",
    "SELECT * FROM pragma_module_list",
    "SELECT * FROM pragma_compile_options",
    "SELECT * FROM fts3tokenize('simple', 'x')",
    "SELECT * FROM fts5vocab",
    "SELECT * FROM generate_series(1, 10)",
    "SELECT * FROM fsdir('/')",
    "SELECT * FROM sqlite_sequence",
    "SELECT * FROM sqlite_stat1",
    "SELECT (SELECT count(*) FROM pragma_database_list)",
    "SELECT 1 WHERE EXISTS (SELECT * FROM dbstat)",
    "WITH d AS (SELECT * FROM dbstat) SELECT count(*) FROM d",
]


@pytest.mark.parametrize("sql", HIDDEN_PLACES)
def test_only_the_private_tables_can_be_read(workers: QueryWorkers, books: Books, sql: str) -> None:
    assert isinstance(asked(workers, books, sql), QueryRefused)


FUNCTIONS = [
    "random()",
    "randomblob(8)",
    "hex(randomblob(8))",
    "abs(random())",
    "date()",
    "date('now')",
    "time('now', 'localtime')",
    "datetime('now')",
    "julianday()",
    "julianday('now')",
    "unixepoch()",
    "strftime('%s', 'now')",
    "strftime('%s')",
    "current_date",
    "current_time",
    "current_timestamp",
    "sqlite_version()",
    "sqlite_source_id()",
    "sqlite_compileoption_get(0)",
    "sqlite_compileoption_used('THREADSAFE')",
    "sqlite_log(1, 'x')",
    "changes()",
    "total_changes()",
    "last_insert_rowid()",
    "load_extension('/lib/x.so')",
    "load_extension('/lib/x.so', 'init')",
    "readfile('/etc/passwd')",
    "writefile('/tmp/x', 'x')",
    "edit('x')",
    "fts3_tokenizer('simple')",
    "fts3_tokenizer('simple', x'00')",
    "fts5_source_id()",
    "rtreecheck('company')",
    "rtreenode(2, x'00')",
    "regexp('a', 'b')",
    "'a' REGEXP 'b'",
    "'a' MATCH 'b'",
    "eval('SELECT 1')",
    "sha3('x')",
]


@pytest.mark.parametrize("call", FUNCTIONS)
def test_no_chance_no_clock_no_files(workers: QueryWorkers, books: Books, call: str) -> None:
    """Wherever in a statement it stands."""
    for sql in (
        f"SELECT {call}",
        f"SELECT day FROM company WHERE {call} IS NOT NULL",
        f"SELECT day FROM company ORDER BY {call}",
        f"WITH x AS (SELECT {call} AS a) SELECT max(a) OVER () FROM x",
    ):
        assert isinstance(asked(workers, books, sql), QueryRefused), sql


COUNT = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
WIDE = (
    "WITH RECURSIVE r(n, x) AS (SELECT 1, printf('%090000d', 1) UNION ALL SELECT n + 1, x FROM r)"
)

COUNTED, FLOODED, DEAR = "instructions", "memory", "time"

# Cheap instructions are counted, so that the outcome does not depend on the machine's load.
ENDLESS = [
    (COUNTED, f"{COUNT} SELECT count(*) FROM r"),
    (COUNTED, f"{COUNT} SELECT n FROM r WHERE n < 0"),
    (COUNTED, f"SELECT ({COUNT} SELECT max(n) FROM r) FROM company"),
    (COUNTED, "SELECT count(*) FROM daily_expenses a, daily_expenses b, daily_expenses c"),
    (COUNTED, f"SELECT count(*) FROM {', '.join(f'beliefs t{k}' for k in range(60))}"),
    (FLOODED, f"{COUNT} SELECT sum(n) OVER (ORDER BY n) FROM r"),
    (FLOODED, f"{WIDE} SELECT count(DISTINCT x || n) FROM r"),
    (FLOODED, f"{WIDE} SELECT count(*) FROM r a JOIN r b ON a.x || a.n = b.x || b.n"),
    (DEAR, f"{WIDE} SELECT max(instr(x, substr(x, 1, 40000) || n)) FROM r"),
    (DEAR, f"{WIDE} SELECT max(x LIKE '%1_%_0%2%' || n) FROM r"),
]


@pytest.mark.parametrize(("limit", "sql"), ENDLESS)
def test_what_does_not_end_is_interrupted(
    workers: QueryWorkers, books: Books, limit: str, sql: str
) -> None:
    outcome = asked(workers, books, sql)
    assert isinstance(outcome, QueryRefused)
    assert outcome.limit == limit
    assert outcome.text.startswith("Interrupted: ")
    assert "No rows are returned." in outcome.text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT zeroblob(1000000000)",
        "SELECT zeroblob(100001)",
        "SELECT hex(zeroblob(90000))",
        "SELECT replace(hex(zeroblob(40000)), '0', '0000')",
        "SELECT group_concat(printf('%09000d', day)) FROM daily_cashflow",
        "SELECT json_group_array(printf('%09000d', day)) FROM daily_cashflow",
        "SELECT printf('%090000d', 1) || printf('%090000d', 1)",
        "SELECT " + " + ".join(["1"] * 5_000),
        "SELECT " + "(" * 2_000 + "1" + ")" * 2_000,
        "SELECT " + "-" * 5_001 + " 1",
        "SELECT " + "abs(" * 2_000 + "1" + ")" * 2_000,
        "SELECT " + ", ".join(["1"] * 2_001),
        "SELECT " + " UNION ALL SELECT ".join(["1"] * 200),
        "SELECT 'x' LIKE '" + "%_" * 2_000 + "'",
        "SELECT 'x' GLOB '" + "*?" * 2_000 + "'",
        "SELECT " + "?," * 2_000 + "1",
        "SELECT coalesce(" + ", ".join(["NULL"] * 200) + ")",
        "SELECT * FROM " + ", ".join(["company"] * 70),
        "SELECT 1" + " " * 200_000,
        "SELECT '" + "x" * 200_000 + "'",
        "WITH a0 AS (SELECT 1, 2)"
        + "".join(f", a{k} AS (SELECT * FROM a{k - 1} x, a{k - 1} y)" for k in range(1, 12))
        + " SELECT count(*) FROM a11",
        f"""WITH a AS (SELECT 1 AS "{"x" * 50_000}") SELECT {", ".join(["*"] * 150)} FROM a""",
    ],
    ids=range(22),
)
def test_what_is_too_large_is_refused_at_once(
    workers: QueryWorkers, books: Books, sql: str
) -> None:
    outcome = asked(workers, books, sql)
    assert isinstance(outcome, QueryRefused)
    assert outcome.limit == ""
    assert len(outcome.text) < 5_000


@pytest.mark.parametrize(
    "sql",
    [
        f"{COUNT} SELECT n FROM r",
        f"{WIDE} SELECT x FROM r",
        f"{WIDE} SELECT x, x, x FROM r",
        "SELECT * FROM daily_expenses a, daily_expenses b",
        "SELECT zeroblob(50000) FROM daily_cashflow",
    ],
)
def test_a_flood_of_rows_is_cut(workers: QueryWorkers, books: Books, sql: str) -> None:
    outcome = asked(workers, books, sql, 10_000)
    assert isinstance(outcome, QueryResult)
    assert outcome.cut
    assert len(outcome.text.encode()) <= RESULT_BYTES
