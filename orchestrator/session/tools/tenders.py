"""`submit_enterprise_bid`: a sealed bid on an open tender."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from engine.state import Tender
from orchestrator.session.draft import BidPlaced
from orchestrator.session.tools.arguments import one_of
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.schemas import Amount, Arguments, Name
from orchestrator.session.tools.staging import Effect, staged


class SubmitEnterpriseBid(Arguments):
    tender_id: Name = Field(description="Identifier of the tender, from open_tenders.")
    unit_price_cents: Amount = Field(
        description="Price of one unit of the tender's product, in whole US cents, 0 or more. A "
        "bid above the reservation price cannot win."
    )


def _run(context: ToolContext, arguments: SubmitEnterpriseBid) -> ToolOutcome:
    tender_id, price = arguments.tender_id, arguments.unit_price_cents
    tender = context.tender(tender_id)
    if tender is None:
        known = [open_tender.tender_id for open_tender in context.state.tenders]
        raise one_of("tender_id", known, tender_id)
    return staged(
        context,
        BidPlaced(tender_id, price),
        [Effect(f"{tender_id}.unit_price_cents", _bid_before(context, tender), price)],
        details=_terms(context, tender, price),
    )


def _bid_before(context: ToolContext, tender: Tender) -> int | None:
    """The staged bid, else the company's own bid of an earlier window."""
    own = (bid.unit_price_cents for bid in tender.bids if bid.seat == context.seat)
    return context.draft.bids.get(tender.tender_id, next(own, None))


def _terms(context: ToolContext, tender: Tender, price: int) -> dict[str, Any]:
    terms: dict[str, Any] = {
        "product_id": context.scenario.product_ids[tender.product],
        "units": tender.units,
        "minimum_quality": tender.minimum_quality,
        "reservation_price_cents": tender.reservation_price_cents,
        "close_day": tender.close_day,
        "due_day": tender.due_day,
    }
    if price > tender.reservation_price_cents:
        terms["note"] = "This bid is above the reservation price and cannot win."
    return terms


SUBMIT_ENTERPRISE_BID = Tool(
    name="submit_enterprise_bid",
    description=(
        "Stage a sealed bid on an open enterprise tender, for its whole quantity. The lowest "
        "qualifying bid wins at its own price; to qualify it needs a price of at most the "
        "reservation price and, on the closing day, the minimum quality, enough unreserved stock "
        "and enough free capacity until the due day. Bidding costs nothing; units not delivered "
        "by the due day cost a penalty. A new bid on the same tender replaces the staged one. "
        "Staging only changes your private draft."
    ),
    arguments=SubmitEnterpriseBid,
    run=_run,
)
