"""The discounter: low prices, a promotion every week, and the customers who look at the price."""

from __future__ import annotations

from typing import ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import Catalog, Observation, ProductTerms
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    Sales,
    free_stock,
    lowest_price,
    percent_of,
    require_segment,
    spread_marketing,
    stock_targets,
    window_sales,
)


class DiscounterParameters(Parameters):
    """Whom it courts and how low it goes; marketing is daily cents.

    List prices are ``price_percent`` of the initial ones. The promotion takes ``promotion_percent``
    of the list price off, ``clearance_percent`` when free stock would last longer than
    ``clearance_days``; what customers pay stays at least ``margin_percent`` above purchase cost.
    """

    focus_segment: str = "value"
    price_percent: Percent = 98
    promotion_percent: Percent = 6
    clearance_percent: Percent = 14
    clearance_days: Days = 21
    margin_percent: Percent = 20
    focus_marketing_cents: Amount = 7_000
    other_marketing_cents: Amount = 1_500
    reliability_cents: Amount = 3_000
    support_cents: Amount = 6_000
    cover_days: Days = 8
    least_target: Amount = 40


class Discounter(Policy):
    """Thin margins and many customers of one segment."""

    name: ClassVar[str] = "discounter"
    version: ClassVar[str] = "v1"
    parameters_type = DiscounterParameters
    parameters: DiscounterParameters

    def check(self, catalog: Catalog) -> None:
        """Raise InputError when the scenario lacks the segment that the parameters name."""
        require_segment(self.name, "focus_segment", self.parameters.focus_segment, catalog)

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        self.check(catalog)
        sales = window_sales(observation)
        targets = stock_targets(observation, sales, parameters.cover_days, parameters.least_target)
        products = {}
        for product_id, terms in catalog.products.items():
            price = max(
                percent_of(terms.initial_price_cents, parameters.price_percent),
                lowest_price(terms, parameters.margin_percent),
            )
            products[product_id] = {
                "price_cents": price,
                "promotion_cents": self._promotion(observation, terms, sales[product_id], price),
                "reorder_target": targets[product_id],
            }
        marketing = dict.fromkeys(catalog.segments, parameters.other_marketing_cents)
        marketing[parameters.focus_segment] = parameters.focus_marketing_cents
        return self.hold(
            observation,
            products=products,
            marketing=spread_marketing(observation, marketing),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
        )

    def _promotion(
        self, observation: Observation, terms: ProductTerms, sales: Sales, price: int
    ) -> int:
        """Cents off the list price, which is at least the lowest price."""
        parameters = self.parameters
        stock_days = free_stock(observation, terms.product_id) * len(observation.elapsed)
        slow = stock_days > sales.asked * parameters.clearance_days
        percent = parameters.clearance_percent if slow else parameters.promotion_percent
        return min(
            percent_of(price, percent), price - lowest_price(terms, parameters.margin_percent)
        )
