"""The balanced company: a little of everything, adjusted to what it learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    Sales,
    appeal,
    lowest_price,
    next_expansion,
    pays_back,
    percent_of,
    spread_marketing,
    stock_targets,
    tender_bids,
    wanted_report,
    weighted_shares,
    window_sales,
    workload_percent,
    worthwhile_innovation,
)


class BalancedParameters(Parameters):
    """How it reacts; budgets are daily cents, development per product, marketing in all.

    From ``busy_percent`` of the capacity on, prices rise by ``step_percent`` a window, up to
    ``highest_percent`` of the initial ones; below ``quiet_percent`` they fall by as much, down to
    ``margin_percent`` above purchase cost. Busy companies also build the next tier if it pays back
    when ``fill_percent`` of it is sold. Marketing follows the beliefs, which a report of
    ``research_level`` improves while the squared coefficient of variation of a segment's demand
    exceeds ``doubt_percent`` %. One-time commitments leave ``cash_floor_cents`` untouched; at or
    below it, development and marketing stop.
    """

    busy_percent: Percent = 90
    quiet_percent: Percent = 60
    step_percent: Percent = 2
    highest_percent: Percent = 125
    margin_percent: Percent = 30
    fill_percent: Percent = 50
    development_cents: Amount = 2_000
    development_ends_days: Days = 90
    largest_tier: Amount = 2
    project_lengths: Days = 3
    marketing_cents: Amount = 12_000
    reliability_cents: Amount = 6_000
    support_cents: Amount = 7_500
    research_level: Amount = 2
    doubt_percent: Percent = 16
    bid_percent: Percent = 97
    cover_days: Days = 10
    least_target: Amount = 40
    cash_floor_cents: Amount = 10_000_000


class Balanced(Policy):
    """Prices by workload, capacity that pays, marketing by belief, bids when there is stock."""

    name: ClassVar[str] = "balanced"
    version: ClassVar[str] = "v1"
    parameters_type = BalancedParameters
    parameters: BalancedParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        sales = window_sales(observation)
        workload = workload_percent(observation, sales.values())
        targets = stock_targets(observation, sales, parameters.cover_days, parameters.least_target)
        budget = observation.cash_cents - parameters.cash_floor_cents
        develops = budget > 0 and observation.days_remaining > parameters.development_ends_days
        marketing = weighted_shares(
            parameters.marketing_cents if budget > 0 else 0, appeal(observation)
        )
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": self._price(observation, product_id, workload),
                    "promotion_cents": 0,
                    "reorder_target": targets[product_id],
                    "daily_development_budget_cents": (
                        parameters.development_cents if develops else 0
                    ),
                }
                for product_id in catalog.products
            },
            marketing=spread_marketing(observation, marketing),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
            bids=tender_bids(observation, parameters.bid_percent, parameters.margin_percent),
            **self._commitments(observation, sales, workload, budget),
        )

    def _price(self, observation: Observation, product_id: str, workload: int) -> int:
        parameters = self.parameters
        terms = observation.catalog.products[product_id]
        price = observation.products[product_id].price_cents
        step = 0
        if observation.elapsed:
            if workload >= parameters.busy_percent:
                step = parameters.step_percent
            elif workload < parameters.quiet_percent:
                step = -parameters.step_percent
        price = percent_of(price, 100 + step)
        highest = percent_of(terms.initial_price_cents, parameters.highest_percent)
        return max(min(price, highest), lowest_price(terms, parameters.margin_percent))

    def _commitments(
        self, observation: Observation, sales: Mapping[str, Sales], workload: int, budget: int
    ) -> dict[str, Any]:
        """Expansion first, then a project, then a report, each from what the one before leaves."""
        parameters = self.parameters
        capacity = None
        quote = next_expansion(observation) if workload >= parameters.busy_percent else None
        if (
            quote is not None
            and quote.charge_cents <= budget
            and pays_back(observation, quote, sales.values(), parameters.fill_percent)
        ):
            capacity = {"action": "expand", "target_tier": quote.target_tier}
            budget -= quote.charge_cents
        tier = worthwhile_innovation(
            observation, parameters.largest_tier, parameters.project_lengths, budget
        )
        if tier is not None:
            budget -= observation.catalog.innovation[tier - 1].cost_cents
        return {
            "capacity": capacity,
            "innovation_tier": tier,
            "research": wanted_report(
                observation, parameters.research_level, parameters.doubt_percent, budget
            ),
        }
