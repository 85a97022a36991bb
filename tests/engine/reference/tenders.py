"""market.md section 6: tenders."""

from engine.records import Award, TenderNotice
from engine.state import Bid, Order, Tender
from tests.engine.reference import draws
from tests.engine.reference.accounts import pay
from tests.engine.reference.capacity import units_on
from tests.engine.reference.knowledge import quality
from tests.engine.reference.market import Company, Market, queued_units
from tests.engine.reference.orders import unreserved


def open_tender(market: Market) -> list[TenderNotice]:
    """Open today's tender, if it is the day for one and a day to deliver would remain."""
    terms, day = market.scenario.tenders, market.day
    closes = day + terms.bidding_days
    due = min(closes + terms.delivery_days, market.scenario.horizon_days)
    if day % terms.interval_days != 0 or due <= closes:
        return []
    product_draw, quantity_draw, quality_draw = draws.tender(market)
    product = int(product_draw * len(market.products))
    line = market.products[product]
    low, high = terms.minimum_share, terms.maximum_share
    tender = Tender(
        tender_id=f"tender-{day:03d}",
        product=product,
        units=max(1, round(terms.size_units * (low + (high - low) * quantity_draw))),
        minimum_quality=line.base_quality + terms.quality_margin * quality_draw,
        reservation_price_cents=max(
            line.purchase_cost_cents + 1,
            round(terms.reservation_markup * line.initial_price_cents),
        ),
        opened_day=day,
        close_day=closes,
        due_day=due,
        bids=[],
    )
    market.state.tenders.append(tender)
    return [
        TenderNotice(
            tender_id=tender.tender_id,
            product=product,
            units=tender.units,
            minimum_quality=tender.minimum_quality,
            reservation_price_cents=tender.reservation_price_cents,
            opened_day=day,
            close_day=closes,
            due_day=due,
        )
    ]


def bid(market: Market, company: Company, tender_id: str, price: int) -> None:
    """A new bid of a company takes the place of its old one."""
    for tender in market.state.tenders:
        if tender.tender_id == tender_id:
            others = [each for each in tender.bids if each.seat != company.seat]
            tender.bids = sorted([*others, Bid(company.seat, price)], key=lambda each: each.seat)


def qualifies(market: Market, tender: Tender, offered: Bid) -> bool:
    company = market.companies[offered.seat - 1]
    capacity = sum(
        units_on(market, company, day) for day in range(tender.close_day + 1, tender.due_day + 1)
    )
    return (
        company.firm.active
        and offered.unit_price_cents <= tender.reservation_price_cents
        and quality(market, company, tender.product) >= tender.minimum_quality
        and unreserved(company, tender.product) >= tender.units
        and capacity - queued_units(company) >= tender.units
    )


def award(market: Market, tender: Tender) -> Award:
    """The lowest qualifying bid wins at its own price; its units are reserved and queue up."""
    result = Award(
        tender.tender_id, tender.product, tender.units, tender.close_day, tender.due_day, None, None
    )
    qualified = [offered for offered in tender.bids if qualifies(market, tender, offered)]
    if not qualified:
        return result
    lowest = min(offered.unit_price_cents for offered in qualified)
    winner = min(
        (offered.seat for offered in qualified if offered.unit_price_cents == lowest),
        key=lambda seat: draws.tie_break(market, tender.tender_id, seat),
    )
    firm = market.companies[winner - 1].firm
    firm.reserved[tender.product] += tender.units
    firm.queue.append(
        Order(
            market.day,
            tender.product,
            tender.units,
            lowest,
            tender_id=tender.tender_id,
            due_day=tender.due_day,
        )
    )
    result.winner_seat, result.unit_price_cents = winner, lowest
    return result


def award_closing(market: Market) -> list[Award]:
    tenders = market.state.tenders
    awards = [award(market, tender) for tender in tenders if tender.close_day == market.day]
    market.state.tenders = [tender for tender in tenders if tender.close_day != market.day]
    return awards


def expire(market: Market, company: Company) -> None:
    """What is left on the due day pays floor(0.10 units price), frees its stock and is gone."""
    firm = company.firm
    for order in firm.queue:
        if order.due_day == market.day:
            share = market.scenario.tenders.penalty_basis_points
            pay(company, "penalties_cents", share * order.units * order.price_cents // 10_000)
            firm.reserved[order.product] -= order.units
    firm.queue = [order for order in firm.queue if order.due_day != market.day]
