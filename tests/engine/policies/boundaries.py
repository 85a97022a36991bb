"""Observations of one company, made to measure."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from engine.boundary import Boundary
from engine.decision import CompanyDecision, ProductSettings
from engine.observation import Observation, OpenTender
from engine.policies.balanced import Balanced
from engine.policies.base import Policy
from engine.policies.discounter import Discounter
from engine.policies.growth import Growth
from engine.policies.harvester import Harvester
from engine.policies.no_action import NoAction
from engine.policies.overspender import Overspender
from engine.policies.price_follower import PriceFollower
from engine.policies.quality_leader import QualityLeader
from engine.policies.rule import Rule
from engine.policies.tender_hunter import TenderHunter
from engine.records import CompanyDay, Ledger, ProductDay, SegmentDay
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state
from engine.state import WorldState
from engine.streams import Streams

SCENARIO = default_scenario()

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        Balanced,
        Discounter,
        Growth,
        Harvester,
        NoAction,
        Overspender,
        PriceFollower,
        QualityLeader,
        Rule,
        TenderHunter,
    )
}


def observed(
    scenario: Scenario = SCENARIO,
    *,
    day: int = 0,
    firms: int = 8,
    prepare: Callable[[WorldState], None] | None = None,
    asked: Sequence[int] = (),
    profit_cents: int = 0,
    **changes: Any,
) -> Observation:
    """What company-1 of a fresh world sees at a boundary, without open tenders.

    ``asked`` consumer units by product were asked for and delivered in the window before, at
    ``profit_cents`` of gross profit in all. ``prepare`` changes the state before it is observed,
    ``changes`` replaces fields of the observation.
    """
    state = initial_state(scenario, Streams(11), firms)
    state.day, state.version, state.tenders = day, day // scenario.window_days, []
    if prepare is not None:
        prepare(state)
    week = tuple(_idle_day() for _ in range(scenario.window_days if day else 0))
    for number, units in enumerate(asked):
        week[0].products[number] = ProductDay(orders=units, fulfilled_units=units)
    if week:
        week[0].products[0].revenue_cents = profit_cents
    return replace(Boundary(scenario, state, []).observe(1), **{"elapsed": week, **changes})


def _idle_day() -> CompanyDay:
    return CompanyDay(
        seat=1,
        opening_cash_cents=0,
        ledger=Ledger(),
        products=[ProductDay() for _ in SCENARIO.products],
        segments=[SegmentDay() for _ in SCENARIO.segments],
        reports=[],
        completions=[],
    )


def tender(
    product_id: str,
    units: int,
    *,
    number: int = 0,
    minimum_quality: float = 0.0,
    reservation_price_cents: int = 10_000,
) -> OpenTender:
    return OpenTender(
        f"tender-{number}",
        product_id,
        units,
        minimum_quality,
        reservation_price_cents,
        0,
        7,
        14,
        None,
    )


def settings(decision: CompanyDecision, field: str) -> dict[str, Any]:
    """One setting of every product that a decision names."""
    assert field in ProductSettings.model_fields
    return {name: getattr(product, field) for name, product in decision.products.items()}


def segment_budgets(decision: CompanyDecision) -> dict[str, int]:
    return {name: sum(budgets.values()) for name, budgets in decision.marketing.items()}
