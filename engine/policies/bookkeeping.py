"""What the characters share: reading the last window's books, and exact arithmetic.

Everything here is a pure function of an observation. Fractions of a cent are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from annotated_types import Ge, Le

from engine.decision import LARGEST_AMOUNT, ResearchRequest
from engine.observation import CapacityQuote, Catalog, Observation, ProductTerms
from manifests.errors import InputError

Percent = Annotated[int, Ge(0), Le(10_000)]
"""A whole percentage; 100 leaves an amount as it is."""

Days = Annotated[int, Ge(0), Le(100_000)]
"""A number of days."""


class Sales(msgspec.Struct, frozen=True):
    """One product's trade in the last window; ``asked`` counts consumer units, met or not."""

    asked: int
    fulfilled: int
    gross_profit_cents: int


def window_sales(observation: Observation) -> dict[str, Sales]:
    """The trade of every product in the elapsed window; all zero at day 0."""
    days = [day.products for day in observation.elapsed]
    sales = {}
    for number, product_id in enumerate(observation.catalog.products):
        asked = fulfilled = profit = 0
        for products in days:
            day = products[number]
            asked += day.orders
            fulfilled += day.fulfilled_units
            profit += day.revenue_cents - day.cogs_cents
        sales[product_id] = Sales(asked, fulfilled, profit)
    return sales


def capped(amount: int) -> int:
    """The amount, but at most the largest one that a decision may name."""
    return min(LARGEST_AMOUNT, amount)


