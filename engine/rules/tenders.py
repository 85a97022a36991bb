"""Enterprise tenders: opening, award, expiry (market.md section 6)."""

from __future__ import annotations

from engine.records import Award, TenderNotice
from engine.rules.capacity import scheduled_capacity
from engine.rules.today import Company, Today
from engine.scenario import Scenario
from engine.state import Bid, Order, Tender
from engine.streams import MARKET, Streams


def open_tender(scenario: Scenario, streams: Streams, day: int) -> Tender | None:
    """The tender that opens at the end of ``day``, or None: one every interval, if a delivery
    day remains.
    """
    terms = scenario.tenders
    close_day = day + terms.bidding_days
    due_day = min(close_day + terms.delivery_days, scenario.horizon_days)
    if day % terms.interval_days or due_day <= close_day:
        return None
    product_draw, size_draw, quality_draw = streams.bounded("tender", MARKET, day, 3)
    product = int(product_draw * len(scenario.products))
    line = scenario.products[product]
    share = terms.minimum_share + (terms.maximum_share - terms.minimum_share) * size_draw
    return Tender(
        tender_id=f"tender-{day:03d}",
        product=product,
        units=max(1, round(terms.size_units * share)),
        minimum_quality=line.base_quality + terms.quality_margin * quality_draw,
        reservation_price_cents=max(
            line.purchase_cost_cents + 1, round(terms.reservation_markup * line.initial_price_cents)
        ),
        opened_day=day,
        close_day=close_day,
        due_day=due_day,
        bids=[],
    )


def notice_of(tender: Tender) -> TenderNotice:
    """A tender's public terms."""
    return TenderNotice(*(getattr(tender, name) for name in TenderNotice.__struct_fields__))


def enter_bid(tender: Tender, seat: int, unit_price_cents: int) -> None:
    """Enter a sealed bid; it replaces the company's earlier one. Bids are kept in seat order."""
    tender.bids = sorted(
        [*(bid for bid in tender.bids if bid.seat != seat), Bid(seat, unit_price_cents)],
        key=lambda bid: bid.seat,
    )


def award_closing_tenders(today: Today) -> list[Award]:
    """Award every tender that closes today; its units are reserved and join the winner's queue
    now.
    """
    awards = [
        _award(today, tender) for tender in today.state.tenders if tender.close_day == today.day
    ]
    if awards:
        today.state.tenders = [
            tender for tender in today.state.tenders if tender.close_day > today.day
        ]
    return awards


def _award(today: Today, tender: Tender) -> Award:
    bidders = {company.seat: company for company in today.companies}
    qualified = [
        bid
        for bid in tender.bids
        if bid.seat in bidders and _qualifies(today, tender, bid, bidders[bid.seat])
    ]
    award = Award(
        tender.tender_id, tender.product, tender.units, tender.close_day, tender.due_day, None, None
    )
    if qualified:
        best = min(
            qualified,
            key=lambda bid: (
                bid.unit_price_cents,
                today.streams.tie_break(tender.tender_id, bid.seat),
            ),
        )
        award.winner_seat, award.unit_price_cents = best.seat, best.unit_price_cents
        winner = bidders[best.seat].firm
        winner.reserved[tender.product] += tender.units
        winner.queue.append(
            Order(
                today.day,
                tender.product,
                tender.units,
                best.unit_price_cents,
                tender_id=tender.tender_id,
                due_day=tender.due_day,
            )
        )
    return award


def _qualifies(today: Today, tender: Tender, bid: Bid, company: Company) -> bool:
    firm = company.firm
    capacity = scheduled_capacity(today.scenario, firm, tender.close_day + 1, tender.due_day)
    return (
        bid.unit_price_cents <= tender.reservation_price_cents
        and company.quality[tender.product] >= tender.minimum_quality
        and firm.stock[tender.product] - firm.reserved[tender.product] >= tender.units
        and capacity - firm.queued_units >= tender.units
    )


def expire_overdue_orders(today: Today, company: Company) -> None:
    """On the due day what is left of an enterprise order pays its penalty once and leaves the
    queue.
    """
    firm = company.firm
    overdue = [order for order in firm.queue if order.due_day == today.day]
    if not overdue:
        return
    for order in overdue:
        amount = order.units * order.price_cents
        penalty = amount * today.scenario.tenders.penalty_basis_points // 10_000
        firm.cash_cents -= penalty
        company.record.ledger.penalties_cents += penalty
        firm.reserved[order.product] -= order.units
    firm.queue = [order for order in firm.queue if order.due_day != today.day]
