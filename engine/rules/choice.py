"""Consumer choice: multinomial logit over the offers, with same-day rerouting (market.md
section 3).
"""

from __future__ import annotations

import math

from engine.distributions import binomial, multinomial, poisson
from engine.rules.fulfilment import backlog_consumer, fulfil_consumer
from engine.rules.today import Company, Today
from engine.streams import MARKET

Offer = tuple[Company, int, int, float]
"""One product of one company as a segment sees it: company, product, slot, utility. The slot, seat
by product, is its fixed place among the draws, so that a company's exit does not shift the luck of
the others."""


def choice_weights(
    utilities: list[float], outside: float, floor: float
) -> tuple[list[float], float]:
    """Logit weights of the offers and of the outside option: exp(max(floor, v - max v)), not
    normalized.
    """
    highest = max(outside, *utilities)
    lowest = highest + floor
    weights = [math.exp(utility - highest if utility > lowest else floor) for utility in utilities]
    return weights, math.exp(outside - highest if outside > lowest else floor)


def serve_new_demand(today: Today, segment: int) -> tuple[int, int]:
    """Draw the segment's opportunities and serve them; returns (opportunities, switchers lost)."""
    name = today.scenario.segments[segment].id
    (draw,) = today.streams.bounded(f"demand:{name}", MARKET, today.day, 1)
    opportunities = poisson(draw, today.conditions.intensity[segment])
    return opportunities, _allocate(today, segment, opportunities)


def offers_of(today: Today, segment: int) -> list[Offer]:
    """The segment's offer set: active companies with capacity left, products with unreserved
    stock.
    """
    conditions = today.conditions
    terms = today.scenario.segments[segment]
    products = today.scenario.products
    matches = [terms.product_match[product.id] for product in products]
    price_weight = conditions.price_weight[segment] / terms.reference_price_cents
    quality_weight = conditions.quality_weight[segment]
    service_weight = conditions.service_weight[segment]
    expected_quality = conditions.expected_quality[segment]
    offers = []
    for company in today.companies:
        if company.capacity_left <= 0:
            continue
        firm = company.firm
        standing = (
            service_weight * firm.satisfaction[segment]
            + terms.awareness_weight * company.log_awareness[segment]
            + terms.loyalty_weight * firm.loyalty[segment]
        )
        first_slot = (company.seat - 1) * len(products)
        for product, match in enumerate(matches):
            if firm.stock[product] > firm.reserved[product]:
                utility = (
                    quality_weight * (company.quality[product] - expected_quality)
                    + standing
                    - price_weight * company.prices[product]
                    + match
                )
                offers.append((company, product, first_slot + product, utility))
    return offers


def _allocate(today: Today, segment: int, opportunities: int) -> int:
    """Allocate round after round until nobody is left or no offer remains; returns the
    switchers lost.
    """
    scenario = today.scenario
    terms = scenario.segments[segment]
    slots = len(today.state.firms) * len(scenario.products)
    stream = f"choice:{terms.id}"
    offers = offers_of(today, segment)
    if not offers:
        return 0
    uniforms = today.streams.bounded(stream, MARKET, today.day, slots)
    left = opportunities
    rounds = 0
    while left and offers:
        weights, outside = choice_weights(
            [utility for _, _, _, utility in offers],
            terms.outside_utility,
            scenario.choice.utility_floor,
        )
        counts = multinomial([uniforms[slot] for _, _, slot, _ in offers], left, weights, outside)
        left = 0
        satisfied = []
        for offer, count in zip(offers, counts, strict=True):
            company, product, _, _ = offer
            unmet = fulfil_consumer(company, segment, product, count) if count else 0
            if unmet:
                left += _switch(today, company, segment, product, unmet)
            elif company.firm.stock[product]:
                satisfied.append(offer)
        offers = satisfied
        if left and offers:
            rounds += 1
            uniforms = today.streams.open(stream, MARKET, today.day, slots, part=rounds)
    return left


def _switch(today: Today, company: Company, segment: int, product: int, unmet: int) -> int:
    """Of the unmet units some switch, the rest join the company's backlog; returns the
    switchers.
    """
    products = len(today.scenario.products)
    draws = today.streams.bounded(
        "switching", company.seat, today.day, len(today.scenario.segments) * products
    )
    draw = draws[segment * products + product]
    switching = binomial(draw, unmet, today.scenario.choice.switching_share)
    backlog_consumer(today, company, segment, product, unmet - switching)
    return switching
