"""`query_company`: one read-only SQL statement over the company's books."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from engine.decision import LARGEST_AMOUNT
from orchestrator.session.sql import DEFAULT_ROWS, MOST_ROWS, Parameters, QueryRefused
from orchestrator.session.sql.worker import SQL_CHARACTERS
from orchestrator.session.tools.arguments import Rejected, shortened, shown
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome, rejection
from orchestrator.session.tools.schemas import Arguments, Omitted

_PARAMETERS: Final = 1_000


_Value = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "number", "minimum": -LARGEST_AMOUNT, "maximum": LARGEST_AMOUNT},
                {"type": "null"},
            ]
        }
    ),
]
"""What can be bound to a placeholder. `_checked` holds it to this: of several possible types,
Pydantic would take an integer too large for one as an inexact number of the other.
"""


class QueryCompany(Arguments):
    sql: str = Field(
        min_length=1,
        max_length=SQL_CHARACTERS,
        description="One SELECT or WITH statement in SQLite's dialect.",
    )
    parameters: (
        Annotated[list[_Value], Field(max_length=_PARAMETERS)]
        | Annotated[dict[str, _Value], Field(max_length=_PARAMETERS)]
        | Omitted
    ) = Field(
        default=None,
        description="Values for the placeholders of the statement: a list for ?, or an object for "
        ":name. Each value is a string, a number or null.",
    )
    row_limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = Field(
        default=DEFAULT_ROWS,
        description=f"Largest number of rows to return, from 1 to {MOST_ROWS}.",
    )


def _run(context: ToolContext, arguments: QueryCompany) -> ToolOutcome:
    if context.finalizing:
        raise Rejected(
            "query_company: is refused during finalization. All other tools are available; stage "
            "what you have decided and seal it."
        )
    parameters = _checked(arguments.parameters)
    result = context.query(arguments.sql, parameters, arguments.row_limit)
    if isinstance(result, QueryRefused):
        rejected = Rejected(f"sql: {result.text}")
        return rejection(context, rejected, interrupted=result.limit)
    return ToolOutcome(result.text, True, context.draft, context.files)


def _checked(parameters: list[Any] | dict[str, Any] | None) -> Parameters | None:
    members: Iterable[tuple[object, object]] = ()
    if isinstance(parameters, list):
        members = enumerate(parameters, start=1)
    elif parameters is not None:
        members = parameters.items()
    problems = [
        f"parameters[{shown(place)}]: must be a string, a number from {-LARGEST_AMOUNT} to "
        f"{LARGEST_AMOUNT}, or null; received {shown(value)}"
        for place, value in members
        if not _can_be_bound(value)
    ]
    if problems:
        raise Rejected(*shortened(problems))
    return parameters


def _can_be_bound(value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return -LARGEST_AMOUNT <= value <= LARGEST_AMOUNT
    return value is None or isinstance(value, str)


QUERY_COMPANY = Tool(
    name="query_company",
    description=(
        "Run one read-only SQL statement over your company's private tables and the public ones. "
        "They are a fixed snapshot of this boundary: the same query gives the same rows during "
        "the whole window, whatever you stage. Only SELECT and WITH are allowed. A statement that "
        "takes longer than about two seconds of work is interrupted; a result ends at row_limit "
        "rows or 1 MB and says when it was cut. `SELECT name, sql FROM sqlite_schema` lists the "
        "tables. Refused during finalization."
    ),
    arguments=QueryCompany,
    run=_run,
)
