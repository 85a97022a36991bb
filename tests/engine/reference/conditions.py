"""market.md section 2: exogenous conditions."""

import math

from engine.state import Signal
from tests.engine.reference import draws
from tests.engine.reference.market import Market


def update_macro(market: Market) -> None:
    """m_t = max(0.05, m_{t-1} + kappa (m_bar - m_{t-1}) + N(0, sigma_m^2))."""
    macro, state = market.scenario.macro, market.state
    drift = macro.reversion * (macro.mean - state.macro)
    shock = macro.volatility * draws.macro_shock(market)
    state.macro = max(macro.floor, state.macro + drift + shock)


def update_phase(market: Market) -> None:
    """The phase stays, or moves to each other one with equal probability."""
    mean_days, state = market.scenario.phases.mean_days, market.state
    others = [
        number for number in range(len(market.scenario.phases.states)) if number != state.phase
    ]
    if mean_days is None or not others:
        return
    stay, uniform = 1 - 1 / mean_days, draws.phase(market)
    if uniform >= stay:
        share = (uniform - stay) / (1 - stay)
        state.phase = others[min(int(share * len(others)), len(others) - 1)]


def quality_trend(market: Market) -> float:
    trend = market.scenario.quality_trend
    return min(trend.cap, trend.per_day * market.day)


def adjusted_demand(market: Market, segment: int) -> float:
    """d~_ht: the phase's mix moves demand between segments, its nu changes the total."""
    mix, terms = market.phase.mix, market.segments[segment]
    total = sum(each.baseline_demand for each in market.segments)
    mixed = sum(each.baseline_demand * mix[each.id] for each in market.segments)
    return total * market.phase.demand * terms.baseline_demand * mix[terms.id] / mixed


def intensity(market: Market, segment: int) -> float:
    """lambda_ht: adjusted demand, season and the response to the macro index."""
    terms, macro = market.segments[segment], market.scenario.macro
    angle = 2 * math.pi * market.day / terms.seasonal_period_days
    season = 1 + terms.seasonal_amplitude * math.sin(angle)
    response = 1 + terms.macro_sensitivity * (market.state.macro - 1)
    return max(0.0, adjusted_demand(market, segment) * season * max(macro.response_floor, response))


def expected_quality(market: Market, segment: int) -> float:
    """q*_ht."""
    terms = market.segments[segment]
    return terms.expected_quality + quality_trend(market) + market.phase.quality_shift


def price_weight(market: Market, segment: int) -> float:
    return market.phase.price_weight * market.segments[segment].price_weight


def quality_weight(market: Market, segment: int) -> float:
    return market.phase.quality_weight * market.segments[segment].quality_weight


def service_weight(market: Market, segment: int) -> float:
    return market.phase.service_weight * market.segments[segment].service_weight


def signal_of_today(market: Market) -> Signal:
    """What is published of today, later (section 8)."""
    macro = market.state.macro
    quality = 1 + quality_trend(market) + market.phase.quality_shift
    return Signal(macro, market.phase.demand * macro, quality)
