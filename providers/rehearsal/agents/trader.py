"""The trader: lives on other people's price lists, a little below them, and clears what lies."""

from providers.rehearsal.agents.reading import Table
from providers.rehearsal.agents.script import Act, Desk, Script, Step, act
from providers.rehearsal.agents.trade import (
    CHANNELS,
    INVENTORY,
    PRICES,
    SEGMENTS,
    Line,
    campaign,
    dollars,
    survey,
    upkeep,
)

UNDERCUT_PERCENT = 98
PROMOTION_PERCENT = 5
STALE_WEEKS = 6
MARKETING_CENTS = 12_000


def trader(_: Desk) -> Script:
    """Prices from the rivals' effective prices; promotions where stock outlasts six weeks."""
    books, (offers, stock, segments, channels) = yield from survey(
        "What do the others ask? The public price list first, and beside it what I hold and sell, "
        "because a price without stock behind it is only talk.",
        PRICES,
        INVENTORY,
        SEGMENTS,
        CHANNELS,
    )
    on_hand = {
        stock.text(row, "product_id"): stock.number(row, "on_hand") or stock.number(row, "stock")
        for row in stock.rows
    }
    medians = {line.product_id: _median_price(offers, line.product_id) for line in books.lines}
    seen = ", ".join(
        f"{product_id} {dollars(price)}" for product_id, price in medians.items() if price
    )
    results = yield Step(
        f"The middle of the market: {seen or 'no offers to be seen'}. I stay a shade below it, "
        "never below what the goods cost me, and put a promotion on what has been lying too long. "
        "A promotion is visible to everyone, so I keep it small.",
        (
            *(
                _offer(
                    line,
                    median=medians[line.product_id],
                    on_hand=on_hand.get(line.product_id, 0),
                    days_remaining=books.days_remaining,
                )
                for line in books.lines
            ),
            *campaign(segments, channels, MARKETING_CENTS),
            upkeep(4_000, 6_000),
        ),
        "Following the market, one shade lower.",
    )
    refused = [line for line, result in zip(books.lines, results, strict=False) if result.refused]
    if refused:
        yield Step(
            f"Some of it was refused: {results[0].reason[:120]} Most likely a promotion above the "
            "price; without promotions the prices stand.",
            tuple(
                act("set_product", product_id=line.product_id, promotion_cents=0)
                for line in refused
            ),
        )
    yield Step(
        "The draft once more in full, to be sure that nothing is in it that I did not mean.",
        (act("preview_decision"),),
    )


def _median_price(offers: Table, product_id: str) -> int:
    """The median effective price of a product over the companies still in the market."""
    prices = sorted(
        offers.number(row, "effective") or offers.number(row, "price")
        for row in offers.rows
        if offers.text(row, "product_id") == product_id and _is_active(offers, row)
    )
    return prices[len(prices) // 2] if prices else 0


def _is_active(offers: Table, row: dict[str, object]) -> bool:
    """Whether the company still sells; the prices of one that left are its last."""
    has_left = "exit" in offers.text(row, "status") or bool(row.get(offers.column("exit") or ""))
    return not has_left and row.get(offers.column("active") or "", 1) not in (0, False)


def _offer(line: Line, *, median: int, on_hand: int, days_remaining: int) -> Act:
    least = line.cost * 115 // 100
    price = max(least, median * UNDERCUT_PERCENT // 100) if median else line.price
    price = min(price, line.first_price * 130 // 100)
    is_stale = line.week_units is not None and on_hand > STALE_WEEKS * max(1, line.week_units)
    return act(
        "set_product",
        product_id=line.product_id,
        price_cents=price,
        promotion_cents=min(price * PROMOTION_PERCENT // 100, price - least) if is_stale else 0,
        reorder_target=line.wanted_target(days_remaining),
    )