def percent_of(amount: int, percent: int) -> int:
    """``percent`` % of a nonnegative amount, capped."""
    return capped(amount * percent // 100)


def spread(amount: int, names: Sequence[str]) -> dict[str, int]:
    """An amount divided evenly; the first ``amount mod len(names)`` names get one cent more."""
    share, remainder = divmod(amount, len(names))
    return {name: share + (number < remainder) for number, name in enumerate(names)}


def spread_marketing(
    observation: Observation, segment_cents: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """All recurring budgets: each segment's daily cents evenly over the channels."""
    catalog = observation.catalog
    return {
        segment_id: spread(segment_cents[segment_id], catalog.channels)
        for segment_id in catalog.segments
    }


def weighted_shares(amount: int, weights: Mapping[str, int]) -> dict[str, int]:
    """An amount divided in proportion to nonnegative weights, evenly when all are zero."""
    total = sum(weights.values())
    if total == 0:
        return spread(amount, list(weights))
    return {name: amount * weight // total for name, weight in weights.items()}


def appeal(observation: Observation) -> dict[str, int]:
    """What each segment seems worth: believed daily demand over price weight, in thousandths."""
    return {
        segment_id: int(1000.0 * beliefs.demand.mean / max(beliefs.price_weight.mean, 0.001))
        for segment_id, beliefs in observation.beliefs.items()
    }


def wanted_report(
    observation: Observation, level: int, doubt_percent: int, budget_cents: int
) -> tuple[ResearchRequest, ...]:
    """One request for a report on the segment whose demand is least known, or none.

    None while a report is under way, when it would exceed the budget, or when the squared
    coefficient of variation of every demand belief is at most ``doubt_percent`` %.
    """
    levels = observation.catalog.research[:level]
    if observation.pending_reports or not levels or levels[-1].cost_cents > budget_cents:
        return ()
    doubts = {
        segment_id: beliefs.demand.variance / max(beliefs.demand.mean * beliefs.demand.mean, 1e-9)
        for segment_id, beliefs in observation.beliefs.items()
    }
    segment_id = max(doubts, key=doubts.__getitem__)
    if doubts[segment_id] * 100.0 <= doubt_percent:
        return ()
    return (ResearchRequest(segment_id=segment_id, level=levels[-1].level),)


def rival_prices(observation: Observation) -> dict[str, list[int]]:
    """The effective prices of active rivals by product, cheapest first."""
    prices: dict[str, list[int]] = {product_id: [] for product_id in observation.catalog.products}
    for offer in observation.offers:
        if offer.active and offer.seat != observation.seat:
            prices[offer.product_id].append(offer.effective_price_cents)
    for found in prices.values():
        found.sort()
    return prices


def lowest_price(terms: ProductTerms, margin_percent: int) -> int:
    """Purchase cost plus a margin."""
    return percent_of(terms.purchase_cost_cents, 100 + margin_percent)


def stock_targets(
    observation: Observation, sales: Mapping[str, Sales], cover_days: int, least_units: int
) -> dict[str, int]:
    """Reorder targets: last window's demand, carried over lead time and ``cover_days``.

    Before the first window the present targets stay. Goods that would arrive after the horizon are
    not ordered, and targets shrink with the days that are left to sell.
    """
    elapsed, left = len(observation.elapsed), observation.days_remaining
    # A target stands for a whole window, so on average half of one has passed when it is used.
    selling_days = max(1, left - observation.catalog.window_days // 2)
    targets = {}
    for product_id, terms in observation.catalog.products.items():
        lead = terms.procurement_days
        if left <= lead:
            targets[product_id] = 0
        elif elapsed == 0:
            targets[product_id] = observation.products[product_id].reorder_target
        else:
            needed = -(-sales[product_id].asked * min(lead + cover_days, selling_days) // elapsed)
            targets[product_id] = capped(max(least_units, needed))
    return targets


def free_stock(observation: Observation, product_id: str) -> int:
    """Units on hand that no award has reserved."""
    own = observation.products[product_id]
    return own.on_hand - own.reserved


def workload_percent(observation: Observation, sales: Iterable[Sales]) -> int:
    """The last window's workload in percent of the installed capacity.

    Consumer units count when asked for, met or not, enterprise units when delivered. 100 without
    any capacity, 0 before the first window.
    """
    elapsed = len(observation.elapsed)
    if elapsed == 0:
        return 0
    enterprise = sum(
        product.enterprise_units for day in observation.elapsed for product in day.products
    )
    capacity = observation.units_per_day * elapsed
    wanted = enterprise + sum(product.asked for product in sales)
    return 100 if capacity == 0 else wanted * 100 // capacity


def next_expansion(observation: Observation) -> CapacityQuote | None:
    """The quote for the tier above the installed one, if there is one and nothing is pending."""
    wanted = observation.tier + 1
    return next(
        (quote for quote in observation.capacity_quotes if quote.target_tier == wanted), None
    )


def pays_back(
    observation: Observation, quote: CapacityQuote, sales: Iterable[Sales], fill_percent: int
) -> bool:
    """Whether an expansion earns its charge and overhead until the horizon.

    ``fill_percent`` of the added units are taken as sold, at last window's gross profit per unit.
    """
    assert quote.target_tier is not None
    sold = list(sales)
    units = sum(product.fulfilled for product in sold)
    days = observation.catalog.horizon_days - quote.effective_day
    if units == 0 or days <= 0:
        return False
    ladder = observation.catalog.capacity
    present, larger = ladder[observation.tier], ladder[quote.target_tier]
    profit = sum(product.gross_profit_cents for product in sold)
    added = larger.units_per_day - present.units_per_day
    daily_gain = added * fill_percent * profit // (100 * units)
    daily_cost = larger.overhead_cents - present.overhead_cents
    return (daily_gain - daily_cost) * days > quote.charge_cents


def worthwhile_innovation(
    observation: Observation, largest_tier: int, lengths: int, budget_cents: int
) -> int | None:
    """The largest innovation tier that the budget and ``lengths`` times its median days allow.

    None while a project is pending: how many a scenario allows at once is not public, one is.
    """
    if observation.innovation_projects:
        return None
    left = observation.days_remaining
    for terms in reversed(observation.catalog.innovation[:largest_tier]):
        if terms.cost_cents <= budget_cents and terms.median_days * lengths <= left:
            return terms.tier
    return None


def tender_bids(
    observation: Observation, price_percent: int, margin_percent: int
) -> dict[str, int]:
    """Bids on the open tenders that quality and free stock on hand can serve now.

    The price is ``price_percent`` of the reservation price, but never below purchase cost plus
    ``margin_percent``; no bid where that exceeds the reservation price. Tenders of one product
    share its stock.
    """
    bids = {}
    promised: dict[str, int] = {}
    for tender in observation.tenders:
        product_id = tender.product_id
        price = max(
            percent_of(tender.reservation_price_cents, price_percent),
            lowest_price(observation.catalog.products[product_id], margin_percent),
        )
        units = promised.get(product_id, 0) + tender.units
        if (
            price <= tender.reservation_price_cents
            and observation.products[product_id].quality >= tender.minimum_quality
            and free_stock(observation, product_id) >= units
        ):
            promised[product_id] = units
            bids[tender.tender_id] = price
    return bids


def require_segment(policy: str, parameter: str, segment_id: str, catalog: Catalog) -> None:
    """Raise InputError when the scenario has no such segment."""
    if segment_id not in catalog.segments:
        raise InputError(
            f"Policy {policy!r}: {parameter} is {segment_id!r}, which the scenario does not have.",
            remedy=f"Set {parameter} to one of its segments: {', '.join(catalog.segments)}.",
        )
