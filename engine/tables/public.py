"""Public tables: what every company may know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.decision import company_name
from engine.observation import Observation
from engine.tables.chronicle import Elapsed
from engine.tables.form import Row, Table, cents, count, day, name_of, real, units

_GROUP: Final = "public"


def _prices(observation: Observation) -> Iterator[Row]:
    for offer in observation.offers:
        yield (
            offer.company_id,
            offer.product_id,
            offer.price_cents,
            offer.promotion_cents,
            offer.effective_price_cents,
            "active" if offer.active else "exited",
            int(offer.seat == observation.seat),
        )


def _open_tenders(observation: Observation) -> Iterator[Row]:
    for tender in observation.tenders:
        yield (
            tender.tender_id,
            tender.product_id,
            tender.units,
            tender.minimum_quality,
            tender.reservation_price_cents,
            tender.opened_day,
            tender.close_day,
            tender.due_day,
            tender.own_bid_cents,
        )


def _awards(elapsed: Elapsed) -> Iterator[Row]:
    products = tuple(elapsed.observation.catalog.products)
    for _, public in elapsed.public_days:
        for award in public.awards:
            terms = elapsed.tender_terms[award.tender_id]
            winner = award.winner_seat
            yield (
                award.tender_id,
                products[award.product],
                award.units,
                terms.minimum_quality,
                terms.reservation_price_cents,
                terms.opened_day,
                award.close_day,
                award.due_day,
                None if winner is None else company_name(winner),
                award.unit_price_cents,
            )


def _signals(elapsed: Elapsed) -> Iterator[Row]:
    for number, signal in elapsed.published:
        yield (
            signal.sample_day,
            number,
            signal.macro,
            signal.demand_index,
            signal.quality_index,
        )


_TERMS: Final = (
    name_of("tender_id", "Tender."),
    name_of("product_id", "Product line asked for."),
    units("units", "Units asked for, all from one company."),
    real("minimum_quality", "quality", "Least quality on the closing day."),
    cents("reservation_price_cents", "Highest price of a unit that is accepted."),
    day("opened_day", "Day on which it opened."),
    day("close_day", "Day on which it is awarded."),
    day("due_day", "Last day of delivery."),
)

PUBLIC: Final = (
    Table(
        "public_prices",
        _GROUP,
        "Today's prices of every company; those of an exited one are its last and sell nothing.",
        (
            name_of("company_id", "Company."),
            name_of("product_id", "Product line."),
            cents("list_price_cents", "List price."),
            cents("promotion_cents", "Taken off the list price."),
            cents("effective_price_cents", "What customers pay."),
            name_of("status", "active or exited."),
            count("is_own", "0 or 1", "1 for your own company."),
        ),
        key=("company_id", "product_id"),
        present=_prices,
    ),
    Table(
        "open_tenders",
        _GROUP,
        "Enterprise tenders that take bids now.",
        (
            *_TERMS,
            cents(
                "own_bid_cents",
                "Your sealed bid from an earlier window; no other company sees it.",
                nullable=True,
            ),
        ),
        key=("tender_id",),
        present=_open_tenders,
    ),
    Table(
        "tender_history",
        _GROUP,
        "Closed tenders and who won them at what price.",
        (
            *_TERMS,
            name_of("winner_company_id", "Winner; none without a qualifying bid.", nullable=True),
            cents("unit_price_cents", "The winning bid, for a unit.", nullable=True),
        ),
        key=("tender_id",),
        added=_awards,
    ),
    Table(
        "market_signal",
        _GROUP,
        "The public signal of the market, one row for each sampling day; it comes late.",
        (
            day("sample_day", "Day that the values describe."),
            day("published_day", "Day on which they became public."),
            real(
                "macro_value", "index", "State of the economy; 1 is normal in the standard market."
            ),
            real("demand_index", "index", "Demand of all segments together; 1 is normal."),
            real("quality_index", "index", "Quality that customers expect; 1 at the start."),
        ),
        key=("sample_day",),
        added=_signals,
    ),
)
