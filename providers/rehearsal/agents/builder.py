"""The builder: wants more capacity and more customers, and takes a refusal as an answer."""

from providers.rehearsal.agents.reading import Result, Table
from providers.rehearsal.agents.script import Act, Desk, Script, Step, act, look
from providers.rehearsal.agents.trade import (
    CAPACITY,
    CHANNELS,
    QUOTES,
    SEGMENTS,
    WEEK_STOCKOUTS,
    Books,
    campaign,
    dollars,
    survey,
    upkeep,
)

RESERVE_CENTS = 20_000_000
DISTRESS_CENTS = 8_000_000
MARKETING_CENTS = 18_000
BUSY_PERCENT = 75
IDLE_PERCENT = 25
LAST_EXPANSION_DAYS = 150


def builder(_: Desk) -> Script:
    """Stages the largest expansion, looks at the preview, and steps back until it can be paid."""
    books, (capacity, quotes, segments, channels) = yield from survey(
        "Capacity decides how much I can ever sell, so I look at what I have, what is quoted, and "
        "how full the house was last week.",
        CAPACITY,
        QUOTES,
        SEGMENTS,
        CHANNELS,
    )
    load = _load(books, capacity)
    waiting, missed = yield from look(
        f"The house was {load}% full last week. Do people wait, and did some leave because a shelf "
        "was empty? Only the first is a reason to build.",
        "SELECT product_id, COUNT(*) AS orders FROM backlog GROUP BY product_id",
        WEEK_STOCKOUTS,
    )
    spend = MARKETING_CENTS if books.cash > RESERVE_CENTS else MARKETING_CENTS // 6
    policies = (
        *campaign(segments, channels, spend, most_channels=3),
        upkeep(5_000, 7_500),
        *(
            act(
                "set_product",
                product_id=line.product_id,
                price_cents=line.price_at(101 if load > BUSY_PERCENT else 100),
                promotion_cents=0,
                reorder_target=line.wanted_target(books.days_remaining, floor=60),
            )
            for line in books.lines
        ),
    )
    yield Step(
        f"{waiting.total('orders')} orders wait, {missed.total('stockouts')} customers found no "
        f"stock. With {dollars(books.cash)} in cash I put {dollars(spend)} a day into all the "
        "segments and channels evenly: I do not know which of them works best, and impact falls "
        "off for each dollar more in one place. Stock follows sales.",
        policies,
        "Customers first, then the room to serve them.",
    )
    staged: Result | None = None
    for plan in _plans(books, capacity, quotes):
        (staged,) = yield Step(
            f"Last week filled {load}% of capacity, and {len(quotes.rows)} capacity actions are "
            f"quoted. I try: {plan.tool} {plan.arguments}.",
            (plan,),
        )
        if staged.refused:
            yield Step(
                f"Refused: {staged.reason[:200]} Then not. What does the draft hold without it?",
                (act("preview_decision"),),
            )
            return
        (preview,) = yield Step(
            "Staged is not done. What would the whole draft cost at once, and does it fit?",
            (act("preview_decision"),),
        )
        if _fits(preview, books):
            return
    if staged is not None:
        yield Step(
            "What I staged leaves too little cash, and a staged action can only be dropped with "
            "the whole draft. So I drop it; capital is not sales.",
            (act("reset_decision"),),
        )
        yield Step("The policies are staged once more, without any capacity action.", policies)


def _load(books: Books, capacity: Table) -> int:
    units_per_day = capacity.number(capacity.first, "units", default=60)
    return books.week_units * 100 // max(1, 7 * units_per_day)


def _fits(preview: Result, books: Books) -> bool:
    """Whether the draft can be paid, as far as the preview says so, and leaves a reserve."""
    if preview.refused or False in (preview.flag("afford"), preview.flag("can_be_sealed")):
        return False
    after = preview.amount("cash", "after")
    return after is None or after >= min(books.cash, RESERVE_CENTS)


def _plans(books: Books, capacity: Table, quotes: Table) -> list[Act]:
    """Capacity actions worth trying, the boldest first."""

    def quoted(action: str) -> list[dict[str, object]]:
        return [row for row in quotes.rows if action in quotes.text(row, "action")]

    tier = capacity.number(capacity.first, "tier")
    if books.cash < DISTRESS_CENTS and quoted("cancel"):
        row = quoted("cancel")[0]
        return [act("cancel_capacity_project", project_id=quotes.text(row, "project_id"))]
    if books.days_remaining < LAST_EXPANSION_DAYS or not books.week_units:
        return []
    if _load(books, capacity) >= BUSY_PERCENT:
        tiers = sorted((quotes.number(row, "target") for row in quoted("expand")), reverse=True)
        # Nothing is quoted while a change is under way; asking all the same costs nothing.
        return [act("expand_capacity", target_tier=target) for target in tiers[:2] or [tier + 1]]
    if tier and _load(books, capacity) < IDLE_PERCENT and quoted("downsize"):
        return [act("downsize_capacity", target_tier=tier - 1)]
    return []
