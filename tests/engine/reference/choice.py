"""market.md section 3: choice."""

import math

from engine.distributions import multinomial
from engine.state import Order
from tests.engine.reference import conditions, draws
from tests.engine.reference.advertising import awareness
from tests.engine.reference.knowledge import quality
from tests.engine.reference.market import Company, Market
from tests.engine.reference.orders import hand_over, unreserved

Offer = tuple[Company, int]
"""One product of one company."""


def effective_price(company: Company, product: int) -> int:
    return company.firm.price_cents[product] - company.firm.promotion_cents[product]


def utility(market: Market, offer: Offer, segment: int) -> float:
    """v of one offer for a segment; the standing of yesterday, the awareness of today."""
    company, product = offer
    firm, terms = company.firm, market.segments[segment]
    known = max(awareness(company, segment), market.scenario.advertising.awareness_floor)
    gap = quality(market, company, product) - conditions.expected_quality(market, segment)
    relative_price = effective_price(company, product) / terms.reference_price_cents
    return (
        conditions.quality_weight(market, segment) * gap
        + conditions.service_weight(market, segment) * firm.satisfaction[segment]
        + terms.awareness_weight * math.log(known)
        + terms.loyalty_weight * firm.loyalty[segment]
        - conditions.price_weight(market, segment) * relative_price
        + terms.product_match[market.products[product].id]
    )


def allocate(
    market: Market, segment: int, round_: int, buyers: int, offers: list[Offer]
) -> list[int]:
    """How many of the buyers take each offer, drawn jointly; the others take the outside option."""
    utilities = [utility(market, offer, segment) for offer in offers]
    utilities.append(market.segments[segment].outside_utility)
    floor = market.scenario.choice.utility_floor
    weights = [math.exp(max(floor, value - max(utilities))) for value in utilities]
    places = [(company.seat, product) for company, product in offers]
    uniforms = draws.choices(market, segment, round_, places)
    return multinomial(uniforms, buyers, weights[:-1], weights[-1])


def serve(market: Market, segment: int, offer: Offer, wanted: int) -> int:
    """Fill up to unreserved stock and capacity left, today, at today's price; the unmet units."""
    company, product = offer
    filled = min(wanted, unreserved(company, product), company.capacity_left)
    if filled:
        price = effective_price(company, product)
        order = Order(market.day, product, wanted, price, segment=segment)
        hand_over(market, company, order, filled)
    company.books.products[product].orders += wanted
    company.books.products[product].stockouts += wanted - filled
    return wanted - filled


def keep_waiting(market: Market, segment: int, offer: Offer, units: int) -> None:
    """Those who do not switch join the company's backlog at the agreed price."""
    company, product = offer
    if units:
        price = effective_price(company, product)
        company.firm.queue.append(Order(market.day, product, units, price, segment=segment))
        company.books.products[product].backlogged_units += units


def serve_new_demand(market: Market, segment: int) -> tuple[int, int]:
    """One segment's turn: its opportunities, and how many switchers were lost in the end."""
    opportunities = draws.opportunities(market, segment, conditions.intensity(market, segment))
    offers = [
        (company, product)
        for company in market.active
        for product in range(len(market.products))
        if unreserved(company, product) > 0 and company.capacity_left > 0
    ]
    if not offers:
        return opportunities, 0
    buyers, round_ = opportunities, 1
    while buyers and offers:
        counts = allocate(market, segment, round_, buyers, offers)
        switchers = 0
        remaining = []
        for offer, wanted in zip(offers, counts, strict=True):
            company, product = offer
            unmet = serve(market, segment, offer, wanted)
            if unmet:
                switching = draws.switchers(market, company, segment, product, unmet)
                keep_waiting(market, segment, offer, unmet - switching)
                switchers += switching
            else:
                remaining.append(offer)
        offers = [
            (company, product) for company, product in remaining if company.firm.stock[product]
        ]
        buyers, round_ = switchers, round_ + 1
    return opportunities, buyers
