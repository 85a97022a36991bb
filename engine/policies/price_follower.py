"""The price follower: has no price of its own, only that of the others."""

from __future__ import annotations

from typing import ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    lowest_price,
    percent_of,
    rival_prices,
    spread_marketing,
    stock_targets,
    window_sales,
)


class PriceFollowerParameters(Parameters):
    """How closely rivals are followed; budgets are daily cents, marketing is per segment.

    Each price is ``follow_percent`` of the median effective price of active rivals, but at least
    purchase cost plus ``margin_percent``. At or below ``cash_floor_cents`` marketing stops.
    """

    follow_percent: Percent = 98
    margin_percent: Percent = 25
    marketing_cents: Amount = 3_000
    reliability_cents: Amount = 5_000
    support_cents: Amount = 6_000
    cover_days: Days = 9
    least_target: Amount = 30
    cash_floor_cents: Amount = 5_000_000


class PriceFollower(Policy):
    """Sits just below the middle of the market and spends evenly on all segments."""

    name: ClassVar[str] = "price-follower"
    version: ClassVar[str] = "v1"
    parameters_type = PriceFollowerParameters
    parameters: PriceFollowerParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters = self.parameters
        rivals = rival_prices(observation)
        targets = stock_targets(
            observation, window_sales(observation), parameters.cover_days, parameters.least_target
        )
        marketing = (
            parameters.marketing_cents
            if observation.cash_cents > parameters.cash_floor_cents
            else 0
        )
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": self._price(observation, product_id, rivals[product_id]),
                    "promotion_cents": 0,
                    "reorder_target": targets[product_id],
                }
                for product_id in observation.catalog.products
            },
            marketing=spread_marketing(
                observation, dict.fromkeys(observation.catalog.segments, marketing)
            ),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
        )

    def _price(self, observation: Observation, product_id: str, rivals: list[int]) -> int:
        terms = observation.catalog.products[product_id]
        # The lower one of a middle pair; without rivals the initial price stands in.
        middle = rivals[(len(rivals) - 1) // 2] if rivals else terms.initial_price_cents
        followed = percent_of(middle, self.parameters.follow_percent)
        return max(followed, lowest_price(terms, self.parameters.margin_percent))
