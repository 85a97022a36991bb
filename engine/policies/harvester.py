"""The harvester: spends little, asks a little more, and leaves little on the shelf at the end."""

from __future__ import annotations

from typing import ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    Sales,
    free_stock,
    percent_of,
    spread_marketing,
    stock_targets,
    window_sales,
)


class HarvesterParameters(Parameters):
    """How little is spent and when the harvest begins; marketing is daily cents per segment.

    ``harvest_days`` before the horizon marketing and reliability spending stop, and targets cover
    lead times alone. In the last ``clearance_days`` a product with more stock than it would
    sell until the end gets a promotion of ``clearance_percent``, unless that asks less than its
    liquidation value.
    """

    price_percent: Percent = 106
    marketing_cents: Amount = 1_500
    reliability_cents: Amount = 3_000
    support_cents: Amount = 5_000
    cover_days: Days = 5
    least_target: Amount = 15
    harvest_days: Days = 35
    clearance_days: Days = 21
    clearance_percent: Percent = 15


class Harvester(Policy):
    """A cautious business that never bets and turns its stock into cash before the end."""

    name: ClassVar[str] = "harvester"
    version: ClassVar[str] = "v1"
    parameters_type = HarvesterParameters
    parameters: HarvesterParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        harvesting = observation.days_remaining <= parameters.harvest_days
        sales = window_sales(observation)
        targets = stock_targets(
            observation,
            sales,
            cover_days=0 if harvesting else parameters.cover_days,
            least_units=0 if harvesting else parameters.least_target,
        )
        products = {}
        for product_id, terms in catalog.products.items():
            price = percent_of(terms.initial_price_cents, parameters.price_percent)
            products[product_id] = {
                "price_cents": price,
                "promotion_cents": self._clearance(
                    observation, product_id, sales[product_id], price
                ),
                "reorder_target": targets[product_id],
            }
        marketing = 0 if harvesting else parameters.marketing_cents
        return self.hold(
            observation,
            products=products,
            marketing=spread_marketing(observation, dict.fromkeys(catalog.segments, marketing)),
            reliability_budget_cents=0 if harvesting else parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
        )

    def _clearance(
        self, observation: Observation, product_id: str, sales: Sales, price: int
    ) -> int:
        left, elapsed = observation.days_remaining, len(observation.elapsed)
        if left > self.parameters.clearance_days or elapsed == 0:
            return 0
        surplus = free_stock(observation, product_id) * elapsed > sales.asked * left
        promotion = min(price, percent_of(price, self.parameters.clearance_percent))
        liquidation = observation.catalog.products[product_id].liquidation_value_cents
        return promotion if surplus and price - promotion > liquidation else 0
