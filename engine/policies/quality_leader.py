"""The quality leader: puts its money into better products and asks a price for them."""

from __future__ import annotations

from typing import ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import Observation, OwnProduct, ProductTerms
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    capped,
    percent_of,
    spread_marketing,
    stock_targets,
    window_sales,
    worthwhile_innovation,
)


class QualityLeaderParameters(Parameters):
    """How much is invested; development is daily cents per product, marketing per segment.

    Each price is ``price_percent`` of the initial one, and ``quality_price_percent`` % more for
    every percent that the product is better than at the start. Development ends
    ``development_ends_days`` before the horizon. Innovation projects of up to ``largest_tier`` run
    one after the other while their median length fits ``project_lengths`` times into the days left.
    Projects leave ``cash_floor_cents`` untouched; at or below it, development and marketing stop.
    """

    price_percent: Percent = 108
    quality_price_percent: Percent = 60
    development_cents: Amount = 4_000
    development_ends_days: Days = 90
    largest_tier: Amount = 3
    project_lengths: Days = 2
    marketing_cents: Amount = 4_000
    reliability_cents: Amount = 9_000
    support_cents: Amount = 8_000
    cover_days: Days = 10
    least_target: Amount = 30
    cash_floor_cents: Amount = 12_000_000


class QualityLeader(Policy):
    """Development of every product, innovation projects, reliable service, a premium price."""

    name: ClassVar[str] = "quality-leader"
    version: ClassVar[str] = "v1"
    parameters_type = QualityLeaderParameters
    parameters: QualityLeaderParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        targets = stock_targets(
            observation, window_sales(observation), parameters.cover_days, parameters.least_target
        )
        budget = observation.cash_cents - parameters.cash_floor_cents
        develops = budget > 0 and observation.days_remaining > parameters.development_ends_days
        marketing = parameters.marketing_cents if budget > 0 else 0
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": self._price(terms, observation.products[product_id]),
                    "promotion_cents": 0,
                    "reorder_target": targets[product_id],
                    "daily_development_budget_cents": (
                        parameters.development_cents if develops else 0
                    ),
                }
                for product_id, terms in catalog.products.items()
            },
            marketing=spread_marketing(observation, dict.fromkeys(catalog.segments, marketing)),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
            innovation_tier=worthwhile_innovation(
                observation, parameters.largest_tier, parameters.project_lengths, budget
            ),
        )

    def _price(self, terms: ProductTerms, own: OwnProduct) -> int:
        better_percent = int(100.0 * (own.quality - terms.base_quality) / terms.base_quality)
        base = percent_of(terms.initial_price_cents, self.parameters.price_percent)
        return capped(
            base + base * better_percent * self.parameters.quality_price_percent // 10_000
        )
