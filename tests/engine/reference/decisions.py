"""interface.md sections 1 and 2: what a world allows; market.md section 1: what a decision does."""

from engine.decision import (
    CancelCapacityProject,
    CompanyDecision,
    DownsizeCapacity,
    ExpandCapacity,
)
from tests.engine.reference.capacity import (
    cancel,
    change_capacity,
    charge_for,
    may_cancel,
    pending_change,
    project_named,
    refund_for,
)
from tests.engine.reference.information import request_research
from tests.engine.reference.knowledge import start_project
from tests.engine.reference.market import Company, Market
from tests.engine.reference.tenders import bid


def allowed(market: Market, seat: int, decision: CompanyDecision) -> bool:
    """Whether the company in a seat may decide so at this boundary."""
    company = market.companies[seat - 1]
    return (
        company.firm.active
        and decision.company_id == f"company-{seat}"
        and decision.world_version == market.state.version
        and _prices_allowed(market, company, decision)
        and _names_known(market, decision)
        and _innovation_allowed(market, company, decision)
        and _capacity_allowed(market, company, decision)
        and _affordable(market, company, decision)
    )


def _prices_allowed(market: Market, company: Company, decision: CompanyDecision) -> bool:
    """0 <= promotion <= price, after the decision."""
    for product_id, settings in decision.products.items():
        if product_id not in market.scenario.product_ids:
            return False
        product = market.scenario.product_ids.index(product_id)
        price, promotion = settings.price_cents, settings.promotion_cents
        if price is None:
            price = company.firm.price_cents[product]
        if promotion is None:
            promotion = company.firm.promotion_cents[product]
        if promotion > price:
            return False
    return True


def _names_known(market: Market, decision: CompanyDecision) -> bool:
    """Segments, channels, research levels and open tenders."""
    segments, channels = market.scenario.segment_ids, market.scenario.channels
    levels = len(market.scenario.information.research_levels)
    open_tenders = [tender.tender_id for tender in market.state.tenders]
    return (
        all(segment in segments for segment in decision.marketing)
        and all(name in channels for line in decision.marketing.values() for name in line)
        and all(tender_id in open_tenders for tender_id in decision.bids)
        and all(request.segment_id in segments for request in decision.research)
        and all(1 <= request.level <= levels for request in decision.research)
    )


def _innovation_allowed(market: Market, company: Company, decision: CompanyDecision) -> bool:
    innovation, tier = market.scenario.innovation, decision.innovation_tier
    pending = len(company.firm.innovation_projects)
    if tier is None:
        return True
    if innovation.max_pending is not None and pending >= innovation.max_pending:
        return False
    return 1 <= tier <= len(innovation.tiers)


def _capacity_allowed(market: Market, company: Company, decision: CompanyDecision) -> bool:
    """One change pending at a time, up by an expansion, down by a downsizing."""
    idle, tier = pending_change(company) is None, company.firm.tier
    match decision.capacity:
        case ExpandCapacity(target_tier=target):
            return idle and tier < target < len(market.scenario.capacity.tiers)
        case DownsizeCapacity(target_tier=target):
            return idle and 0 <= target < tier
        case CancelCapacityProject(project_id=project_id):
            project = project_named(company, project_id)
            return project is not None and may_cancel(market, project)
        case None:
            return True


def _affordable(market: Market, company: Company, decision: CompanyDecision) -> bool:
    """All one-time commitments together fit the cash and the refund of the same decision.

    Where nothing is committed nothing needs to fit.
    """
    scenario, charges, refund = market.scenario, 0, 0
    if decision.innovation_tier is not None:
        charges += scenario.innovation.tiers[decision.innovation_tier - 1].cost_cents
    match decision.capacity:
        case ExpandCapacity(target_tier=target) | DownsizeCapacity(target_tier=target):
            charges += charge_for(market, company, target)
        case CancelCapacityProject(project_id=project_id):
            project = project_named(company, project_id)
            assert project is not None
            refund += refund_for(market, project)
    for request in decision.research:
        charges += scenario.information.research_levels[request.level - 1].cost_cents
    return charges == 0 or charges <= company.firm.cash_cents + refund


def enact(market: Market, company: Company, decision: CompanyDecision) -> None:
    """Standing policies stay until they are changed again; one-offs are paid and refunded now."""
    _set_policies(market, company, decision)
    if decision.innovation_tier is not None:
        start_project(market, company, decision.innovation_tier)
    match decision.capacity:
        case ExpandCapacity(target_tier=target) | DownsizeCapacity(target_tier=target):
            change_capacity(market, company, target)
        case CancelCapacityProject(project_id=project_id):
            cancel(market, company, project_id)
    request_research(market, company, decision.research)
    for tender_id, price in decision.bids.items():
        bid(market, company, tender_id, price)


def _set_policies(market: Market, company: Company, decision: CompanyDecision) -> None:
    scenario, firm = market.scenario, company.firm
    for product_id, settings in decision.products.items():
        product = scenario.product_ids.index(product_id)
        if settings.price_cents is not None:
            firm.price_cents[product] = settings.price_cents
        if settings.promotion_cents is not None:
            firm.promotion_cents[product] = settings.promotion_cents
        if settings.reorder_target is not None:
            firm.reorder_target[product] = settings.reorder_target
        if settings.daily_development_budget_cents is not None:
            firm.development_cents[product] = settings.daily_development_budget_cents
    for segment_id, budgets in decision.marketing.items():
        segment = scenario.segment_ids.index(segment_id)
        for channel, budget in budgets.items():
            firm.marketing_cents[segment][scenario.channels.index(channel)] = budget
    if decision.reliability_budget_cents is not None:
        firm.reliability_cents = decision.reliability_budget_cents
    if decision.support_budget_cents is not None:
        firm.support_cents = decision.support_budget_cents
