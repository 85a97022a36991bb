"""The tables that hold only today, as the contract has them."""

import math
from collections.abc import Iterator

from tests.orchestrator.session.authorized.view import Authorized, Cells


def scenario(seen: Authorized) -> Iterator[Cells]:
    scenario = seen.scenario
    yield {
        "horizon_days": 500,
        "window_days": 7,
        "day": seen.day,
        "days_remaining": 500 - seen.day,
        "innovation_limit": None,
        "initial_value_cents": scenario.initial_cash_cents + 600 * 800 + 400 * 1500 + 200 * 2600,
        "score_definition": (
            "Score = cash at the end + liquidation value of stock on hand and of paid inbound "
            "stock at the end - initial enterprise value (initial cash + initial stock at "
            "liquidation value)"
        ),
    }


def company(seen: Authorized) -> Iterator[Cells]:
    yield {
        "company_id": f"company-{seen.seat}",
        "status": "active",
        "world_version": seen.day // 7,
        "day": seen.day,
        "cash_cents": seen.firm.cash_cents,
        "support_queue": seen.firm.support_queue,
    }


def segments(_: Authorized) -> Iterator[Cells]:
    for name in ("mainstream", "premium", "value"):
        yield {"segment_id": name, "label": name.capitalize()}


def channels(_: Authorized) -> Iterator[Cells]:
    for name in ("affiliate", "display", "search"):
        yield {"channel": name, "label": name.capitalize()}


def product_catalog(seen: Authorized) -> Iterator[Cells]:
    for product in seen.scenario.products:
        yield {
            "product_id": product.id,
            "base_quality": product.base_quality,
            "initial_price_cents": product.initial_price_cents,
            "purchase_cost_cents": product.purchase_cost_cents,
            "liquidation_value_cents": product.liquidation_value_cents,
            "holding_cost_cents": product.holding_cost_cents,
            "procurement_days": product.procurement_days,
            "development_days": 7,
        }


def products(seen: Authorized) -> Iterator[Cells]:
    firm = seen.firm
    for j, product in enumerate(seen.scenario.products):
        yield {
            "product_id": product.id,
            "price_cents": firm.price_cents[j],
            "promotion_cents": firm.promotion_cents[j],
            "effective_price_cents": firm.price_cents[j] - firm.promotion_cents[j],
            "reorder_target": firm.reorder_target[j],
            "daily_development_budget_cents": firm.development_cents[j],
            "realized_quality": product.base_quality
            + 0.18 * math.log(1 + firm.knowledge_cents[j] / 5_000_000),
        }


def marketing_policy(seen: Authorized) -> Iterator[Cells]:
    for h, segment in enumerate(("mainstream", "premium", "value")):
        for c, channel in enumerate(("affiliate", "display", "search")):
            yield {
                "segment_id": segment,
                "channel": channel,
                "daily_budget_cents": seen.firm.marketing_cents[h][c],
            }


def operations_policy(seen: Authorized) -> Iterator[Cells]:
    yield {
        "reliability_budget_cents": seen.firm.reliability_cents,
        "support_budget_cents": seen.firm.support_cents,
    }


def capacity_policy(seen: Authorized) -> Iterator[Cells]:
    terms = seen.scenario.capacity.tiers[seen.firm.tier]
    pending = [project for project in seen.firm.capacity_projects if project.status == "pending"]
    assert len(pending) <= 1
    project = pending[0] if pending else None
    yield {
        "tier": seen.firm.tier,
        "units_per_day": terms.units_per_day,
        "overhead_cents": terms.overhead_cents,
        "pending_project_id": project.project_id if project else None,
        "pending_target_tier": project.target_tier if project else None,
        "pending_started_day": project.started_day if project else None,
        "pending_effective_day": project.due_day if project else None,
        "pending_prepaid_cents": project.prepaid_cents if project else None,
    }


def inventory(seen: Authorized) -> Iterator[Cells]:
    firm = seen.firm
    for j, product in enumerate("ABC"):
        inbound = 0
        for shipment in firm.inbound[j]:
            inbound += shipment.units
        yield {
            "product_id": product,
            "on_hand_units": firm.stock[j],
            "reserved_units": firm.reserved[j],
            "available_units": firm.stock[j] - firm.reserved[j],
            "inbound_units": inbound,
        }


def inbound_shipments(seen: Authorized) -> Iterator[Cells]:
    for j, product in enumerate("ABC"):
        for shipment in seen.firm.inbound[j]:
            yield {
                "product_id": product,
                "arrival_day": shipment.due_day,
                "units": shipment.units,
            }


def backlog(seen: Authorized) -> Iterator[Cells]:
    position = 0
    for order in seen.firm.queue:
        if order.segment is not None:
            position += 1
            yield {
                "position": position,
                "entered_day": order.entered_day,
                "age_days": seen.day - order.entered_day,
                "segment_id": ("mainstream", "premium", "value")[order.segment],
                "product_id": "ABC"[order.product],
                "units": order.units,
                "price_cents": order.price_cents,
            }


def enterprise_contracts(seen: Authorized) -> Iterator[Cells]:
    for order in seen.firm.queue:
        if order.tender_id is not None:
            yield {
                "tender_id": order.tender_id,
                "product_id": "ABC"[order.product],
                "remaining_units": order.units,
                "unit_price_cents": order.price_cents,
                "awarded_day": order.entered_day,
                "due_day": order.due_day,
            }


def capacity_catalog(seen: Authorized) -> Iterator[Cells]:
    for number, tier in enumerate(seen.scenario.capacity.tiers):
        yield {
            "tier": number,
            "units_per_day": tier.units_per_day,
            "overhead_cents": tier.overhead_cents,
            "capital_cents": tier.capital_cents,
            "construction_days": tier.construction_days,
        }


def capacity_action_quotes(seen: Authorized) -> Iterator[Cells]:
    """market.md section 5, in its own words."""
    firm, day = seen.firm, seen.day
    pending = [project for project in firm.capacity_projects if project.status == "pending"]
    tiers = seen.scenario.capacity.tiers
    for project in pending:
        if project.target_tier > project.from_tier:
            paid = project.prepaid_cents
            elapsed, length = day - project.started_day, project.due_day - project.started_day
            fee = math.floor(0.10 * paid)
            incurred = fee + (paid - fee) * elapsed // length
            yield {
                "action": "cancel",
                "target_tier": None,
                "project_id": project.project_id,
                "charge_cents": 0,
                "refund_cents": max(0, paid - incurred - math.floor(0.05 * paid)),
                "effective_day": day,
            }
    if not pending:
        for number, tier in enumerate(tiers):
            up = number > firm.tier
            if number != firm.tier:
                yield {
                    "action": "expand" if up else "downsize",
                    "target_tier": number,
                    "project_id": None,
                    "charge_cents": tier.capital_cents - tiers[firm.tier].capital_cents
                    if up
                    else 100_000 * (firm.tier - number),
                    "refund_cents": 0,
                    "effective_day": day + (tier.construction_days if up else 7),
                }
