"""The receipt of a staged change: what it does to the draft, what it costs, and what all one-time
commitments come to (interface.md section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from orchestrator.session import draft as drafts
from orchestrator.session.draft import Draft, DraftChange, Quote
from orchestrator.session.tools.context import ToolContext, ToolOutcome, answer


class Effect(NamedTuple):
    """What one field of the draft would do before a call and after it; standing values count as
    before where nothing was staged.
    """

    field: str
    before: object
    after: object


class OneTime(NamedTuple):
    """All one-time commitments of a draft against the cash of the boundary, in cents."""

    charges_cents: int
    refund_cents: int
    cash_cents: int

    @classmethod
    def of(cls, draft: Draft, cash_cents: int) -> OneTime:
        charges = refund = 0
        for commitment in draft.commitments():
            charges += commitment.quote.charge_cents
            refund += commitment.quote.refund_cents
        return cls(charges, refund, cash_cents)

    @property
    def shortfall_cents(self) -> int:
        """What is missing for the charges; 0 when cash and refund cover them."""
        return max(0, self.charges_cents - self.cash_cents - self.refund_cents)

    def described(self) -> dict[str, Any]:
        """The comparison as a result shows it."""
        return {
            "charges_cents": self.charges_cents,
            "refund_cents": self.refund_cents,
            "cash_cents": self.cash_cents,
            "cash_after_cents": self.cash_cents + self.refund_cents - self.charges_cents,
            "affordable": self.shortfall_cents == 0,
            "shortfall_cents": self.shortfall_cents,
        }


def staged(
    context: ToolContext,
    change: DraftChange,
    effects: Sequence[Effect],
    *,
    quote: Quote | None = None,
    details: dict[str, Any] | None = None,
) -> ToolOutcome:
    """The outcome of a call that staged a change, with the quote of a one-time commitment."""
    payload: dict[str, Any] = {
        "status": "staged",
        "effect": [
            {"field": effect.field, "from": effect.before, "to": effect.after} for effect in effects
        ],
    }
    if quote is not None:
        payload["quote"] = described_quote(quote)
        last_day = context.scenario.horizon_days
        if quote.effective_day > last_day:
            payload["note"] = f"The effective day is after the last day, {last_day}."
    payload |= details or {}
    after = drafts.apply(context.draft, change)
    payload["one_time_total"] = OneTime.of(after, context.firm.cash_cents).described()
    return answer(context, payload, draft_change=change)


def policy_terms(context: ToolContext) -> dict[str, Any]:
    """When a standing policy of this draft begins to act."""
    return {"acts_from_day": context.day + 1}


def described_quote(quote: Quote) -> dict[str, int]:
    """A quote as a result shows it."""
    return {
        "charge_cents": quote.charge_cents,
        "refund_cents": quote.refund_cents,
        "effective_day": quote.effective_day,
    }
