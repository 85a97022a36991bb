"""Enact one company's decision at a boundary: standing settings, one-time commitments, receipts
(market.md section 1).
"""

from __future__ import annotations

from engine.decision import (
    CancelCapacityProject,
    CompanyDecision,
    DownsizeCapacity,
    ExpandCapacity,
    validate_decision,
)
from engine.quotes import cancellation_refund, capacity_charge
from engine.records import ActionReceipt, Ledger
from engine.rules.capacity import cancel_capacity_project, place_capacity_change
from engine.rules.information import request_research
from engine.rules.knowledge import start_innovation
from engine.rules.tenders import enter_bid
from engine.scenario import Scenario
from engine.state import FirmState, WorldState
from engine.streams import Streams


def enact(
    scenario: Scenario, streams: Streams, state: WorldState, seat: int, decision: CompanyDecision
) -> tuple[Ledger, list[ActionReceipt]]:
    """Apply a decision to the company's state; returns its one-time flows and a receipt for each
    action.

    The flows change cash at once and belong to the ledger of the next day. Raises InvalidDecision,
    with nothing changed, when the world does not allow the decision.
    """
    validate_decision(scenario, state, seat, decision)
    firm = state.firms[seat - 1]
    _set_policies(scenario, firm, decision)
    flows = Ledger()
    receipts = [
        *_enact_innovation(scenario, streams, state, seat, decision, flows),
        *_enact_capacity(scenario, firm, state.day, decision, flows),
        *_enact_research(scenario, streams, state, seat, decision, flows),
        *_enact_bids(state, seat, decision),
    ]
    firm.cash_cents += flows.net_cents
    return flows, receipts


def _set_policies(scenario: Scenario, firm: FirmState, decision: CompanyDecision) -> None:
    for product_id, settings in decision.products.items():
        product = scenario.product_ids.index(product_id)
        for values, value in (
            (firm.price_cents, settings.price_cents),
            (firm.promotion_cents, settings.promotion_cents),
            (firm.reorder_target, settings.reorder_target),
            (firm.development_cents, settings.daily_development_budget_cents),
        ):
            if value is not None:
                values[product] = value
    for segment_id, budgets in decision.marketing.items():
        line = firm.marketing_cents[scenario.segment_ids.index(segment_id)]
        for channel, budget in budgets.items():
            line[scenario.channels.index(channel)] = budget
    if decision.reliability_budget_cents is not None:
        firm.reliability_cents = decision.reliability_budget_cents
    if decision.support_budget_cents is not None:
        firm.support_cents = decision.support_budget_cents


def _enact_innovation(
    scenario: Scenario,
    streams: Streams,
    state: WorldState,
    seat: int,
    decision: CompanyDecision,
    flows: Ledger,
) -> list[ActionReceipt]:
    if decision.innovation_tier is None:
        return []
    firm = state.firms[seat - 1]
    project = start_innovation(scenario, streams, firm, seat, decision.innovation_tier, state.day)
    cost = scenario.innovation.tiers[project.tier - 1].cost_cents
    flows.projects_cents += cost
    return [
        ActionReceipt(
            "innovation_project", project.project_id, state.day, cost, 0, "applied", state.day
        )
    ]


def _enact_capacity(
    scenario: Scenario, firm: FirmState, day: int, decision: CompanyDecision, flows: Ledger
) -> list[ActionReceipt]:
    match decision.capacity:
        case ExpandCapacity(target_tier=tier) | DownsizeCapacity(target_tier=tier):
            charge = capacity_charge(scenario, firm, tier)
            project = place_capacity_change(scenario, firm, tier, day)
            flows.capacity_cents += charge
            return [
                ActionReceipt(
                    "capacity_expansion" if project.is_expansion else "capacity_downsizing",
                    project.project_id,
                    day,
                    charge,
                    0,
                    "applied",
                    project.due_day,
                )
            ]
        case CancelCapacityProject(project_id=project_id):
            refund = cancellation_refund(scenario, firm, project_id, day)
            cancel_capacity_project(firm, project_id)
            flows.refunds_cents += refund
            return [
                ActionReceipt("capacity_cancellation", project_id, day, 0, refund, "applied", day)
            ]
        case None:
            return []


def _enact_research(
    scenario: Scenario,
    streams: Streams,
    state: WorldState,
    seat: int,
    decision: CompanyDecision,
    flows: Ledger,
) -> list[ActionReceipt]:
    if not decision.research:
        return []
    requests = [
        (scenario.segment_ids.index(request.segment_id), request.level)
        for request in decision.research
    ]
    receipts = []
    for report in request_research(scenario, streams, state, seat, requests):
        cost = scenario.information.research_levels[report.level - 1].cost_cents
        flows.research_cents += cost
        receipts.append(
            ActionReceipt(
                "market_research", report.report_id, state.day, cost, 0, "applied", report.due_day
            )
        )
    return receipts


def _enact_bids(state: WorldState, seat: int, decision: CompanyDecision) -> list[ActionReceipt]:
    receipts = []
    for tender in state.tenders:
        price = decision.bids.get(tender.tender_id)
        if price is not None:
            enter_bid(tender, seat, price)
            receipts.append(
                ActionReceipt(
                    "enterprise_bid", tender.tender_id, state.day, 0, 0, "applied", tender.close_day
                )
            )
    return receipts
