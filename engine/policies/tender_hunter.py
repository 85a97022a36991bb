"""The tender hunter: keeps enough of everything on the shelf to win enterprise tenders."""

from __future__ import annotations

from typing import ClassVar

from engine.decision import Amount, CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import (
    Days,
    Percent,
    appeal,
    capped,
    percent_of,
    spread_marketing,
    stock_targets,
    tender_bids,
    wanted_report,
    weighted_shares,
    window_sales,
)


class TenderHunterParameters(Parameters):
    """What it holds ready and how it bids; budgets are daily cents, marketing in all.

    ``tender_units`` of each product are kept on top of consumer demand until ``stock_ends_days``
    before the horizon. Bids are ``bid_percent`` of the reservation price and never below purchase
    cost plus ``margin_percent``. A product is developed until its quality is
    ``quality_goal_basis_points`` / 10,000 above that of the start, so that no tender asks too much.
    A report of ``research_level`` is bought on the segment whose demand is least known, while the
    squared coefficient of variation exceeds ``doubt_percent`` %; marketing follows the beliefs.
    Reports leave ``cash_floor_cents`` untouched; at or below it, development and marketing stop.
    """

    price_percent: Percent = 104
    tender_units: Amount = 320
    stock_ends_days: Days = 28
    bid_percent: Percent = 94
    margin_percent: Percent = 8
    development_cents: Amount = 4_000
    quality_goal_basis_points: Amount = 500
    research_level: Amount = 1
    doubt_percent: Percent = 30
    marketing_cents: Amount = 9_000
    reliability_cents: Amount = 4_000
    support_cents: Amount = 6_000
    cover_days: Days = 7
    cash_floor_cents: Amount = 6_000_000


class TenderHunter(Policy):
    """Deep stock, sharp bids, and research to know where the ordinary business is."""

    name: ClassVar[str] = "tender-hunter"
    version: ClassVar[str] = "v1"
    parameters_type = TenderHunterParameters
    parameters: TenderHunterParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        targets = stock_targets(
            observation, window_sales(observation), parameters.cover_days, least_units=0
        )
        ready = (
            parameters.tender_units
            if observation.days_remaining > parameters.stock_ends_days
            else 0
        )
        budget = observation.cash_cents - parameters.cash_floor_cents
        marketing = weighted_shares(
            parameters.marketing_cents if budget > 0 else 0, appeal(observation)
        )
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": percent_of(terms.initial_price_cents, parameters.price_percent),
                    "promotion_cents": 0,
                    "reorder_target": capped(targets[product_id] + ready),
                    "daily_development_budget_cents": (
                        parameters.development_cents
                        if budget > 0 and self._below_goal(observation, product_id)
                        else 0
                    ),
                }
                for product_id, terms in catalog.products.items()
            },
            marketing=spread_marketing(observation, marketing),
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
            bids=tender_bids(observation, parameters.bid_percent, parameters.margin_percent),
            research=wanted_report(
                observation, parameters.research_level, parameters.doubt_percent, budget
            ),
        )

    def _below_goal(self, observation: Observation, product_id: str) -> bool:
        gained = (
            observation.products[product_id].quality
            - observation.catalog.products[product_id].base_quality
        )
        return gained * 10_000.0 < self.parameters.quality_goal_basis_points
