"""The gambler: lets the conversation itself decide.

Its prices and its marketing are read off a SHA-256 digest of everything that was said to it and by
it so far. A message that was lost, doubled, changed or put elsewhere on the way changes the market.
"""

from providers.rehearsal.agents.script import Desk, Script, Step, act, look
from providers.rehearsal.agents.trade import CHANNELS, SEGMENTS, Books, dollars, ids, survey, upkeep

LEAST_PERCENT = 92
SPREAD_PERCENT = 28
MARKETING_SPREAD_CENTS = 9_000


def gambler(desk: Desk) -> Script:
    """Prices from the digest of the conversation, then budgets from the digest of a longer one."""
    books, (segments, channels) = yield from survey(
        "The dice are the words that were spoken. Before I throw them I let the house speak: my "
        "books, the products, the week that was.",
        SEGMENTS,
        CHANNELS,
    )
    (signal,) = yield from look(
        f"{dollars(books.cash)} on the table and {books.days_remaining} days to play. One more "
        "look at the public signal; it goes into the dice as well.",
        "SELECT * FROM market_signal ORDER BY 1 DESC LIMIT 5",
    )
    yield Step(
        f"{len(signal.rows)} lines of signal. The digest of all of it reads {desk.digest[:24]}: "
        "each product takes its price from its own part of it, within reason of the first price "
        "and never below cost.",
        tuple(
            act(
                "set_product",
                product_id=line.product_id,
                price_cents=max(line.cost * 110 // 100, _price(line.first_price, throw)),
                promotion_cents=0,
                reorder_target=line.wanted_target(books.days_remaining),
            )
            for line, throw in zip(books.lines, _throws(desk.digest), strict=False)
        ),
        "The dice have fallen.",
    )
    yield Step(
        f"A second throw, over all that has been said since: {desk.digest[:24]}. It decides where "
        "the marketing goes and how much of it.",
        (
            *(
                act(
                    "set_marketing",
                    segment_id=segment,
                    channel=channel,
                    daily_budget_cents=throw % MARKETING_SPREAD_CENTS // _caution(books),
                )
                for segment, channel, throw in zip(
                    ids(segments, "segment_id"),
                    ids(channels, "channel"),
                    _throws(desk.digest),
                    strict=False,
                )
            ),
            upkeep(4_000, 6_000),
        ),
    )


def _throws(digest: str) -> list[int]:
    """The digest as numbers of 32 bits."""
    return [int(digest[start : start + 8], 16) for start in range(0, len(digest), 8)]


def _price(first_price: int, throw: int) -> int:
    """Between 92% and 120% of the first price, to the cent."""
    return first_price * LEAST_PERCENT // 100 + throw % max(1, first_price * SPREAD_PERCENT // 100)


def _caution(books: Books) -> int:
    return 1 if books.cash > 20_000_000 else 8
