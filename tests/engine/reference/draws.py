"""market.md section 10: randomness.

The text says which streams there are and what keys them. Which place of a stream serves whom is the
engine's choice, and is written down a second time here, and only here.
"""

from engine.distributions import binomial, normal, poisson
from engine.streams import MARKET
from tests.engine.reference.market import Company, Market


def macro_shock(market: Market) -> float:
    (uniform,) = market.streams.bounded("macro", MARKET, market.day, 1)
    return normal(uniform)


def phase(market: Market) -> float:
    (uniform,) = market.streams.bounded("phase", MARKET, market.day, 1)
    return uniform


def tender(market: Market) -> tuple[float, float, float]:
    """Of the product, the quantity and the quality of today's tender."""
    product, quantity, quality = market.streams.bounded("tender", MARKET, market.day, 3)
    return product, quantity, quality


def opportunities(market: Market, segment: int, intensity: float) -> int:
    stream = f"demand:{market.segments[segment].id}"
    (uniform,) = market.streams.bounded(stream, MARKET, market.day, 1)
    return poisson(uniform, intensity)


def choices(
    market: Market, segment: int, round_: int, offers: list[tuple[int, int]]
) -> list[float]:
    """A uniform for each offer (seat and product) of a round; rounds count from 1."""
    stream = f"choice:{market.segments[segment].id}"
    width = len(market.companies) * len(market.products)
    if round_ == 1:
        uniforms = market.streams.bounded(stream, MARKET, market.day, width)
    else:
        uniforms = market.streams.open(stream, MARKET, market.day, width, part=round_ - 1)
    return [uniforms[(seat - 1) * len(market.products) + product] for seat, product in offers]


def switchers(market: Market, company: Company, segment: int, product: int, unmet: int) -> int:
    width = len(market.segments) * len(market.products)
    uniforms = market.streams.bounded("switching", company.seat, market.day, width)
    uniform = uniforms[segment * len(market.products) + product]
    return binomial(uniform, unmet, market.scenario.choice.switching_share)


def abandonments(market: Market, company: Company) -> list[int]:
    """The units that every order of the queue would lose, enterprise orders included."""
    queue = company.firm.queue
    uniforms = market.streams.open("abandonment", company.seat, market.day, len(queue))
    share = market.scenario.service.abandonment
    return [
        binomial(uniform, order.units, share)
        for uniform, order in zip(uniforms, queue, strict=True)
    ]


def failures(market: Market, company: Company, segment: int, units: int, share: float) -> int:
    width = len(market.segments)
    uniforms = market.streams.bounded("failures", company.seat, market.day, width)
    return binomial(uniforms[segment], units, share)


def tickets(market: Market, company: Company, segment: int, mean: float) -> int:
    width = len(market.segments)
    uniforms = market.streams.bounded("tickets", company.seat, market.day, width)
    return poisson(uniforms[segment], mean)


def support(market: Market, company: Company, mean: float) -> int:
    (uniform,) = market.streams.bounded("support", company.seat, market.day, 1)
    return poisson(uniform, mean)


def innovation(market: Market, company: Company) -> tuple[float, float]:
    """Standard normal values of a project's length and of its gain."""
    length, gain = market.streams.bounded("innovation", company.seat, market.day, 2)
    return normal(length), normal(gain)


def research(market: Market, company: Company, requests: int) -> list[list[float]]:
    """Standard normal values of demand, price weight and quality, for each request."""
    uniforms = market.streams.open("research", company.seat, market.day, 3 * requests)
    return [
        [normal(uniform) for uniform in uniforms[3 * number : 3 * number + 3]]
        for number in range(requests)
    ]


def tie_break(market: Market, tender_id: str, seat: int) -> bytes:
    return market.streams.tie_break(tender_id, seat)
