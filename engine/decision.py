"""The typed decision of one company for one window, and its validation against the world
(interface.md section 2).

A decision carries only what changes; an empty one is a deliberate hold. Its shape is checked when
it is built (strict types, no unknown fields); whether the world allows it is checked by
:func:`decision_problems`, with the same code for a draft and for the settlement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from engine.quotes import CapacityUnavailable, cancellation_refund, capacity_charge
from engine.scenario import Scenario
from engine.state import FirmState, WorldState

LARGEST_AMOUNT = 2**53 - 1
"""Largest amount a decision may name, in cents or units: the largest integer that canonical JSON
carries exactly."""

Amount = Annotated[int, Field(ge=0, le=LARGEST_AMOUNT)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class _Decided(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ProductSettings(_Decided):
    """Standing settings of one product; None keeps the present value."""

    price_cents: Amount | None = None
    promotion_cents: Amount | None = None
    reorder_target: Amount | None = None
    daily_development_budget_cents: Amount | None = None


class ExpandCapacity(_Decided):
    """Pay the cumulative capital difference now; the tier acts after its construction delay."""

    action: Literal["expand"] = "expand"
    target_tier: Amount


class DownsizeCapacity(_Decided):
    """Pay the adjustment fee now; the lower tier acts after the adjustment delay."""

    action: Literal["downsize"] = "downsize"
    target_tier: Amount


class CancelCapacityProject(_Decided):
    """Stop an unfinished expansion for the quoted refund."""

    action: Literal["cancel"] = "cancel"
    project_id: Name


CapacityAction = Annotated[
    ExpandCapacity | DownsizeCapacity | CancelCapacityProject, Field(discriminator="action")
]


class ResearchRequest(_Decided):
    """One paid report on one segment; ``level`` counts from 1."""

    segment_id: Name
    level: Annotated[int, Field(ge=1, le=LARGEST_AMOUNT)]


class CompanyDecision(_Decided):
    """Everything that one company changes at one boundary.

    ``world_version`` is the number of windows settled before it. ``marketing`` maps segment to
    channel to daily cents; ``bids`` maps tender to unit price in cents; ``innovation_tier`` counts
    from 1.
    """

    company_id: Name
    world_version: Amount
    products: dict[Name, ProductSettings] = Field(default_factory=dict)
    marketing: dict[Name, dict[Name, Amount]] = Field(default_factory=dict)
    reliability_budget_cents: Amount | None = None
    support_budget_cents: Amount | None = None
    innovation_tier: Annotated[int, Field(ge=1, le=LARGEST_AMOUNT)] | None = None
    capacity: CapacityAction | None = None
    bids: dict[Name, Amount] = Field(default_factory=dict)
    research: tuple[ResearchRequest, ...] = ()


class InvalidDecision(ValueError):
    """The world does not allow a decision; ``problems`` names each reason with field, range and
    received value."""

    def __init__(self, company: str, problems: list[str]) -> None:
        super().__init__(f"{company}: " + "; ".join(problems))
        self.company = company
        self.problems = problems


def company_name(seat: int) -> str:
    """The public name of the company in a seat, seats counted from 1."""
    return f"company-{seat}"


def one_time_charges(
    scenario: Scenario, firm: FirmState, decision: CompanyDecision
) -> tuple[int, int]:
    """(charges, refund) in cents of a decision's one-time commitments, whose references must be
    valid.
    """
    charges = 0
    refund = 0
    if decision.innovation_tier is not None:
        charges += scenario.innovation.tiers[decision.innovation_tier - 1].cost_cents
    match decision.capacity:
        case ExpandCapacity(target_tier=tier) | DownsizeCapacity(target_tier=tier):
            charges += capacity_charge(scenario, firm, tier)
        case CancelCapacityProject(project_id=project_id):
            refund += cancellation_refund(
                scenario, firm, project_id, decision_day(scenario, decision)
            )
        case None:
            pass
    for request in decision.research:
        charges += scenario.information.research_levels[request.level - 1].cost_cents
    return charges, refund


def decision_day(scenario: Scenario, decision: CompanyDecision) -> int:
    """The boundary day on which a decision is taken."""
    return decision.world_version * scenario.window_days


def validate_decision(
    scenario: Scenario, state: WorldState, seat: int, decision: CompanyDecision
) -> None:
    """Raise InvalidDecision with every reason why the world does not allow ``decision`` at this
    boundary.
    """
    problems = list(decision_problems(scenario, state, seat, decision))
    if problems:
        raise InvalidDecision(company_name(seat), problems)


def decision_problems(
    scenario: Scenario, state: WorldState, seat: int, decision: CompanyDecision
) -> Iterator[str]:
    """Each reason, one sentence, why the world does not allow ``decision`` for the company in
    ``seat``.
    """
    if not 1 <= seat <= len(state.firms):
        yield f"seat: must be 1..{len(state.firms)}, received {seat}"
        return
    firm = state.firms[seat - 1]
    if decision.company_id != company_name(seat):
        yield f"company_id: must be {company_name(seat)!r}, received {decision.company_id!r}"
    if decision.world_version != state.version:
        yield f"world_version: must be {state.version}, received {decision.world_version}"
        return
    if not firm.active:
        yield f"company_id: {company_name(seat)} left the market on day {firm.exit_day}"
        return
    references = [
        *_product_problems(scenario, firm, decision),
        *_marketing_problems(scenario, decision),
        *_innovation_problems(scenario, firm, decision),
        *_capacity_problems(scenario, firm, decision),
        *_bid_problems(state, decision),
        *_research_problems(scenario, decision),
    ]
    yield from references
    if not references:
        yield from _affordability_problems(scenario, firm, decision)


def _one_of(field: str, allowed: object, received: object) -> str:
    return f"{field}: must be one of {allowed}, received {received!r}"


def _product_problems(
    scenario: Scenario, firm: FirmState, decision: CompanyDecision
) -> Iterator[str]:
    for product_id, settings in decision.products.items():
        if product_id not in scenario.product_ids:
            yield _one_of("products", list(scenario.product_ids), product_id)
            continue
        product = scenario.product_ids.index(product_id)
        price = firm.price_cents[product] if settings.price_cents is None else settings.price_cents
        promotion = (
            firm.promotion_cents[product]
            if settings.promotion_cents is None
            else settings.promotion_cents
        )
        if promotion > price:
            yield (
                f"products.{product_id}.promotion_cents: must be 0..{price} (the list price after "
                f"this decision), received {promotion}"
            )


def _marketing_problems(scenario: Scenario, decision: CompanyDecision) -> Iterator[str]:
    for segment_id, budgets in decision.marketing.items():
        if segment_id not in scenario.segment_ids:
            yield _one_of("marketing.segment_id", list(scenario.segment_ids), segment_id)
        for channel in budgets:
            if channel not in scenario.channels:
                yield _one_of(f"marketing.{segment_id}.channel", list(scenario.channels), channel)


def _innovation_problems(
    scenario: Scenario, firm: FirmState, decision: CompanyDecision
) -> Iterator[str]:
    tier, tiers = decision.innovation_tier, len(scenario.innovation.tiers)
    if tier is None:
        return
    if tier > tiers:
        yield f"innovation_tier: must be 1..{tiers}, received {tier}"
    limit, pending = scenario.innovation.max_pending, len(firm.innovation_projects)
    if limit is not None and pending >= limit:
        yield (
            f"innovation_tier: none can start while {pending} of at most {limit} are pending, "
            f"received {tier}"
        )


def _capacity_problems(
    scenario: Scenario, firm: FirmState, decision: CompanyDecision
) -> Iterator[str]:
    match decision.capacity:
        case ExpandCapacity(target_tier=tier):
            higher = range(firm.tier + 1, len(scenario.capacity.tiers))
            yield from _tier_problems(scenario, firm, tier, higher, "highest")
        case DownsizeCapacity(target_tier=tier):
            yield from _tier_problems(scenario, firm, tier, range(firm.tier), "lowest")
        case CancelCapacityProject(project_id=project_id):
            try:
                cancellation_refund(scenario, firm, project_id, decision_day(scenario, decision))
            except CapacityUnavailable as reason:
                yield f"capacity.project_id: {reason}"
        case None:
            pass


def _tier_problems(
    scenario: Scenario, firm: FirmState, tier: int, allowed: range, end: str
) -> Iterator[str]:
    """``end`` is what the installed tier is when no tier is allowed."""
    field = "capacity.target_tier"
    if not allowed:
        yield f"{field}: tier {firm.tier} is installed and is the {end} there is, received {tier}"
    elif tier not in allowed:
        yield f"{field}: must be {allowed[0]}..{allowed[-1]}, received {tier}"
    else:
        try:
            capacity_charge(scenario, firm, tier)
        except CapacityUnavailable as reason:
            yield f"{field}: {reason}, received {tier}"


def _bid_problems(state: WorldState, decision: CompanyDecision) -> Iterator[str]:
    open_tenders = [tender.tender_id for tender in state.tenders]
    for tender_id in decision.bids:
        if tender_id not in open_tenders:
            yield f"bids: {tender_id!r} is not open; open tenders: {open_tenders or 'none'}"


def _research_problems(scenario: Scenario, decision: CompanyDecision) -> Iterator[str]:
    levels = len(scenario.information.research_levels)
    for number, request in enumerate(decision.research, start=1):
        if request.segment_id not in scenario.segment_ids:
            yield _one_of(
                f"research[{number}].segment_id", list(scenario.segment_ids), request.segment_id
            )
        if request.level > levels:
            yield f"research[{number}].level: must be 1..{levels}, received {request.level}"


def _affordability_problems(
    scenario: Scenario, firm: FirmState, decision: CompanyDecision
) -> Iterator[str]:
    charges, refund = one_time_charges(scenario, firm, decision)
    shortfall = charges - firm.cash_cents - refund
    if charges and shortfall > 0:
        yield (
            f"one-time commitments of {charges} cents exceed cash of {firm.cash_cents} cents plus "
            f"a refund of {refund} cents: {shortfall} cents short"
        )
