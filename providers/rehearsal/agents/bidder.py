"""The bidder: sells in bulk to enterprises, if it has the goods, and keeps the shop running."""

from typing import Any

from providers.rehearsal.agents.reading import Table
from providers.rehearsal.agents.script import Act, Desk, Script, Step, act
from providers.rehearsal.agents.trade import (
    CHANNELS,
    INVENTORY,
    SEGMENTS,
    TENDERS,
    Books,
    Line,
    campaign,
    dollars,
    survey,
    upkeep,
)

FIRST_BID_PERCENT = 94
LEAST_MARGIN_PERCENT = 118
MARKETING_CENTS = 7_000
LOT_UNITS = 180
PROJECT_TIER = 2
PROJECT_CASH_CENTS = 45_000_000


def bidder(_: Desk) -> Script:
    """Bids on what is open, a little below the last award, and stocks up for the next tender."""
    books, (tenders, history, stock, contracts, projects, segments, channels) = yield from survey(
        "Tenders first: which are open, what was paid before, what I could deliver from stock, and "
        "what I already owe.",
        TENDERS,
        "SELECT * FROM tender_history ORDER BY 1 DESC LIMIT 12",
        INVENTORY,
        "SELECT * FROM enterprise_contracts",
        "SELECT * FROM innovation_projects",
        SEGMENTS,
        CHANNELS,
    )
    percent = _bid_percent(history)
    bids = _project(books, projects)
    notes: list[str] = []
    for row in tenders.rows:
        bid, note = _bid(books, tenders, row, stock, percent)
        bids += bid
        notes.append(note)
    if bids:
        results = yield Step(
            f"Past awards went at about {percent}% of the reservation price, with "
            f"{len(contracts.rows)} contracts on my own books. " + " ".join(notes),
            tuple(bids),
            "Low enough to win, high enough to be worth it, good enough to qualify.",
        )
        refused = [result.reason for result in results if result.refused]
        if refused:
            yield Step(
                f"Refused: {refused[0][:160]} The lists of the house decide, so I leave it out and "
                "see what the draft still holds.",
                (act("preview_decision"),),
            )
    wanted = {tenders.text(row, "product_id"): _units(tenders, row) for row in tenders.rows}
    yield Step(
        (" ".join(notes) or "No tender is open that I could serve.")
        + f" The shop must go on: {books.week_units} units went over the counter last week. A lot "
        "can only be won from stock that is there on the closing day, so the reorder target of a "
        "tendered product is raised, and quality is developed until it is good enough for them.",
        (
            *(
                act(
                    "set_product",
                    product_id=line.product_id,
                    price_cents=line.price_at(100),
                    promotion_cents=0,
                    reorder_target=line.wanted_target(books.days_remaining, floor=LOT_UNITS)
                    + (wanted.get(line.product_id, 0) // 4 if books.days_remaining > 40 else 0),
                    daily_development_budget_cents=2_500 if books.days_remaining > 60 else 0,
                )
                for line in books.lines
            ),
            *campaign(segments, channels, MARKETING_CENTS),
            upkeep(4_000, 6_000),
        ),
    )
    yield Step(
        "Bids cost nothing until they win, and the standing orders are modest. One look at the "
        "whole draft, then the seal.",
        (act("preview_decision"),),
    )


def _project(books: Books, projects: Table) -> list[Act]:
    """One project for the whole run, early: without better goods no tender can be won."""
    if projects.rows or books.cash < PROJECT_CASH_CENTS or books.days_remaining < 300:
        return []
    return [act("start_research_project", tier=PROJECT_TIER)]


def _units(tenders: Table, row: dict[str, Any]) -> int:
    return tenders.number(row, "units") or tenders.number(row, "quantity")


def _bid_percent(history: Table) -> int:
    """A little below the cheapest recent award, in percent of its reservation price."""
    ratios = [
        history.number(row, "price") * 100 // reservation
        for row in history.rows
        if (reservation := history.number(row, "reservation")) and history.number(row, "price")
    ]
    return max(75, min(ratios) - 1) if ratios else FIRST_BID_PERCENT


def _bid(
    books: Books, tenders: Table, row: dict[str, Any], stock: Table, percent: int
) -> tuple[list[Act], str]:
    """(the bid, if any; the reason)."""
    product_id = tenders.text(row, "product_id")
    tender_id = tenders.text(row, "tender_id")
    line = next((line for line in books.lines if line.product_id == product_id), None)
    if line is None or not tender_id:
        return [], "A tender whose product I do not carry."
    free = _free_units(stock, line)
    if line.quality < tenders.decimal(row, "minimum", "quality"):
        return [], f"{tender_id} asks for better {product_id} than mine."
    if free < _units(tenders, row):
        return [], f"{tender_id} asks for {_units(tenders, row)} {product_id}; I have {free}."
    reservation = tenders.number(row, "reservation")
    price = max(reservation * percent // 100, line.cost * LEAST_MARGIN_PERCENT // 100)
    if price > reservation:
        return [], f"{tender_id} pays less than {product_id} costs me."
    bid = act("submit_enterprise_bid", tender_id=tender_id, unit_price_cents=price)
    return [bid], f"{tender_id}: {dollars(price)} a unit for {product_id}."


def _free_units(stock: Table, line: Line) -> int:
    for row in stock.rows:
        if stock.text(row, "product_id") == line.product_id:
            on_hand = stock.number(row, "on_hand") or stock.number(row, "stock")
            return on_hand - stock.number(row, "reserved")
    return 0
