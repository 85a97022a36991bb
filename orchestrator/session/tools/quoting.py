"""Quotes for one-time commitments, by the code that charges them at the barrier (market.md
sections 4, 5 and 8).
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.quotes import (
    CapacityUnavailable,
    cancellation_refund,
    capacity_charge,
    capacity_delay,
)
from engine.scenario import Scenario
from engine.state import FirmState
from orchestrator.session.draft import CapacityMove, Draft, Quote
from orchestrator.session.tools.context import ToolContext


def innovation_quote(scenario: Scenario, day: int, tier: int) -> Quote:
    """A project of a tier that exists, started at the boundary of ``day``."""
    return Quote(scenario.innovation.tiers[tier - 1].cost_cents, 0, day)


def research_quote(scenario: Scenario, day: int, level: int) -> Quote:
    """A report of a level that exists, effective when it is delivered."""
    terms = scenario.information.research_levels[level - 1]
    return Quote(terms.cost_cents, 0, day + terms.delay_days)


def tier_quote(scenario: Scenario, firm: FirmState, day: int, target_tier: int) -> Quote:
    """A move to another tier, effective when it is installed. Raises CapacityUnavailable."""
    charge = capacity_charge(scenario, firm, target_tier)
    return Quote(charge, 0, day + capacity_delay(scenario, firm, target_tier))


def cancellation_quote(scenario: Scenario, firm: FirmState, day: int, project_id: str) -> Quote:
    """The end of an unfinished expansion. Raises CapacityUnavailable."""
    return Quote(0, cancellation_refund(scenario, firm, project_id, day), day)


def outdated_quotes(context: ToolContext, draft: Draft) -> Iterator[str]:
    """Each staged quote that is no longer the world's, as a problem. What the world does not offer
    at all is for `engine.decision.decision_problems` to say.
    """
    for item, quoted, now in _quotes_now(context, draft):
        if quoted != now:
            yield (
                f"{item}: the quote is outdated: {_in_words(quoted)} when staged, "
                f"{_in_words(now)} now; reset the draft and stage what you still want"
            )


def _quotes_now(context: ToolContext, draft: Draft) -> Iterator[tuple[str, Quote, Quote]]:
    """(tool, staged quote, present quote) of each commitment that the world offers."""
    scenario, day = context.scenario, context.day
    innovation, move = draft.innovation, draft.capacity
    if innovation is not None and innovation.tier <= len(scenario.innovation.tiers):
        now = innovation_quote(scenario, day, innovation.tier)
        yield "start_research_project", innovation.quote, now
    if move is not None:
        available = _capacity_quote_now(context, move)
        if available is not None:
            yield f"capacity ({move})", move.quote, available
    for order in draft.research:
        if order.level <= len(scenario.information.research_levels):
            now = research_quote(scenario, day, order.level)
            yield "request_market_research", order.quote, now


def _capacity_quote_now(context: ToolContext, move: CapacityMove) -> Quote | None:
    try:
        if move.project_id is not None:
            return cancellation_quote(context.scenario, context.firm, context.day, move.project_id)
        assert move.target_tier is not None
        return tier_quote(context.scenario, context.firm, context.day, move.target_tier)
    except CapacityUnavailable:
        return None


def _in_words(quote: Quote) -> str:
    return (
        f"charge {quote.charge_cents} cents, refund {quote.refund_cents} cents, effective on day "
        f"{quote.effective_day}"
    )
