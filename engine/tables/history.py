"""History: what really happened, a window's rows at a time and for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.tables.chronicle import Elapsed
from engine.tables.form import Row, Table, cents, count, day, name_of, real, units

_GROUP: Final = "history"

EXPENSES: Final = (
    "procurement",
    "holding",
    "marketing",
    "development",
    "reliability",
    "support",
    "overhead",
    "projects",
    "capacity",
    "research",
    "remediation",
    "penalties",
)
"""The categories of outlays, in the order of the ledger (market.md section 9)."""


def _receipts(elapsed: Elapsed) -> Iterator[Row]:
    for number, receipt in enumerate(elapsed.receipts, start=1):
        yield (
            receipt.decided_day,
            number,
            receipt.kind,
            receipt.subject,
            receipt.outcome,
            receipt.charge_cents,
            receipt.refund_cents,
            receipt.effective_day,
        )


def _cashflow(elapsed: Elapsed) -> Iterator[Row]:
    for number, company in elapsed.company_days:
        ledger = company.ledger
        yield (
            number,
            company.opening_cash_cents,
            ledger.revenue_cents,
            ledger.refunds_cents,
            ledger.outlays_cents,
            company.closing_cash_cents,
        )


def _expenses(elapsed: Elapsed) -> Iterator[Row]:
    for number, company in elapsed.company_days:
        for category in EXPENSES:
            yield number, category, getattr(company.ledger, f"{category}_cents")


def _product_sales(elapsed: Elapsed) -> Iterator[Row]:
    products = tuple(elapsed.observation.catalog.products)
    for number, company in elapsed.company_days:
        for product_id, line in zip(products, company.products, strict=True):
            yield (
                number,
                product_id,
                line.orders,
                line.fulfilled_units,
                line.enterprise_units,
                line.revenue_cents,
                line.cogs_cents,
                line.stockouts,
                line.backlogged_units,
                line.abandoned_units,
                line.received_units,
                line.ordered_units,
            )


def _segment_service(elapsed: Elapsed) -> Iterator[Row]:
    segments = tuple(elapsed.observation.catalog.segments)
    for number, company in elapsed.company_days:
        for segment_id, line in zip(segments, company.segments, strict=True):
            served = line.fulfilled_units
            yield (
                number,
                segment_id,
                served,
                line.paid_cents,
                line.failures,
                line.wait_unit_days,
                line.wait_unit_days / served if served else None,
                line.tickets,
                company.support_queue,
                line.satisfaction,
                line.loyalty,
            )


HISTORY: Final = (
    Table(
        "action_receipts",
        _GROUP,
        "What really became of the one-time actions you sealed; other changes leave no receipt.",
        (
            day("decided_day", "Day of the decision."),
            count("number", "rank", "Place among the receipts of that decision, first is 1."),
            name_of(
                "kind",
                "innovation_project, capacity_expansion, capacity_downsizing, "
                "capacity_cancellation, enterprise_bid or market_research.",
            ),
            name_of("subject", "The project, tender or report."),
            name_of("outcome", "applied: placed, entered or ordered; a project is not completed."),
            cents("charge_cents", "Paid."),
            cents("refund_cents", "Received."),
            day(
                "effective_day",
                "Day of effect: a capacity change acts, a tender is awarded, a report is "
                "delivered, a project or cancellation begins.",
            ),
        ),
        key=("decided_day", "number"),
        added=_receipts,
    ),
    Table(
        "daily_cashflow",
        _GROUP,
        "Cash of each day: opening + revenue + refunds - outlays = closing. One-time payments of a "
        "decision are in the first day after it.",
        (
            day("day", "Day."),
            cents("opening_cash_cents", "Cash before the day."),
            cents("revenue_cents", "From units fulfilled."),
            cents("refunds_cents", "From a canceled expansion."),
            cents("outlays_cents", "All that was paid; daily_expenses has the parts."),
            cents("closing_cash_cents", "Cash after the day."),
        ),
        key=("day",),
        added=_cashflow,
    ),
    Table(
        "daily_expenses",
        _GROUP,
        "Outlays of each day by category; every category has a row, with 0 when nothing was paid.",
        (
            day("day", "Day."),
            name_of("category", ", ".join(EXPENSES) + "."),
            cents("cents", "Paid."),
        ),
        key=("day", "category"),
        added=_expenses,
    ),
    Table(
        "daily_product_sales",
        _GROUP,
        "Each day's trade by product line.",
        (
            day("day", "Day."),
            name_of("product_id", "Product line."),
            units("orders", "New consumer units asked of you, met or not."),
            units("fulfilled_units", "Handed over: new orders, backlog and enterprise together."),
            units("enterprise_units", "Those of enterprise contracts among them."),
            cents("revenue_cents", "From the units fulfilled."),
            cents("cogs_cents", "Purchase cost of the units fulfilled; reported, not paid again."),
            units("stockouts", "Consumer units that stock or capacity could not meet."),
            units("backlogged_units", "Those of them that joined your backlog; the rest left."),
            units("abandoned_units", "Backlog units whose customers gave up."),
            units("received_units", "Arrived from the supplier."),
            units("ordered_units", "Bought from the supplier."),
        ),
        key=("day", "product_id"),
        added=_product_sales,
    ),
    Table(
        "daily_segment_service",
        _GROUP,
        "Each day's service to each segment; consumer units only.",
        (
            day("day", "Day."),
            name_of("segment_id", "Segment."),
            units("fulfilled_units", "Consumer units fulfilled."),
            cents("paid_cents", "What was paid for them."),
            units("failures", "Units that failed."),
            count("wait_unit_days", "unit-days", "Days waited, over all units fulfilled."),
            real(
                "mean_wait_days",
                "days",
                "Mean wait of a unit; none fulfilled, none.",
                nullable=True,
            ),
            count("tickets", "tickets", "New support tickets."),
            count("support_queue", "tickets", "The company's open tickets at the day's end."),
            real("satisfaction", "-1..1", "Satisfaction of the segment at the day's end."),
            real("loyalty", "0..1", "Loyalty of the segment at the day's end."),
        ),
        key=("day", "segment_id"),
        added=_segment_service,
    ),
)
