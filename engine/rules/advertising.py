"""Advertising: impact, shared attention, goodwill (market.md section 4)."""

from __future__ import annotations

import math

from engine.rules.today import Today
from engine.scenario import Scenario


def advertising_impact(scenario: Scenario, segment: int, budgets_cents: list[int]) -> float:
    """I = (sum over channels of e b / b0) ** alpha; no spend, no impact."""
    effects = scenario.segments[segment].channel_effect
    base = scenario.advertising.base_cents
    if not any(budgets_cents):
        return 0.0
    pressure = 0.0
    for channel, budget in zip(scenario.channels, budgets_cents, strict=True):
        pressure += effects[channel] * budget / base
    return math.pow(pressure, scenario.advertising.exponent)


def update_goodwill(today: Today) -> None:
    """Goodwill decays and gains from the company's share of one pool of attention per segment."""
    advertising = today.scenario.advertising
    retained = 1.0 - advertising.goodwill_decay
    for segment in range(len(today.scenario.segments)):
        pool = advertising.outside_attention
        impacts = []
        for company in today.companies:
            impact = advertising_impact(
                today.scenario, segment, company.firm.marketing_cents[segment]
            )
            impacts.append(impact)
            pool += impact
        for company, impact in zip(today.companies, impacts, strict=True):
            goodwill = company.firm.goodwill
            goodwill[segment] = max(
                0.0, retained * goodwill[segment] + advertising.attention_gain * impact / pool
            )
