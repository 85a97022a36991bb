"""The last and the preceding decision period side by side, from the company's own day records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from engine.observation import Observation
from engine.records import CompanyDay, ProductDay, SegmentDay
from engine.tables import EXPENSES
from orchestrator.session.layout import dollars, number, table

Days = Sequence[CompanyDay]
Line = TypeVar("Line", bound=ProductDay | SegmentDay)

UNAVAILABLE: Final = "unavailable"
"""What stands for a period that was not played; never a zero."""


def periods(observation: Observation, preceding: Days) -> Iterator[str]:
    """The section's lines. ``preceding`` are the days of the window before the last one."""
    yield "## The last and the preceding period"
    yield ""
    last = observation.elapsed
    if not last:
        yield "Both are unavailable: no day has been settled yet."
        yield ""
        return
    first_day = observation.day - len(last) + 1
    heading = f"last: days {first_day} to {observation.day}"
    if preceding:
        before = f"preceding: days {first_day - len(preceding)} to {first_day - 1}"
    else:
        before = f"preceding: {UNAVAILABLE}"
    yield from table(
        ("", heading, before),
        ((name, of(last), of(preceding) if preceding else UNAVAILABLE) for name, of in _LINES),
    )
    yield ""
    yield "By product and by segment, last period / preceding period:"
    yield ""
    yield from _detail(
        "product",
        tuple(observation.catalog.products),
        _PRODUCT,
        [day.products for day in last],
        [day.products for day in preceding],
    )
    yield ""
    yield from _detail(
        "segment",
        tuple(observation.catalog.segments),
        _SEGMENT,
        [day.segments for day in last],
        [day.segments for day in preceding],
    )
    yield ""


def _detail(
    kind: str,
    names: Sequence[str],
    columns: Sequence[tuple[str, Callable[[Sequence[Line]], str]]],
    last: Sequence[Sequence[Line]],
    preceding: Sequence[Sequence[Line]],
) -> Iterator[str]:
    """A row for each product or segment, a cell for both periods of one quantity."""
    rows = []
    for place, name in enumerate(names):
        now = [day[place] for day in last]
        before = [day[place] for day in preceding]
        cells = [f"{of(now)} / {of(before) if before else UNAVAILABLE}" for _, of in columns]
        rows.append((name, *cells))
    yield from table((kind, *(heading for heading, _ in columns)), rows)


def _ledger(*categories: str) -> Callable[[Days], str]:
    names = [f"{category}_cents" for category in categories]

    def total(days: Days) -> str:
        return dollars(sum(getattr(day.ledger, name) for day in days for name in names))

    return total


def _products(days: Days, name: str) -> int:
    return sum(getattr(line, name) for day in days for line in day.products)


def _cogs(days: Days) -> str:
    return dollars(_products(days, "cogs_cents"))


def _gross_profit(days: Days) -> str:
    return dollars(_products(days, "revenue_cents") - _products(days, "cogs_cents"))


def _workload(days: Days) -> str:
    capacity = sum(day.capacity_units for day in days)
    return f"{number(_products(days, 'fulfilled_units'))} of {number(capacity)}"


_LINES: Final[tuple[tuple[str, Callable[[Days], str]], ...]] = (
    ("Opening cash", lambda days: dollars(days[0].opening_cash_cents)),
    ("Revenue", _ledger("revenue")),
    ("Refunds", _ledger("refunds")),
    ("Outlays", _ledger(*EXPENSES)),
    *((f"- {category}", _ledger(category)) for category in EXPENSES),
    ("Closing cash", lambda days: dollars(days[-1].closing_cash_cents)),
    ("Cost of goods sold", _cogs),
    ("Gross profit", _gross_profit),
    ("Units fulfilled of capacity", _workload),
    ("Units waiting at the end", lambda days: number(days[-1].queued_units)),
    ("Support tickets open at the end", lambda days: number(days[-1].support_queue)),
)


def _product(name: str) -> Callable[[Sequence[ProductDay]], str]:
    def total(lines: Sequence[ProductDay]) -> str:
        return number(sum(getattr(line, name) for line in lines))

    return total


def _mean_wait(lines: Sequence[SegmentDay]) -> str:
    units = sum(line.fulfilled_units for line in lines)
    if not units:
        return "none"
    return f"{sum(line.wait_unit_days for line in lines) / units:.2f}"


_PRODUCT: Final[tuple[tuple[str, Callable[[Sequence[ProductDay]], str]], ...]] = (
    ("orders", _product("orders")),
    ("fulfilled", _product("fulfilled_units")),
    ("enterprise", _product("enterprise_units")),
    ("revenue", lambda lines: dollars(sum(line.revenue_cents for line in lines))),
    ("stockouts", _product("stockouts")),
    ("backlogged", _product("backlogged_units")),
    ("abandoned", _product("abandoned_units")),
    ("received", _product("received_units")),
    ("bought", _product("ordered_units")),
)

_SEGMENT: Final[tuple[tuple[str, Callable[[Sequence[SegmentDay]], str]], ...]] = (
    ("fulfilled", lambda lines: number(sum(line.fulfilled_units for line in lines))),
    ("failures", lambda lines: number(sum(line.failures for line in lines))),
    ("tickets", lambda lines: number(sum(line.tickets for line in lines))),
    ("mean wait, days", _mean_wait),
    ("satisfaction at end", lambda lines: f"{lines[-1].satisfaction:.4f}"),
    ("loyalty at end", lambda lines: f"{lines[-1].loyalty:.4f}"),
)
