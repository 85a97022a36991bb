"""market.md section 4: advertising."""

import math

from tests.engine.reference.market import Company, Market


def impact(market: Market, company: Company, segment: int) -> float:
    """I_iht: the exponent stands outside the sum over channels; no spend, no impact."""
    terms, effects = market.scenario.advertising, market.segments[segment].channel_effect
    budgets = company.firm.marketing_cents[segment]
    spend = sum(
        effects[channel] * budget / terms.base_cents
        for channel, budget in zip(market.scenario.channels, budgets, strict=True)
    )
    return math.pow(spend, terms.exponent) if spend > 0 else 0.0


def update_goodwill(market: Market) -> None:
    """G_iht = [(1 - 0.025) G + 0.08 A]+, with one pool of attention for all active companies."""
    terms = market.scenario.advertising
    for segment in range(len(market.segments)):
        pool = terms.outside_attention + sum(
            impact(market, company, segment) for company in market.active
        )
        for company in market.active:
            attention = impact(market, company, segment) / pool
            kept = (1 - terms.goodwill_decay) * company.firm.goodwill[segment]
            company.firm.goodwill[segment] = max(0.0, kept + terms.attention_gain * attention)


def awareness(company: Company, segment: int) -> float:
    """a_iht = 1 - exp(-G_iht)."""
    return 1 - math.exp(-company.firm.goodwill[segment])
