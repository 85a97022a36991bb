"""Exogenous conditions: macro index, market phase, demand and preferences of the day (market.md
section 2).
"""

from __future__ import annotations

import math

from engine.distributions import normal
from engine.scenario import Scenario
from engine.state import Signal, WorldState
from engine.streams import MARKET, Streams


class Conditions:
    """What the segments want today, by segment in identifier order.

    ``demand`` is the phase-adjusted demand, ``intensity`` the mean number of opportunities today.
    """

    __slots__ = (
        "demand",
        "expected_quality",
        "intensity",
        "price_weight",
        "quality_weight",
        "service_weight",
    )

    def __init__(self, scenario: Scenario, day: int, macro: float, phase_index: int) -> None:
        phase = scenario.phases.states[phase_index]
        trend = _quality_trend(scenario, day)
        self.demand = _phase_adjusted_demand(scenario, phase_index)
        self.price_weight: list[float] = []
        self.quality_weight: list[float] = []
        self.service_weight: list[float] = []
        self.expected_quality: list[float] = []
        self.intensity: list[float] = []
        for segment, demand in zip(scenario.segments, self.demand, strict=True):
            self.price_weight.append(phase.price_weight * segment.price_weight)
            self.quality_weight.append(phase.quality_weight * segment.quality_weight)
            self.service_weight.append(phase.service_weight * segment.service_weight)
            self.expected_quality.append(segment.expected_quality + trend + phase.quality_shift)
            season = 1.0 + segment.seasonal_amplitude * math.sin(
                2.0 * math.pi * day / segment.seasonal_period_days
            )
            response = max(
                scenario.macro.response_floor, 1.0 + segment.macro_sensitivity * (macro - 1.0)
            )
            self.intensity.append(max(0.0, demand * season * response))


def conditions_of(scenario: Scenario, state: WorldState) -> Conditions:
    """The conditions on the state's day."""
    return Conditions(scenario, state.day, state.macro, state.phase)


def advance_conditions(scenario: Scenario, streams: Streams, state: WorldState) -> None:
    """Step 1 of the day: macro index, then phase; keeps the signals that are not published yet."""
    macro = scenario.macro
    (draw,) = streams.bounded("macro", MARKET, state.day, 1)
    state.macro = max(
        macro.floor,
        state.macro
        + macro.reversion * (macro.mean - state.macro)
        + macro.volatility * normal(draw),
    )
    state.phase = _next_phase(scenario, streams, state)
    state.signals.append(signal_of(scenario, state))
    if len(state.signals) > scenario.information.signal_delay_days + 1:
        del state.signals[0]


def signal_of(scenario: Scenario, state: WorldState) -> Signal:
    """The day's true public signal, to be published late (section 8)."""
    phase = scenario.phases.states[state.phase]
    quality_index = 1.0 + _quality_trend(scenario, state.day) + phase.quality_shift
    return Signal(state.macro, phase.demand * state.macro, quality_index)


def _quality_trend(scenario: Scenario, day: int) -> float:
    return min(scenario.quality_trend.cap, scenario.quality_trend.per_day * day)


def _phase_adjusted_demand(scenario: Scenario, phase_index: int) -> list[float]:
    """d~ = (sum of d) nu d omega / (sum of d omega): the mix shifts demand, only nu changes its
    total.
    """
    phase = scenario.phases.states[phase_index]
    total = 0.0
    mixed_total = 0.0
    for segment in scenario.segments:
        total += segment.baseline_demand
        mixed_total += segment.baseline_demand * phase.mix[segment.id]
    return [
        total * phase.demand * segment.baseline_demand * phase.mix[segment.id] / mixed_total
        for segment in scenario.segments
    ]


def _next_phase(scenario: Scenario, streams: Streams, state: WorldState) -> int:
    phases = scenario.phases
    others = [phase for phase in range(len(phases.states)) if phase != state.phase]
    if phases.mean_days is None or not others:
        return state.phase
    (draw,) = streams.bounded("phase", MARKET, state.day, 1)
    stay = 1.0 - 1.0 / phases.mean_days
    if draw < stay:
        return state.phase
    return others[min(len(others) - 1, int((draw - stay) / (1.0 - stay) * len(others)))]
