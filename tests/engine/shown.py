"""Rows of the private tables as mappings, for tests."""

from typing import Any, Final

from engine.boundary import Boundary
from engine.observation import Observation
from engine.scenario import Scenario, default_scenario
from engine.state import WorldState
from engine.tables import TABLES, Elapsed, Row, Table

SCENARIO: Final = default_scenario()
BY_NAME: Final = {table.name: table for table in TABLES}


def rows(table: str, observation: Observation) -> list[dict[str, Any]]:
    """The rows that hold at a boundary, as mappings."""
    present = BY_NAME[table].present
    assert present is not None
    return [named(BY_NAME[table], row) for row in present(observation)]


def added(table: str, elapsed: Elapsed) -> list[dict[str, Any]]:
    """The rows that a window adds, as mappings."""
    source = BY_NAME[table].added
    assert source is not None
    return [named(BY_NAME[table], row) for row in source(elapsed)]


def named(table: Table, row: Row) -> dict[str, Any]:
    return dict(zip([column.name for column in table.columns], row, strict=True))


def observed(state: WorldState, seat: int = 1, scenario: Scenario = SCENARIO) -> Observation:
    return Boundary(scenario, state, []).observe(seat)
