"""The analyst: looks at the company from four sides before it moves anything, and then a little."""

from providers.rehearsal.agents.script import Desk, Script, Step, act, look
from providers.rehearsal.agents.trade import (
    CAPACITY,
    CHANNELS,
    SEGMENTS,
    WEEK_SERVICE,
    Books,
    campaign,
    dollars,
    survey,
    upkeep,
)

BUSY_PERCENT = 92
QUIET_PERCENT = 65
STEP_PERCENT = 2
MARKETING_CENTS = 9_000
CASH_FLOOR_CENTS = 12_000_000


def analyst(_: Desk) -> Script:
    """Several rounds of queries, small price steps by the load of capacity, a checked draft."""
    books, (capacity, segments, channels) = yield from survey(
        "I begin with the frame, my own books and last week's sales, before I form any opinion "
        "about what this window needs. Identifiers come with the same reply.",
        CAPACITY,
        SEGMENTS,
        CHANNELS,
    )
    service, flow, offers = yield from look(
        f"Day {books.day}, cash {dollars(books.cash)}, {books.week_units} units sold in the last "
        "seven days. Sales alone do not say whether customers were content or what the week "
        "earned, so I look at service, at the cash flow and at the list prices of the market.",
        WEEK_SERVICE,
        "SELECT * FROM daily_cashflow ORDER BY day DESC LIMIT 7",
        "SELECT product_id, COUNT(*) AS offers FROM public_prices"
        " GROUP BY product_id ORDER BY product_id",
    )
    worst = service.text(
        min(service.rows, key=lambda row: service.decimal(row, "satisfaction"), default={}),
        "segment_id",
    )
    (detail,) = yield from look(
        f"Revenue of the week: {dollars(flow.total('revenue'))}, against {len(offers.rows)} "
        f"products on offer. The least content segment is {worst or 'not known yet'}; I want its "
        "days one by one before I spend on service.",
        f"SELECT * FROM daily_segment_service WHERE segment_id = '{worst}'"
        " ORDER BY day DESC LIMIT 14",
    )
    units_per_day = capacity.number(capacity.first, "units", default=60)
    percent = _price_percent(books, units_per_day)
    is_solvent = books.cash > CASH_FLOOR_CENTS
    yield Step(
        f"Capacity is {units_per_day} units a day, so last week filled "
        f"{_load(books, units_per_day)}% of it; prices go to {percent}% of what they are. "
        f"Stock follows sales. Over {len(detail.rows)} days the failures in {worst or 'no segment'}"
        f" came to {detail.total('failures')}: reliability and support get what they cost.",
        (
            *(
                act(
                    "set_product",
                    product_id=line.product_id,
                    price_cents=line.price_at(percent),
                    promotion_cents=0,
                    reorder_target=line.wanted_target(books.days_remaining),
                    daily_development_budget_cents=2_000 if is_solvent else 0,
                )
                for line in books.lines
            ),
            upkeep(6_000, 7_500),
            *campaign(segments, channels, MARKETING_CENTS if is_solvent else 0),
        ),
        "Prices, stock and service follow last week's figures.",
    )
    (preview,) = yield Step(
        "Before I commit I want to see the draft as the house sees it: one-time charges, refunds, "
        "and what the standing budgets cost each day.",
        (act("preview_decision"),),
    )
    if preview.flag("afford") is False:
        yield Step(
            "The preview says that the draft cannot be paid. Nothing in it should cost anything at "
            "once, so I start over with an empty draft and keep the policies as they stand.",
            (act("reset_decision"),),
        )


def _load(books: Books, units_per_day: int) -> int:
    return books.week_units * 100 // max(1, 7 * units_per_day)


def _price_percent(books: Books, units_per_day: int) -> int:
    if not books.week_units:
        return 100
    load = _load(books, units_per_day)
    if load >= BUSY_PERCENT:
        return 100 + STEP_PERCENT
    return 100 - STEP_PERCENT if load < QUIET_PERCENT else 100
