"""The user message that opens a window (interface.md section 5).

It is computed from the authorized observation, the company's own receipts and its own memory, and
from nothing else; equal inputs give equal text. Amounts are shown to the cent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from engine.decision import company_name
from engine.observation import Observation
from engine.records import ActionReceipt, CompanyDay
from orchestrator.session.allowance import NOTHING, Allowance, Use
from orchestrator.session.layout import dollars, listed, number, table
from orchestrator.session.periods import periods

MEMORY_CHARACTERS: Final = 40_000
"""How much of MEMORY.md a window shows."""


def briefing(
    observation: Observation,
    receipts: Sequence[ActionReceipt],
    preceding: Sequence[CompanyDay],
    allowance: Allowance,
    memory: str | None,
    used: Use = NOTHING,
) -> str:
    """The message of one window.

    ``receipts`` are those of the window that led to this boundary, ``preceding`` the company's days
    of the window before it (empty when there is none), ``memory`` the whole of MEMORY.md (None when
    there is no such file). ``used`` is what earlier attempts at the window have used of the
    allowance.
    """
    parts = (
        *_heading(observation),
        *_limits(allowance, used),
        *_memory(memory),
        *periods(observation, preceding),
        *_happened(observation, receipts),
        *_finances(observation),
        *_stock(observation),
        *_capacity(observation),
        *_policies(observation),
        *_projects(observation),
        *_market(observation),
    )
    return "\n".join(parts).strip() + "\n"


def _heading(observation: Observation) -> Iterator[str]:
    catalog, day = observation.catalog, observation.day
    last = min(day + catalog.window_days, catalog.horizon_days)
    yield f"# {observation.company_id}, day {day} of {catalog.horizon_days}"
    yield ""
    yield (
        f"World version {observation.world_version}. Today is day {day}; the horizon is day "
        f"{catalog.horizon_days}, with {observation.days_remaining} days remaining. What you seal "
        f"now acts on days {day + 1} to {last}."
    )
    yield ""


def _limits(allowance: Allowance, used: Use) -> Iterator[str]:
    yield "## Limits of this window"
    yield ""
    for name, hard, threshold, before in (
        ("Model replies", allowance.replies, allowance.replies_threshold, used.replies),
        (
            "Generated tokens, reasoning included",
            allowance.output_tokens,
            allowance.tokens_threshold,
            used.output_tokens,
        ),
        (
            "Active time in seconds",
            allowance.seconds,
            allowance.seconds_threshold,
            math.ceil(used.seconds),
        ),
    ):
        if hard is None or threshold is None:
            yield f"- {name}: no limit."
        else:
            gone = f", of which {before:,} are used" if before else ""
            yield f"- {name}: at most {hard:,}{gone}; finalization begins at {threshold:,.10g}."
    yield ""


def _memory(memory: str | None) -> Iterator[str]:
    yield "## MEMORY.md"
    yield ""
    if not memory:
        yield "The file is empty." if memory == "" else "There is no such file yet."
    else:
        shown = memory[:MEMORY_CHARACTERS]
        yield f"----- beginning of MEMORY.md, {len(memory):,} characters -----"
        yield shown
        if len(memory) > MEMORY_CHARACTERS:
            yield (
                f"----- cut here: the first {MEMORY_CHARACTERS:,} of {len(memory):,} characters "
                "are shown; read_file reads the whole -----"
            )
        else:
            yield "----- end of MEMORY.md -----"
    yield ""


def _happened(observation: Observation, receipts: Sequence[ActionReceipt]) -> Iterator[str]:
    """One-time events of the last window: receipts, completions, reports."""
    yield "## What happened to your one-time actions"
    yield ""
    yield from listed(
        [*_receipts(receipts), *_completions(observation)],
        "Nothing of that kind in the last period.",
    )
    yield ""


def _receipts(receipts: Sequence[ActionReceipt]) -> Iterator[str]:
    for receipt in receipts:
        yield (
            f"{receipt.kind} {receipt.subject}: {receipt.outcome} on day {receipt.decided_day}, "
            f"charged {dollars(receipt.charge_cents)}, refunded {dollars(receipt.refund_cents)}, "
            f"effective on day {receipt.effective_day}."
        )


def _completions(observation: Observation) -> Iterator[str]:
    segments = tuple(observation.catalog.segments)
    first_day = observation.day - len(observation.elapsed) + 1
    for day, company in enumerate(observation.elapsed, first_day):
        for completion in company.completions:
            yield f"{completion.kind} {completion.project_id}: completed on day {day}."
        for report in company.reports:
            yield (
                f"{report.report_id}, {segments[report.segment]}, level {report.level}: delivered "
                f"on day {day}; on day {report.sample_day} demand was read as "
                f"{report.demand:.1f} units a day, price weight as {report.price_weight:.3f}, "
                f"expected quality as {report.expected_quality:.4f} (log SD {report.log_sd})."
            )


def _finances(observation: Observation) -> Iterator[str]:
    catalog = observation.catalog
    on_hand = inbound = 0
    for product in observation.products.values():
        value = catalog.products[product.product_id].liquidation_value_cents
        on_hand += product.on_hand * value
        inbound += product.inbound * value
    marketing = sum(sum(budgets.values()) for budgets in observation.marketing.values())
    development = sum(product.development_cents for product in observation.products.values())
    overhead = catalog.capacity[observation.tier].overhead_cents
    recurring = (
        marketing
        + development
        + observation.reliability_cents
        + observation.support_cents
        + overhead
    )
    score = observation.cash_cents + on_hand + inbound - catalog.initial_value_cents
    yield "## Finances now"
    yield ""
    yield from table(
        ("", "amount"),
        (
            ("Cash", dollars(observation.cash_cents)),
            ("Stock on hand at liquidation value", dollars(on_hand)),
            ("Paid inbound stock at liquidation value", dollars(inbound)),
            ("Initial enterprise value", dollars(catalog.initial_value_cents)),
            ("Score if the run ended now", dollars(score)),
            ("Recurring charges a day", dollars(recurring)),
            ("- marketing", dollars(marketing)),
            ("- development", dollars(development)),
            ("- reliability", dollars(observation.reliability_cents)),
            ("- support", dollars(observation.support_cents)),
            ("- overhead of the capacity tier", dollars(overhead)),
        ),
    )
    yield ""


def _stock(observation: Observation) -> Iterator[str]:
    yield "## Inventory, inbound and backlog"
    yield ""
    waiting = dict.fromkeys(observation.catalog.products, 0)
    for order in observation.backlog:
        waiting[order.product_id] += order.units
    yield from table(
        ("product", "on hand", "reserved", "available", "inbound", "reorder target", "backlog"),
        (
            (
                product.product_id,
                number(product.on_hand),
                number(product.reserved),
                number(product.on_hand - product.reserved),
                number(product.inbound),
                number(product.reorder_target),
                number(waiting[product.product_id]),
            )
            for product in observation.products.values()
        ),
    )
    yield ""
    yield "Inbound shipments:"
    yield from listed(list(_arrivals(observation)), "none")
    yield ""
    yield from _waiting(observation)
    yield "Enterprise contracts:"
    yield from listed(
        [
            f"{contract.tender_id}: {number(contract.units)} units of {contract.product_id} still "
            f"owed at {dollars(contract.price_cents)}, due on day {contract.due_day}"
            for contract in observation.contracts
        ],
        "none",
    )
    yield ""


def _arrivals(observation: Observation) -> Iterator[str]:
    arrivals: dict[str, list[str]] = {}
    for shipment in observation.inbound:
        arrival = f"{number(shipment.units)} units on day {shipment.due_day}"
        arrivals.setdefault(shipment.product_id, []).append(arrival)
    for product_id, days in arrivals.items():
        yield f"{product_id}: {', '.join(days)}"


def _waiting(observation: Observation) -> Iterator[str]:
    """The consumer backlog by segment and product."""
    groups: dict[tuple[str, str], tuple[int, int]] = {}
    for order in observation.backlog:
        place = order.segment_id, order.product_id
        units, oldest = groups.get(place, (0, order.entered_day))
        groups[place] = units + order.units, min(oldest, order.entered_day)
    yield "Waiting consumers:"
    yield from listed(
        [
            f"{segment_id}, {product_id}: {number(units)} units, the oldest since day {oldest}"
            for (segment_id, product_id), (units, oldest) in sorted(groups.items())
        ],
        "none",
    )
    yield f"Open support tickets: {number(observation.support_queue)}"
    yield ""


def _capacity(observation: Observation) -> Iterator[str]:
    yield "## Capacity"
    yield ""
    yield (
        f"Tier {observation.tier} is installed: {number(observation.units_per_day)} units a day."
    )
    pending = observation.pending_capacity
    if pending is None:
        yield "No change is pending."
    else:
        yield (
            f"{pending.project_id}, decided on day {pending.started_day}, leads to tier "
            f"{pending.target_tier} on day {pending.due_day}; prepaid "
            f"{dollars(pending.prepaid_cents)}."
        )
    yield ""
    yield "Actions open to you:"
    yield from listed(
        [
            f"{quote.action} "
            + (f"to tier {quote.target_tier}" if quote.project_id is None else quote.project_id)
            + f": charge {dollars(quote.charge_cents)}, refund {dollars(quote.refund_cents)}, "
            f"effective on day {quote.effective_day}"
            for quote in observation.capacity_quotes
        ],
        "none",
    )
    yield ""


def _policies(observation: Observation) -> Iterator[str]:
    yield "## Standing policies"
    yield ""
    yield from table(
        ("product", "price", "promotion", "customers pay", "development a day", "quality"),
        (
            (
                product.product_id,
                dollars(product.price_cents),
                dollars(product.promotion_cents),
                dollars(product.price_cents - product.promotion_cents),
                dollars(product.development_cents),
                f"{product.quality:.4f}",
            )
            for product in observation.products.values()
        ),
    )
    yield ""
    yield from table(
        ("marketing a day", *observation.catalog.channels),
        (
            (segment_id, *(dollars(budget) for budget in budgets.values()))
            for segment_id, budgets in observation.marketing.items()
        ),
    )
    yield ""
    yield (
        f"Reliability a day: {dollars(observation.reliability_cents)}. Support a day: "
        f"{dollars(observation.support_cents)}."
    )
    yield ""


def _projects(observation: Observation) -> Iterator[str]:
    yield "## Pending projects and reports"
    yield ""
    projects = [
        f"{project.project_id}, tier {project.tier}, since day {project.started_day}: median "
        f"completion on day {project.median_completion_day}, expected gain "
        f"{dollars(project.expected_gain_cents)} of knowledge for the whole company"
        for project in observation.innovation_projects
    ]
    reports = [
        f"{report.report_id}, {report.segment_id}, level {report.level}: describes day "
        f"{report.sample_day}, arrives on day {report.delivery_day}"
        for report in observation.pending_reports
    ]
    yield from listed([*projects, *reports], "none")
    yield ""


def _market(observation: Observation) -> Iterator[str]:
    signal = observation.signal
    yield "## Public conditions"
    yield ""
    yield (
        f"Market signal of day {signal.sample_day}: macro value {signal.macro:.4f}, demand index "
        f"{signal.demand_index:.4f}, quality index {signal.quality_index:.4f}."
    )
    yield ""
    offers: dict[str, list[str]] = {}
    for offer in observation.offers:
        own = " (you)" if offer.seat == observation.seat else ""
        name = offer.company_id + (own if offer.active else " (exited)")
        price = dollars(offer.effective_price_cents)
        if offer.promotion_cents:
            price += f" = {dollars(offer.price_cents)} - {dollars(offer.promotion_cents)}"
        offers.setdefault(name, []).append(price)
    yield from table(
        ("what customers pay", *observation.catalog.products),
        ((name, *prices) for name, prices in offers.items()),
    )
    yield ""
    yield "Open tenders:"
    yield from listed(
        [
            f"{tender.tender_id}: {number(tender.units)} units of {tender.product_id}, quality at "
            f"least {tender.minimum_quality:.4f}, at most {dollars(tender.reservation_price_cents)}"
            f" a unit; closes on day {tender.close_day}, due on day {tender.due_day}; your bid: "
            + ("none" if tender.own_bid_cents is None else dollars(tender.own_bid_cents))
            for tender in observation.tenders
        ],
        "none",
    )
    yield ""
    yield "Awards and exits in the last period:"
    yield from listed(list(_news(observation)), "none")


def _news(observation: Observation) -> Iterator[str]:
    products = tuple(observation.catalog.products)
    first_day = observation.day - len(observation.public_elapsed) + 1
    for day, public in enumerate(observation.public_elapsed, first_day):
        for award in public.awards:
            tender = (
                f"{award.tender_id}, {number(award.units)} units of {products[award.product]}, "
                f"closed on day {award.close_day}"
            )
            if award.winner_seat is None or award.unit_price_cents is None:
                yield f"{tender}: no qualifying bid"
            else:
                price = dollars(award.unit_price_cents)
                yield f"{tender}: won by {company_name(award.winner_seat)} at {price} a unit"
        for seat in public.exited_seats:
            yield f"{company_name(seat)} left the market on day {day}"
