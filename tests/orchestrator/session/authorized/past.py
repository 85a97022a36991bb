"""The tables that keep what has happened, and the catalogues, as the contract has them."""

from collections.abc import Iterator
from typing import Final

from tests.orchestrator.session.authorized.view import Authorized, Cells

_INNOVATION: Final = {
    1: (1_000_000, 45, 2_000_000),
    2: (3_000_000, 90, 7_000_000),
    3: (7_500_000, 150, 20_000_000),
}
_RESEARCH: Final = {
    1: (100_000, 2, 0.65),
    2: (250_000, 4, 0.40),
    3: (600_000, 7, 0.25),
    4: (1_250_000, 10, 0.15),
    5: (2_500_000, 14, 0.08),
}


def innovation_catalog(_: Authorized) -> Iterator[Cells]:
    for tier, (cost, median, gain) in _INNOVATION.items():
        yield {
            "tier": tier,
            "cost_cents": cost,
            "median_days": median,
            "expected_gain_cents": gain,
        }


def innovation_projects(seen: Authorized) -> Iterator[Cells]:
    """Only what was known at the start, and that it has completed once it has."""
    completed = {
        completion.project_id: day
        for day, company in seen.own_days
        for completion in company.completions
        if completion.kind == "innovation_project"
    }
    for _, receipt in seen.receipts:
        if receipt.kind == "innovation_project":
            tier = seen.projects[receipt.subject]
            _, median, gain = _INNOVATION[tier]
            day = completed.get(receipt.subject)
            yield {
                "project_id": receipt.subject,
                "tier": tier,
                "started_day": receipt.decided_day,
                "median_completion_day": receipt.decided_day + median,
                "expected_gain_cents": gain,
                "status": "pending" if day is None else "completed",
                "completed_day": day,
            }


def research_catalog(_: Authorized) -> Iterator[Cells]:
    for level, (cost, delay, log_sd) in _RESEARCH.items():
        yield {"level": level, "cost_cents": cost, "delay_days": delay, "log_sd": log_sd}


def research_reports(seen: Authorized) -> Iterator[Cells]:
    """Sampling and delivery day at once; readings on delivery."""
    for report in seen.firm.pending_reports:
        yield {
            "report_id": report.report_id,
            "segment_id": ("mainstream", "premium", "value")[report.segment],
            "level": report.level,
            "sample_day": report.sample_day,
            "delivery_day": report.due_day,
            "status": "pending",
            "log_sd": _RESEARCH[report.level][2],
            "demand": None,
            "price_weight": None,
            "expected_quality": None,
        }
    for day, company in seen.own_days:
        for delivered in company.reports:
            yield {
                "report_id": delivered.report_id,
                "segment_id": ("mainstream", "premium", "value")[delivered.segment],
                "level": delivered.level,
                "sample_day": delivered.sample_day,
                "delivery_day": day,
                "status": "delivered",
                "log_sd": _RESEARCH[delivered.level][2],
                "demand": delivered.demand,
                "price_weight": delivered.price_weight,
                "expected_quality": delivered.expected_quality,
            }


def beliefs(seen: Authorized) -> Iterator[Cells]:
    for h, segment in enumerate(("mainstream", "premium", "value")):
        for k, quantity in enumerate(("demand", "price_weight", "expected_quality")):
            belief = seen.firm.beliefs[h][k]
            yield {
                "segment_id": segment,
                "quantity": quantity,
                "mean": belief.mean,
                "variance": belief.variance,
            }


def public_prices(seen: Authorized) -> Iterator[Cells]:
    """Of rivals nothing but prices, and whether they are still there."""
    for seat, firm in enumerate(seen.state.firms, start=1):
        for j, product in enumerate("ABC"):
            yield {
                "company_id": f"company-{seat}",
                "product_id": product,
                "list_price_cents": firm.price_cents[j],
                "promotion_cents": firm.promotion_cents[j],
                "effective_price_cents": firm.price_cents[j] - firm.promotion_cents[j],
                "status": "active" if firm.active else "exited",
                "is_own": int(seat == seen.seat),
            }


def open_tenders(seen: Authorized) -> Iterator[Cells]:
    """Of the sealed bids one's own."""
    for tender in seen.state.tenders:
        own = [bid.unit_price_cents for bid in tender.bids if bid.seat == seen.seat]
        yield {
            "tender_id": tender.tender_id,
            "product_id": "ABC"[tender.product],
            "units": tender.units,
            "minimum_quality": tender.minimum_quality,
            "reservation_price_cents": tender.reservation_price_cents,
            "opened_day": tender.opened_day,
            "close_day": tender.close_day,
            "due_day": tender.due_day,
            "own_bid_cents": own[0] if own else None,
        }


