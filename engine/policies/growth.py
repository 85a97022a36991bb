"""Growth: builds first and asks afterwards, but gives up what demand does not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import CapacityQuote, Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    Sales,
    capped,
    next_expansion,
    pays_back,
    percent_of,
    spread_marketing,
    stock_targets,
    window_sales,
    workload_percent,
)


class GrowthParameters(Parameters):
    """When to build and when to retreat; daily cents per product and per segment.

    From ``busy_percent`` of the installed capacity on, the next tier is built if it pays back when
    ``fill_percent`` of it is sold; at day 0 one is built on trust. Below ``cancel_percent`` an
    unfinished expansion is canceled. When demand fills at most ``fit_percent`` of a lower tier,
    capacity is reduced to it. One-time commitments leave ``cash_floor_cents`` untouched; at or
    below it, marketing and development stop.
    """

    price_percent: Percent = 100
    development_cents: Amount = 2_000
    marketing_cents: Amount = 5_000
    reliability_cents: Amount = 6_000
    support_cents_per_capacity_unit: Amount = 110
    busy_percent: Percent = 85
    fill_percent: Percent = 50
    cancel_percent: Percent = 80
    fit_percent: Percent = 55
    cover_days: Days = 10
    least_target: Amount = 40
    cash_floor_cents: Amount = 10_000_000


class Growth(Policy):
    """Lower prices, much advertising, and capacity tier by tier."""

    name: ClassVar[str] = "growth"
    version: ClassVar[str] = "v1"
    parameters_type = GrowthParameters
    parameters: GrowthParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        sales = window_sales(observation)
        targets = stock_targets(observation, sales, parameters.cover_days, parameters.least_target)
        solvent = observation.cash_cents > parameters.cash_floor_cents
        marketing = parameters.marketing_cents if solvent else 0
        development = parameters.development_cents if solvent else 0
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": percent_of(terms.initial_price_cents, parameters.price_percent),
                    "promotion_cents": 0,
                    "reorder_target": targets[product_id],
                    "daily_development_budget_cents": development,
                }
                for product_id, terms in catalog.products.items()
            },
            marketing=spread_marketing(observation, dict.fromkeys(catalog.segments, marketing)),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=capped(
                parameters.support_cents_per_capacity_unit * observation.units_per_day
            ),
            capacity=self._capacity_action(observation, sales),
        )

    def _capacity_action(
        self, observation: Observation, sales: Mapping[str, Sales]
    ) -> dict[str, Any] | None:
        workload = workload_percent(observation, sales.values())
        if observation.pending_capacity is not None:
            return self._cancellation(observation, workload)
        quote = next_expansion(observation)
        if quote is not None and self._builds(observation, sales, workload, quote):
            return {"action": "expand", "target_tier": quote.target_tier}
        return self._reduction(observation, workload)

    def _cancellation(self, observation: Observation, workload: int) -> dict[str, Any] | None:
        if not observation.elapsed or workload >= self.parameters.cancel_percent:
            return None
        for quote in observation.capacity_quotes:
            if quote.action == "cancel" and quote.refund_cents > 0:
                return {"action": "cancel", "project_id": quote.project_id}
        return None

    def _builds(
        self,
        observation: Observation,
        sales: Mapping[str, Sales],
        workload: int,
        quote: CapacityQuote,
    ) -> bool:
        parameters = self.parameters
        if quote.charge_cents > observation.cash_cents - parameters.cash_floor_cents:
            return False
        if not observation.elapsed:
            return quote.effective_day < observation.catalog.horizon_days
        return workload >= parameters.busy_percent and pays_back(
            observation, quote, sales.values(), parameters.fill_percent
        )

    def _reduction(self, observation: Observation, workload: int) -> dict[str, Any] | None:
        """The lowest tier with enough room for demand, if its lower overhead earns the fee."""
        if not observation.elapsed:
            return None
        ladder = observation.catalog.capacity
        present = ladder[observation.tier]
        budget = observation.cash_cents - self.parameters.cash_floor_cents
        for quote in observation.capacity_quotes:
            if quote.target_tier is None or quote.target_tier > observation.tier:
                continue
            lower = ladder[quote.target_tier]
            days = observation.catalog.horizon_days - quote.effective_day
            saving = (present.overhead_cents - lower.overhead_cents) * days
            fits = (
                workload * present.units_per_day
                <= self.parameters.fit_percent * lower.units_per_day
            )
            if fits and quote.charge_cents <= budget and quote.charge_cents < saving:
                return {"action": "downsize", "target_tier": quote.target_tier}
        return None
