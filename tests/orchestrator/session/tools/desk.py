"""A company's desk for tests: a context that calls follow one another in, as in a session."""

import json
from collections.abc import Mapping
from typing import Any

from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
from engine.state import WorldState
from engine.streams import Streams
from orchestrator.session.draft import EMPTY
from orchestrator.session.files import PrivateFiles
from orchestrator.session.sql import Parameters, QueryRefused, QueryResult
from orchestrator.session.tools import ToolContext, ToolOutcome, run_tool

SEAT = 3
SCENARIO = default_scenario()


def no_rows(
    sql: str, parameters: Parameters | None, row_limit: int | None
) -> QueryResult | QueryRefused:
    del sql, parameters, row_limit
    return QueryResult('{"columns":[],"rows":[],"row_count":0,"cut":false}', 0, False)


def world(scenario: Scenario = SCENARIO, *, windows: int = 0, seed: int = 7) -> WorldState:
    """A world of three companies after some windows without decisions."""
    streams = Streams(seed)
    state = initial_state(scenario, streams, SEAT)
    for _ in range(windows):
        state = settle_window(scenario, streams, state, {}).state
    return state


def context(state: WorldState | None = None, scenario: Scenario = SCENARIO) -> ToolContext:
    """The context of the company in the last seat, with nothing staged and no files."""
    return ToolContext(
        scenario=scenario,
        state=world(scenario) if state is None else state,
        seat=SEAT,
        draft=EMPTY,
        files=PrivateFiles(),
        query=no_rows,
    )


class Desk:
    """Calls in a row; each finds the draft and files that the one before left."""

    def __init__(self, start: ToolContext | None = None) -> None:
        self.context = context() if start is None else start
        self.outcomes: list[ToolOutcome] = []

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """A call with these arguments; the result that a model is shown."""
        return self.write(name, json.dumps(arguments))

    def write(self, name: str, text: str) -> dict[str, Any]:
        """A call with this text for arguments."""
        outcome = run_tool(self.context, name, text)
        self.context = self.context._replace(draft=outcome.draft, files=outcome.files)
        self.outcomes.append(outcome)
        shown: dict[str, Any] = json.loads(outcome.text)
        return shown

    @property
    def last(self) -> ToolOutcome:
        return self.outcomes[-1]


def problems(shown: Mapping[str, Any]) -> str:
    """The problems of a call that must have been rejected, as one text."""
    assert shown["status"] == "rejected", shown
    return "\n".join(shown["problems"])
