"""Standing policies: what stays as it is until a sealed decision changes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.observation import Observation
from engine.tables.form import Row, Table, cents, count, day, name_of, real, units

_GROUP: Final = "standing policies"


def _products(observation: Observation) -> Iterator[Row]:
    for product in observation.products.values():
        yield (
            product.product_id,
            product.price_cents,
            product.promotion_cents,
            product.price_cents - product.promotion_cents,
            product.reorder_target,
            product.development_cents,
            product.quality,
        )


def _marketing(observation: Observation) -> Iterator[Row]:
    for segment_id, budgets in observation.marketing.items():
        for channel, budget in budgets.items():
            yield segment_id, channel, budget


def _operations(observation: Observation) -> Iterator[Row]:
    yield observation.reliability_cents, observation.support_cents


def _capacity(observation: Observation) -> Iterator[Row]:
    installed = observation.catalog.capacity[observation.tier]
    pending = observation.pending_capacity
    change: Row = (None,) * 5
    if pending is not None:
        change = (
            pending.project_id,
            pending.target_tier,
            pending.started_day,
            pending.due_day,
            pending.prepaid_cents,
        )
    yield observation.tier, observation.units_per_day, installed.overhead_cents, *change


POLICIES: Final = (
    Table(
        "products",
        _GROUP,
        "Your settings for each product line, and the quality you sell today.",
        (
            name_of("product_id", "Product line."),
            cents("price_cents", "List price."),
            cents("promotion_cents", "Taken off the list price."),
            cents("effective_price_cents", "What customers pay: list price less promotion."),
            units("reorder_target", "Stock position that every evening's order restores."),
            cents("daily_development_budget_cents", "Charged every day; 0 stops it."),
            real("realized_quality", "quality", "Quality of the units you sell today."),
        ),
        key=("product_id",),
        present=_products,
    ),
    Table(
        "marketing_policy",
        _GROUP,
        "Your recurring marketing budgets, by segment and channel.",
        (
            name_of("segment_id", "Consumer segment."),
            name_of("channel", "Marketing channel."),
            cents("daily_budget_cents", "Charged every day; 0 stops it."),
        ),
        key=("segment_id", "channel"),
        present=_marketing,
    ),
    Table(
        "operations_policy",
        _GROUP,
        "Your recurring budgets for reliability and support; one row.",
        (
            cents("reliability_budget_cents", "Charged every day; lowers failures."),
            cents("support_budget_cents", "Charged every day; works off support tickets."),
        ),
        key=(),
        present=_operations,
    ),
    Table(
        "capacity_policy",
        _GROUP,
        "Your installed capacity and the change under way, if any; one row.",
        (
            count("tier", "tier", "Installed capacity tier."),
            units("units_per_day", "Units you can fulfil in a day, all products together."),
            cents("overhead_cents", "Overhead of the tier, charged every day."),
            name_of("pending_project_id", "Change under way.", nullable=True),
            count("pending_target_tier", "tier", "Tier it leads to.", nullable=True),
            day("pending_started_day", "Day of the decision.", nullable=True),
            day("pending_effective_day", "Day from which the new tier acts.", nullable=True),
            cents("pending_prepaid_cents", "Capital paid for it.", nullable=True),
        ),
        key=(),
        present=_capacity,
    ),
)
