"""The apprentice: makes every mistake once in each window, reads what it is told, and corrects it.

A table that does not exist, a tool that does not exist, arguments of the wrong type, arguments that
are not JSON, a promotion above the price, a reply without any call, and a seal among other calls.
"""

from providers.rehearsal.agents.script import Act, Desk, Script, Step, act, query
from providers.rehearsal.agents.trade import CHANNELS, SEGMENTS, campaign, dollars, survey

NAMES_SHOWN = 200
MARKETING_CENTS = 5_000


def apprentice(_: Desk) -> Script:
    """Errs, corrects itself, and seals a small decision."""
    missing, status = yield Step(
        "I need the stock of my warehouse. There is surely a table called stock_levels, and a tool "
        "that tells the status of the company.",
        (query("SELECT * FROM stock_levels"), Act("get_company_status")),
    )
    books, (stock, segments, channels) = yield from survey(
        f"No such table: {missing.reason[:NAMES_SHOWN]} And of the tool I hear: "
        f"{status.reason[:NAMES_SHOWN]} So I use what there is: query_company and the tables that "
        "exist.",
        "SELECT * FROM inventory",
        SEGMENTS,
        CHANNELS,
    )
    if not books.lines:
        return
    line = books.lines[books.version % len(books.lines)]
    price = line.price_at(100)
    results = yield Step(
        f"{len(stock.rows)} rows of stock. Now the price of {line.product_id}: I write it as one "
        "writes prices, with a currency sign, and name my company and the promotion as well.",
        (
            act("set_product", product_id=line.product_id, price_cents=dollars(price)),
            act("set_operations", company_id="company-1", support_budget_cents=4_000),
            Act("set_marketing", '{"segment_id": "value", "channel": '),
            act("set_product", product_id=line.product_id, promotion_cents=price + 1),
        ),
        "Setting the price.",
    )
    yield Step(
        "All of that was wrong, and each refusal said why: "
        + " / ".join(result.reason[:80] for result in results)
        + " Cents are whole numbers, my company is never an argument, arguments are one JSON "
        "object, and a promotion stays below the price.",
        (
            act(
                "set_product",
                product_id=line.product_id,
                price_cents=price,
                promotion_cents=0,
                reorder_target=line.wanted_target(books.days_remaining),
            ),
            act("set_operations", support_budget_cents=4_000),
            *campaign(segments, channels, MARKETING_CENTS),
        ),
    )
    yield Step(
        "That should be all there is to do, so I say so.",
        words=f"I have set the price of {line.product_id} and am content with the week.",
    )
    yield Step(
        "Talking seals nothing. I seal, and in the same breath I raise reliability.",
        (act("set_operations", reliability_budget_cents=3_000), act("seal_decision")),
    )