def tender_history(seen: Authorized) -> Iterator[Cells]:
    opened = {tender.tender_id: tender for tender in seen.first_tenders}
    notices = {
        notice.tender_id: notice for _, public in seen.public_days for notice in public.opened
    }
    for day, public in seen.public_days:
        for award in public.awards:
            terms = notices.get(award.tender_id) or opened[award.tender_id]
            winner = award.winner_seat
            yield {
                "tender_id": award.tender_id,
                "product_id": "ABC"[terms.product],
                "units": terms.units,
                "minimum_quality": terms.minimum_quality,
                "reservation_price_cents": terms.reservation_price_cents,
                "opened_day": terms.opened_day,
                "close_day": day,
                "due_day": terms.due_day,
                "winner_company_id": None if winner is None else f"company-{winner}",
                "unit_price_cents": award.unit_price_cents,
            }


def market_signal(seen: Authorized) -> Iterator[Cells]:
    """Seven days late: the last sample is that of max(0, today - 7)."""
    samples = {0: (0, 1.0, 1.0, 1.0)}
    for day, public in seen.public_days:
        signal = public.signal
        assert signal.sample_day == max(0, day - 7)
        samples.setdefault(
            signal.sample_day, (day, signal.macro, signal.demand_index, signal.quality_index)
        )
    for sample_day, (published_day, macro, demand, quality) in samples.items():
        yield {
            "sample_day": sample_day,
            "published_day": published_day,
            "macro_value": macro,
            "demand_index": demand,
            "quality_index": quality,
        }


def action_receipts(seen: Authorized) -> Iterator[Cells]:
    for number, receipt in seen.receipts:
        yield {
            "decided_day": receipt.decided_day,
            "number": number,
            "kind": receipt.kind,
            "subject": receipt.subject,
            "outcome": receipt.outcome,
            "charge_cents": receipt.charge_cents,
            "refund_cents": receipt.refund_cents,
            "effective_day": receipt.effective_day,
        }


def daily_cashflow(seen: Authorized) -> Iterator[Cells]:
    for day, company in seen.own_days:
        ledger = company.ledger
        yield {
            "day": day,
            "opening_cash_cents": company.opening_cash_cents,
            "revenue_cents": ledger.revenue_cents,
            "refunds_cents": ledger.refunds_cents,
            "outlays_cents": company.opening_cash_cents
            + ledger.revenue_cents
            + ledger.refunds_cents
            - company.closing_cash_cents,
            "closing_cash_cents": company.closing_cash_cents,
        }


def daily_expenses(seen: Authorized) -> Iterator[Cells]:
    for day, company in seen.own_days:
        ledger = company.ledger
        for category, cents in (
            ("procurement", ledger.procurement_cents),
            ("holding", ledger.holding_cents),
            ("marketing", ledger.marketing_cents),
            ("development", ledger.development_cents),
            ("reliability", ledger.reliability_cents),
            ("support", ledger.support_cents),
            ("overhead", ledger.overhead_cents),
            ("projects", ledger.projects_cents),
            ("capacity", ledger.capacity_cents),
            ("research", ledger.research_cents),
            ("remediation", ledger.remediation_cents),
            ("penalties", ledger.penalties_cents),
        ):
            yield {"day": day, "category": category, "cents": cents}


def daily_product_sales(seen: Authorized) -> Iterator[Cells]:
    for day, company in seen.own_days:
        for product, line, cost in zip("ABC", company.products, (2600, 4800, 8500), strict=True):
            yield {
                "day": day,
                "product_id": product,
                "orders": line.orders,
                "fulfilled_units": line.fulfilled_units,
                "enterprise_units": line.enterprise_units,
                "revenue_cents": line.revenue_cents,
                "cogs_cents": line.fulfilled_units * cost,
                "stockouts": line.stockouts,
                "backlogged_units": line.backlogged_units,
                "abandoned_units": line.abandoned_units,
                "received_units": line.received_units,
                "ordered_units": line.ordered_units,
            }


def daily_segment_service(seen: Authorized) -> Iterator[Cells]:
    for day, company in seen.own_days:
        for segment, line in zip(("mainstream", "premium", "value"), company.segments, strict=True):
            served = line.fulfilled_units
            yield {
                "day": day,
                "segment_id": segment,
                "fulfilled_units": served,
                "paid_cents": line.paid_cents,
                "failures": line.failures,
                "wait_unit_days": line.wait_unit_days,
                "mean_wait_days": line.wait_unit_days / served if served else None,
                "tickets": line.tickets,
                "support_queue": company.support_queue,
                "satisfaction": line.satisfaction,
                "loyalty": line.loyalty,
            }
