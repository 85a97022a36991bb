"""The minimalist: the less one does, the less one does wrong."""

from providers.rehearsal.agents.script import Desk, Script, Step, act
from providers.rehearsal.agents.trade import dollars, survey

HUNCH = 4
WINDOWS_BETWEEN_ORDERS = 3


def minimalist(desk: Desk) -> Script:
    """Holds, on a hunch without a look; every third window sees to the stock."""
    if int(desk.digest[:8], 16) % HUNCH == 0:
        return
    books, *_ = yield from survey("A short look at the books. Most weeks that is all it takes.")
    if books.version % WINDOWS_BETWEEN_ORDERS or not books.lines:
        return
    yield Step(
        f"Cash {dollars(books.cash)}, {books.week_units} units last week. The stock is put in "
        "proportion to what sells; everything else stays as it is.",
        tuple(
            act(
                "set_product",
                product_id=line.product_id,
                reorder_target=line.wanted_target(books.days_remaining),
            )
            for line in books.lines
        ),
    )
