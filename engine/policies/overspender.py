"""The overspender: buys everything that is for sale and goes bankrupt."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.decision import Amount, CompanyDecision, ResearchRequest
from engine.observation import Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import Percent, percent_of, spread_marketing


class OverspenderParameters(Parameters):
    """What is spent, whatever the cash: daily cents, for each product and for each segment."""

    price_percent: Percent = 90
    reorder_target: Amount = 800
    development_cents: Amount = 20_000
    marketing_cents: Amount = 45_000
    reliability_cents: Amount = 30_000
    support_cents: Amount = 50_000
    research_level: Amount = 3


class Overspender(Policy):
    """The largest capacity, project and report, and budgets that no sales can carry."""

    name: ClassVar[str] = "overspender"
    version: ClassVar[str] = "v1"
    parameters_type = OverspenderParameters
    parameters: OverspenderParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": percent_of(terms.initial_price_cents, parameters.price_percent),
                    "promotion_cents": 0,
                    "reorder_target": parameters.reorder_target,
                    "daily_development_budget_cents": parameters.development_cents,
                }
                for product_id, terms in catalog.products.items()
            },
            marketing=spread_marketing(
                observation, dict.fromkeys(catalog.segments, parameters.marketing_cents)
            ),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
            **self._splurge(observation),
        )

    def _splurge(self, observation: Observation) -> dict[str, Any]:
        """One-time commitments: the largest expansion, project and report that cash pays for."""
        catalog, cash = observation.catalog, observation.cash_cents
        bought: dict[str, Any] = {}
        for quote in reversed(observation.capacity_quotes):
            if quote.action == "expand" and quote.charge_cents <= cash:
                cash -= quote.charge_cents
                bought["capacity"] = {"action": "expand", "target_tier": quote.target_tier}
                break
        # How many projects a scenario allows at once is not public; one always is.
        for project in () if observation.innovation_projects else reversed(catalog.innovation):
            if project.cost_cents <= cash:
                cash -= project.cost_cents
                bought["innovation_tier"] = project.tier
                break
        segments = list(catalog.segments)
        segment_id = segments[observation.world_version % len(segments)]
        for report in reversed(catalog.research[: self.parameters.research_level]):
            if report.cost_cents <= cash:
                bought["research"] = (ResearchRequest(segment_id=segment_id, level=report.level),)
                break
        return bought
