"""Costs, estimates and spending as tables for people."""

from orchestrator.cli.output import Column, dollars
from orchestrator.cli.tables import print_table
from orchestrator.estimate import Forecast
from orchestrator.money import Money


def show_money(found: Money) -> None:
    """Print what the models cost by the prices of their routes."""
    notes = ["By the prices of the routes and the usage that the services told; no bill."]
    if found.unpriced:
        notes.append(f"Without prices, and not counted: {', '.join(found.unpriced)}.")
    print_table(
        "Cost",
        [
            "candidate",
            Column("counted windows", number=True),
            Column("all other work", number=True),
            Column("unknown, at most", number=True),
        ],
        (
            (
                row.candidate or "all",
                dollars(row.counted_cents),
                dollars(row.apart_cents),
                dollars(row.uncertain_at_most_cents),
            )
            for row in (*found.rows, found.total)
        ),
        notes,
    )


def show_forecast(found: Forecast) -> None:
    """Print the estimate of a plan."""
    rows = (*found.rows, found.total)
    priced = any(row.low_cents is not None for row in rows)
    notes = [] if priced else ["No route has prices, so that no money can be told."]
    if priced and found.unpriced:
        notes.append(
            f"Without prices, so that the money of all is not known: {', '.join(found.unpriced)}."
        )
    print_table(
        "Estimate, from least to most",
        [
            "candidate",
            Column("windows", number=True),
            Column("replies", number=True),
            Column("input tokens", number=True),
            Column("output tokens", number=True),
            *([Column("money", number=True)] if priced else []),
            "based on",
        ],
        (
            (
                row.candidate or "all",
                row.windows,
                _range(row.low.replies, row.high.replies),
                _range(row.low.input_tokens, row.high.input_tokens),
                _range(row.low.output_tokens, row.high.output_tokens),
                *([_money(row.low_cents, row.high_cents)] if priced else []),
                row.based_on,
            )
            for row in rows
        ),
        notes,
    )


def _range(low: int, high: int) -> str:
    return f"{estimated(low)} - {estimated(high)}"


def estimated(number: int) -> str:
    """A number for an estimate, such as 1.4 M: more digits would promise too much."""
    for unit, sign in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        # What three digits round up to a unit is one.
        if number * 10_000 >= unit * 9_995:
            return f"{number / unit:.3g} {sign}"
    return str(number)


def _money(low: int | None, high: int | None) -> str | None:
    return None if low is None else f"{dollars(low)} - {dollars(high)}"
