"""`set_product`: price, promotion, reorder target and development of one product line."""

from __future__ import annotations

from pydantic import Field

from orchestrator.session.draft import ProductChange
from orchestrator.session.tools.arguments import Rejected, one_of
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.schemas import Amount, Arguments, Name, Omitted
from orchestrator.session.tools.staging import Effect, policy_terms, staged


class SetProduct(Arguments):
    product_id: Name = Field(description="Identifier of the product line, from product_catalog.")
    price_cents: Amount | Omitted = Field(
        default=None, description="List price of one unit, in whole US cents, 0 or more."
    )
    promotion_cents: Amount | Omitted = Field(
        default=None,
        description="Reduction of the list price, in whole US cents, from 0 (no promotion) to the "
        "list price that holds after this call. A customer pays list price less promotion.",
    )
    reorder_target: Amount | Omitted = Field(
        default=None,
        description="Stock position to refill to every day, in whole units, 0 or more. Units on "
        "hand and inbound count towards it, units reserved for tenders do not. 0 stops buying.",
    )
    daily_development_budget_cents: Amount | Omitted = Field(
        default=None,
        description="Spending on product development, in whole US cents per day, 0 or more. 0 "
        "stops it.",
    )


SETTINGS = ("price_cents", "promotion_cents", "reorder_target", "daily_development_budget_cents")


def _run(context: ToolContext, arguments: SetProduct) -> ToolOutcome:
    products = context.scenario.product_ids
    if arguments.product_id not in products:
        raise one_of("product_id", products, arguments.product_id)
    given = {name: getattr(arguments, name) for name in SETTINGS}
    if all(value is None for value in given.values()):
        raise Rejected(f"arguments: must hold at least one of {', '.join(SETTINGS)}")
    before = product_settings(context, arguments.product_id)
    after = {name: before[name] if value is None else value for name, value in given.items()}
    if after["promotion_cents"] > after["price_cents"]:
        raise _promotion_too_high(arguments, after)
    return staged(
        context,
        ProductChange(arguments.product_id, **given),
        [
            Effect(f"{arguments.product_id}.{name}", before[name], after[name])
            for name in SETTINGS
            if given[name] is not None
        ],
        details=policy_terms(context),
    )


def product_settings(context: ToolContext, product_id: str) -> dict[str, int]:
    """The settings of a product as the draft would leave them."""
    firm, product = context.firm, context.scenario.product_ids.index(product_id)
    standing = {
        "price_cents": firm.price_cents[product],
        "promotion_cents": firm.promotion_cents[product],
        "reorder_target": firm.reorder_target[product],
        "daily_development_budget_cents": firm.development_cents[product],
    }
    change = context.draft.products.get(product_id)
    if change is None:
        return standing
    return {
        name: value if getattr(change, name) is None else getattr(change, name)
        for name, value in standing.items()
    }


def _promotion_too_high(arguments: SetProduct, after: dict[str, int]) -> Rejected:
    promotion, price = after["promotion_cents"], after["price_cents"]
    if arguments.promotion_cents is not None:
        return Rejected(
            f"promotion_cents: must be an integer from 0 to {price}, the list price after this "
            f"call; received {promotion}"
        )
    return Rejected(
        f"price_cents: must be at least {promotion}, the promotion in force, unless the same call "
        f"lowers promotion_cents; received {price}"
    )


SET_PRODUCT = Tool(
    name="set_product",
    description=(
        "Stage new standing settings of one product line. Arguments that you leave out keep their "
        "present value. Settings act from the day after this boundary and stay until you change "
        "them. The promotion may not exceed the list price, with standing and staged settings "
        "taken together. Staging only changes your private draft."
    ),
    arguments=SetProduct,
    run=_run,
)
