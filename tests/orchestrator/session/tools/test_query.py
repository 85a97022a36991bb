"""`query_company` hands its statement over and tells what comes back."""

import json
from typing import Any

import pytest

from engine.decision import LARGEST_AMOUNT
from orchestrator.session.sql import DEFAULT_ROWS, Parameters, QueryRefused, QueryResult
from tests.orchestrator.session.tools.desk import Desk, context, problems


class Recorder:
    """A query function that answers alike and remembers what it was asked."""

    def __init__(self, result: QueryResult | QueryRefused) -> None:
        self.result = result
        self.asked: list[tuple[str, Parameters | None, int | None]] = []

    def __call__(
        self, sql: str, parameters: Parameters | None, row_limit: int | None
    ) -> QueryResult | QueryRefused:
        self.asked.append((sql, parameters, row_limit))
        return self.result


ROWS = QueryResult('{"columns":["n"],"rows":[[1]],"row_count":1,"cut":false}', 1, False)


def desk(query: Recorder, *, finalizing: bool = False) -> Desk:
    return Desk(context()._replace(query=query, finalizing=finalizing))


@pytest.mark.parametrize(
    ("arguments", "parameters", "row_limit"),
    [
        ({}, None, DEFAULT_ROWS),
        ({"parameters": []}, [], DEFAULT_ROWS),
        ({"parameters": [1, -1.5, "é", None]}, [1, -1.5, "é", None], DEFAULT_ROWS),
        ({"parameters": {"day": 7}, "row_limit": 10_000}, {"day": 7}, 10_000),
        ({"parameters": [LARGEST_AMOUNT, -LARGEST_AMOUNT], "row_limit": 1}, ..., 1),
    ],
)
def test_a_statement_is_handed_over_as_it_is(
    arguments: dict[str, Any], parameters: Any, row_limit: int
) -> None:
    query = Recorder(ROWS)
    asked = desk(query)
    shown = asked.call("query_company", sql="SELECT 1 AS n", **arguments)
    expected = arguments["parameters"] if parameters is ... else parameters
    assert query.asked == [("SELECT 1 AS n", expected, row_limit)]
    assert shown == json.loads(ROWS.text)
    assert asked.last.ok
    assert asked.last.text == ROWS.text


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ([1, True], "parameters[2]: .*; received true"),
        ([[]], "parameters[1]: .*; received a list with 0 members"),
        ([2**53], f"parameters[1]: .*; received {2**53}"),
        ({"x": -(2**53)}, f'parameters["x"]: .*; received {-(2**53)}'),
        ({"x": {}}, 'parameters["x"]: .*; received an object with 0 members'),
        ([1e300], "parameters[1]: .*; received 1e+300"),
        (["\0"], "parameters: must be Unicode text"),
        ({"\ud800": 1}, "parameters: must be Unicode text"),
        (5, "parameters: must be a list of at most 1000 values or an object .*; received 5"),
        (None, "parameters: .*, or left out; received null"),
        ([True] * 100, "parameters[1]: .*and 92 more problems"),
        ([0] * 1001, "parameters: must be a list of at most 1000 values .* 1001 members"),
    ],
)
def test_parameters_that_cannot_be_bound(parameters: Any, problem: str) -> None:
    query = Recorder(ROWS)
    found = problems(desk(query).call("query_company", sql="SELECT ?", parameters=parameters))
    start, _, end = problem.partition(".*")
    assert found.startswith(start)
    assert found.endswith(end) or not end
    assert query.asked == []


@pytest.mark.parametrize("row_limit", [0, 10_001])
def test_the_limit_of_rows(row_limit: int) -> None:
    found = problems(Desk().call("query_company", sql="SELECT 1", row_limit=row_limit))
    assert found == f"row_limit: must be an integer from 1 to 10000; received {row_limit}"


def test_a_refused_statement() -> None:
    asked = desk(Recorder(QueryRefused("no such table: x; tables: a, b")))
    assert problems(asked.call("query_company", sql="SELECT * FROM x")) == (
        "sql: no such table: x; tables: a, b"
    )
    assert not asked.last.ok
    assert asked.last.interrupted == ""


def test_an_interrupted_statement_says_by_what() -> None:
    asked = desk(Recorder(QueryRefused("interrupted", "instructions")))
    asked.call("query_company", sql="SELECT 1")
    assert asked.last.interrupted == "instructions"


def test_finalization_refuses_queries_and_nothing_else() -> None:
    query = Recorder(ROWS)
    asked = desk(query, finalizing=True)
    assert problems(asked.call("query_company", sql="SELECT 1")).startswith(
        "query_company: is refused during finalization"
    )
    assert query.asked == []
    assert asked.call("write_file", path="a", content="x")["status"] == "written"
    assert asked.call("read_file", path="a")["status"] == "read"
    assert asked.call("edit_file", path="a", old_string="x", new_string="y")["version"] == 2
    assert asked.call("search_files", pattern="y")["status"] == "searched"
    assert asked.call("glob_files", pattern="*")["status"] == "listed"
    assert asked.call("set_product", product_id="A", price_cents=1)["status"] == "staged"
    assert asked.call("reset_decision")["status"] == "reset"
    assert asked.call("seal_decision")["status"] == "sealed"
