"""What every agent can work out about its business from the private tables."""

from collections.abc import Generator, Iterable
from typing import Final

import msgspec

from providers.rehearsal.agents.reading import Result, Table
from providers.rehearsal.agents.script import Act, Step, act, look

# Names of section 3 of the interface that are fixed; everything else is learned from SELECT *.
FRAME: Final = "SELECT * FROM scenario"
COMPANY: Final = "SELECT * FROM company"
PRODUCTS: Final = "SELECT * FROM products"
CATALOG: Final = "SELECT * FROM product_catalog"
INVENTORY: Final = "SELECT * FROM inventory"
CAPACITY: Final = "SELECT * FROM capacity_policy"
QUOTES: Final = "SELECT * FROM capacity_action_quotes"
BELIEFS: Final = "SELECT * FROM beliefs"
TENDERS: Final = "SELECT * FROM open_tenders"
PRICES: Final = "SELECT * FROM public_prices"
SEGMENTS: Final = "SELECT * FROM segments"
CHANNELS: Final = "SELECT * FROM channels"
WEEK_SALES: Final = (
    "SELECT product_id, SUM(fulfilled_units) AS units, COUNT(DISTINCT day) AS days"
    " FROM daily_product_sales"
    " WHERE day > (SELECT MAX(day) - 7 FROM daily_product_sales)"
    " GROUP BY product_id ORDER BY product_id"
)
WEEK_STOCKOUTS: Final = (
    "SELECT product_id, SUM(stockouts) AS stockouts FROM daily_product_sales"
    " WHERE day > (SELECT MAX(day) - 7 FROM daily_product_sales)"
    " GROUP BY product_id ORDER BY product_id"
)
WEEK_SERVICE: Final = (
    "SELECT segment_id, SUM(fulfilled_units) AS units, SUM(failures) AS failures,"
    " AVG(satisfaction) AS satisfaction FROM daily_segment_service"
    " WHERE day > (SELECT MAX(day) - 7 FROM daily_segment_service)"
    " GROUP BY segment_id ORDER BY segment_id"
)
# How long a stock should last beyond the time its replacement takes.
SAFETY_DAYS: Final = 7


class Line(msgspec.Struct, frozen=True):
    """One product line; money in cents. `week_units` is None before the first sales record."""

    product_id: str
    price: int
    promotion: int
    target: int
    quality: float
    first_price: int
    cost: int
    lead_days: int
    week_units: int | None

    def price_at(self, percent: int) -> int:
        """A percentage of the present list price, kept between a margin over cost and a quarter
        above the first price.
        """
        return max(
            self.cost * 115 // 100, min(self.price * percent // 100, self.first_price * 125 // 100)
        )

    def wanted_target(self, days_remaining: int, floor: int = 40) -> int:
        """A reorder target that covers lead time and safety, and no more than can still be sold."""
        if self.week_units is None:
            return self.target
        cover = max(floor, self.week_units * (self.lead_days + SAFETY_DAYS) // 7)
        return min(cover, self.week_units * days_remaining // 7) if days_remaining < 30 else cover


class Books(msgspec.Struct, frozen=True):
    """The company's position; money in cents."""

    cash: int
    day: int
    version: int
    days_remaining: int
    lines: tuple[Line, ...]

    @property
    def week_units(self) -> int:
        """Units sold in the last week, all products."""
        return sum(line.week_units or 0 for line in self.lines)


def survey(thought: str, *further: str) -> Generator[Step, list[Result], tuple[Books, list[Table]]]:
    """Read the books in one reply, and whatever further statements ask in the same reply."""
    frame, company, products, catalog, sales, *rest = yield from look(
        thought, FRAME, COMPANY, PRODUCTS, CATALOG, WEEK_SALES, *further
    )
    books = Books(
        cash=company.number(company.first, "cash"),
        day=company.number(company.first, "day"),
        version=company.number(company.first, "version"),
        days_remaining=frame.number(frame.first, "days_remaining", default=500),
        lines=tuple(product_lines(products, catalog, sales)),
    )
    return books, rest


def product_lines(products: Table, catalog: Table, sales: Table) -> Iterable[Line]:
    """The product lines that the three tables describe."""
    terms = {catalog.text(row, "product_id"): row for row in catalog.rows}
    sold = {sales.text(row, "product_id"): sales.number(row, "units") for row in sales.rows}
    for row in products.rows:
        product_id = products.text(row, "product_id")
        known = terms.get(product_id, {})
        price = products.number(row, "price")
        yield Line(
            product_id=product_id,
            price=price,
            promotion=products.number(row, "promotion"),
            target=products.number(row, "target"),
            quality=products.decimal(row, "quality"),
            first_price=catalog.number(known, "initial", "price", default=price),
            cost=catalog.number(known, "purchase", default=price // 2),
            lead_days=catalog.number(known, "procurement", default=7),
            week_units=sold.get(product_id, 0) if sold else None,
        )


def ids(table: Table, name: str) -> list[str]:
    """The identifiers in a column, in order."""
    return [identifier for row in table.rows if (identifier := table.text(row, name))]


def campaign(
    segments: Table, channels: Table, daily_cents: int, *, most_channels: int = 1
) -> tuple[Act, ...]:
    """Marketing calls that spread a daily amount evenly over all segments and the last channels."""
    places = [
        (segment, channel)
        for segment in ids(segments, "segment_id")
        for channel in ids(channels, "channel")[-most_channels:]
    ]
    return tuple(
        act(
            "set_marketing",
            segment_id=segment,
            channel=channel,
            daily_budget_cents=daily_cents // len(places),
        )
        for segment, channel in places
    )


def upkeep(reliability_cents: int, support_cents: int) -> Act:
    """The call that sets what keeps customers content."""
    return act(
        "set_operations",
        reliability_budget_cents=reliability_cents,
        support_budget_cents=support_cents,
    )


def dollars(cents: int) -> str:
    """An amount for reading."""
    return f"${cents / 100:,.2f}"
