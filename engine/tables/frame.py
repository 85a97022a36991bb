"""The frame: scenario, company, segments, channels, products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.observation import Observation
from engine.tables.form import Row, Table, cents, count, day, name_of, real

_GROUP: Final = "the frame"

SCORE_DEFINITION: Final = (
    "Score = cash at the end + liquidation value of stock on hand and of paid inbound stock at the "
    "end - initial enterprise value (initial cash + initial stock at liquidation value)"
)


def _scenario(observation: Observation) -> Iterator[Row]:
    catalog = observation.catalog
    yield (
        catalog.horizon_days,
        catalog.window_days,
        observation.day,
        observation.days_remaining,
        catalog.innovation_limit,
        catalog.initial_value_cents,
        SCORE_DEFINITION,
    )


def _company(observation: Observation) -> Iterator[Row]:
    yield (
        observation.company_id,
        "active",
        observation.world_version,
        observation.day,
        observation.cash_cents,
        observation.support_queue,
    )


def _segments(observation: Observation) -> Iterator[Row]:
    for segment in observation.catalog.segments.values():
        yield segment.segment_id, segment.label


def _channels(observation: Observation) -> Iterator[Row]:
    for channel in observation.catalog.channels:
        yield channel, channel.replace("-", " ").replace("_", " ").capitalize()


def _product_catalog(observation: Observation) -> Iterator[Row]:
    for product in observation.catalog.products.values():
        yield (
            product.product_id,
            product.base_quality,
            product.initial_price_cents,
            product.purchase_cost_cents,
            product.liquidation_value_cents,
            product.holding_cost_cents,
            product.procurement_days,
            observation.catalog.development_days,
        )


FRAME: Final = (
    Table(
        "scenario",
        _GROUP,
        "The rules of the clock and the objective; one row.",
        (
            count("horizon_days", "days", "Length of the whole run."),
            count("window_days", "days", "Length of a decision window; the last may be shorter."),
            day("day", "Today."),
            count("days_remaining", "days", "Days from today to the end of the run."),
            count(
                "innovation_limit",
                "projects",
                "Innovation projects that may be pending at once; none means no limit.",
                nullable=True,
            ),
            cents("initial_value_cents", "Initial enterprise value, which the Score subtracts."),
            name_of("score_definition", "What the Score is."),
        ),
        key=(),
        present=_scenario,
    ),
    Table(
        "company",
        _GROUP,
        "Your company today; one row.",
        (
            name_of("company_id", "Your company."),
            name_of("status", "active; a company that has left the market decides no more."),
            count("world_version", "windows", "Windows settled so far."),
            day("day", "Today."),
            cents("cash_cents", "Cash now."),
            count("support_queue", "tickets", "Open support tickets."),
        ),
        key=("company_id",),
        present=_company,
    ),
    Table(
        "segments",
        _GROUP,
        "The consumer segments, by name only.",
        (
            name_of("segment_id", "Segment, as the tools call it."),
            name_of("label", "Segment, as people call it."),
        ),
        key=("segment_id",),
        present=_segments,
    ),
    Table(
        "channels",
        _GROUP,
        "The marketing channels, by name only.",
        (
            name_of("channel", "Channel, as the tools call it."),
            name_of("label", "Channel, as people call it."),
        ),
        key=("channel",),
        present=_channels,
    ),
    Table(
        "product_catalog",
        _GROUP,
        "Terms of the product lines, the same for all companies and for the whole run.",
        (
            name_of("product_id", "Product line."),
            real("base_quality", "quality", "Quality without any knowledge."),
            cents("initial_price_cents", "List price at the start."),
            cents("purchase_cost_cents", "Price of a unit from the supplier."),
            cents("liquidation_value_cents", "What a unit in stock or inbound counts at the end."),
            cents("holding_cost_cents", "Cost of a unit in stock at the end of a day."),
            count("procurement_days", "days", "From order to arrival."),
            count("development_days", "days", "From development spending to its knowledge."),
        ),
        key=("product_id",),
        present=_product_catalog,
    ),
)
