"""Every number that a briefing may hold, from the contract's tables."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.orchestrator.session.authorized.tables import TABLES as CONTRACT
from tests.orchestrator.session.authorized.view import Authorized, Cells

NUMBER = re.compile(r"(?:(?<![\w-])-)?\$?\d(?:[\d,]*\d)?(?:\.\d+)?")
"""A number as the briefing writes it; the dash of an identifier is no sign."""


def _written(value: Any) -> Iterator[str]:
    """The ways in which the briefing may write a number."""
    if isinstance(value, int):
        whole, rest = divmod(abs(value), 100)
        sign = "-" if value < 0 else ""
        yield f"{value:,}"
        yield f"{sign}${whole:,}.{rest:02}"
        yield str(value)
    elif isinstance(value, float):
        yield from (f"{value:.{places}f}" for places in (1, 2, 3, 4))
        yield repr(value)
    elif isinstance(value, str):
        yield from NUMBER.findall(value)


def authorized_numbers(view: Authorized, constants: Iterable[int]) -> set[str]:
    """All numbers of the tables, and the sums that the contract's briefing is made of."""
    numbers: set[str] = set()
    tables = {name: list(rows(view)) for name, rows in CONTRACT.items()}
    recent = view.day - 14
    for name, members in tables.items():
        for row in members:
            if not (name.startswith("daily_") and row["day"] <= recent):
                for value in row.values():
                    numbers.update(_written(value))
    for value in (*constants, *_sums(view, tables)):
        numbers.update(_written(value))
    return numbers


def _sums(view: Authorized, tables: dict[str, list[Cells]]) -> Iterator[int | float]:
    day = view.day
    yield from (500, day, day // 7, 500 - day, day + 1, min(500, day + 7))
    yield from (day - 6, day - 7, day - 13)
    for first, last in ((day - 6, day), (day - 13, day - 7)):
        for name, key in (
            ("daily_cashflow", "-"),
            ("daily_expenses", "category"),
            ("daily_product_sales", "product_id"),
            ("daily_segment_service", "segment_id"),
        ):
            rows = [row for row in tables[name] if first <= row["day"] <= last]
            for group in ("", *sorted({row[key] for row in rows if key in row})):
                members = [row for row in rows if not group or row[key] == group]
                for column in rows[0] if rows else ():
                    values = [row[column] for row in members]
                    if all(isinstance(value, int) for value in values):
                        yield sum(values)
                served = sum(row.get("fulfilled_units", 0) for row in members)
                yield sum(row.get("revenue_cents", 0) - row.get("cogs_cents", 0) for row in members)
                if served:
                    yield sum(row.get("wait_unit_days", 0) for row in members) / served
        own = [company for number, company in view.own_days if first <= number <= last]
        yield sum(company.capacity_units for company in own)
        yield from (company.queued_units for company in own)
    yield from _stock_values(tables)
    yield from _recurring(tables)
    waiting: dict[Any, int] = {}
    for row in tables["backlog"]:
        for place in (row["product_id"], (row["segment_id"], row["product_id"])):
            waiting[place] = waiting.get(place, 0) + row["units"]
    yield from waiting.values()


def _stock_values(tables: dict[str, list[Cells]]) -> Iterator[int]:
    values = {
        row["product_id"]: row["liquidation_value_cents"] for row in tables["product_catalog"]
    }
    hand, inbound = (
        sum(row[column] * values[row["product_id"]] for row in tables["inventory"])
        for column in ("on_hand_units", "inbound_units")
    )
    (company,), (scenario,) = tables["company"], tables["scenario"]
    yield from (hand, inbound)
    yield company["cash_cents"] + hand + inbound - scenario["initial_value_cents"]


def _recurring(tables: dict[str, list[Cells]]) -> Iterator[int]:
    marketing = sum(row["daily_budget_cents"] for row in tables["marketing_policy"])
    development = sum(row["daily_development_budget_cents"] for row in tables["products"])
    (operations,), (capacity,) = tables["operations_policy"], tables["capacity_policy"]
    yield from (marketing, development)
    yield marketing + development + sum(operations.values()) + capacity["overhead_cents"]
