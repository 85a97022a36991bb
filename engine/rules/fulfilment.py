"""Orders, backlog, stock and replenishment (market.md section 5)."""

from __future__ import annotations

from engine.distributions import binomial
from engine.rules.today import Company, Today
from engine.state import Order, Shipment


def receive_shipments(company: Company, day: int) -> None:
    """Put the units that are due today on the shelf; they can be sold today."""
    firm = company.firm
    for product, shipments in enumerate(firm.inbound):
        if shipments and shipments[0].due_day == day:
            units = shipments.pop(0).units
            firm.stock[product] += units
            company.record.products[product].received_units = units


def serve_existing_orders(today: Today, company: Company) -> None:
    """Backlog loses those who give up, then the queue is served oldest first."""
    firm = company.firm
    if not firm.queue:
        return
    _abandon(today, company)
    for order in firm.queue:
        if company.capacity_left <= 0:
            break
        if order.segment is None:
            _deliver_enterprise(company, order)
        else:
            usable = firm.stock[order.product] - firm.reserved[order.product]
            units = min(order.units, usable, company.capacity_left)
            if units > 0:
                order.units -= units
                wait = today.day - order.entered_day
                _sell_consumer(
                    company, order.segment, order.product, units, order.price_cents, wait
                )
    firm.queue = [order for order in firm.queue if order.units]


def _abandon(today: Today, company: Company) -> None:
    """Each consumer order of the backlog loses Binomial(units, abandonment) units."""
    share = today.scenario.service.abandonment
    queue = company.firm.queue
    draws = today.streams.open("abandonment", company.seat, today.day, len(queue))
    for order, draw in zip(queue, draws, strict=True):
        if order.segment is not None:
            gone = binomial(draw, order.units, share)
            if gone:
                order.units -= gone
                company.record.products[order.product].abandoned_units += gone


def fulfil_consumer(company: Company, segment: int, product: int, units: int) -> int:
    """Serve new consumer units at the effective price as far as stock and capacity go; returns
    the unmet units.
    """
    firm = company.firm
    usable = firm.stock[product] - firm.reserved[product]
    served = min(units, usable, company.capacity_left)
    line = company.record.products[product]
    line.orders += units
    line.stockouts += units - served
    if served > 0:
        _sell_consumer(company, segment, product, served, company.prices[product], 0)
    return units - served


def backlog_consumer(
    today: Today, company: Company, segment: int, product: int, units: int
) -> None:
    """Queue unmet units at the price that was agreed today."""
    if units:
        company.record.products[product].backlogged_units += units
        company.firm.queue.append(
            Order(today.day, product, units, company.prices[product], segment=segment)
        )


def _sell_consumer(
    company: Company,
    segment: int,
    product: int,
    units: int,
    price_cents: int,
    wait_days: int,
) -> None:
    revenue = _hand_over(company, product, units, price_cents)
    seen = company.record.segments[segment]
    seen.fulfilled_units += units
    seen.paid_cents += revenue
    seen.wait_unit_days += units * wait_days
    seen.quality_units += units * company.quality[product]


def _deliver_enterprise(company: Company, order: Order) -> None:
    """Deliver from the order's own reservation, which covers all its open units."""
    units = min(order.units, company.capacity_left)
    order.units -= units
    company.firm.reserved[order.product] -= units
    company.record.products[order.product].enterprise_units += units
    _hand_over(company, order.product, units, order.price_cents)


def _hand_over(company: Company, product: int, units: int, price_cents: int) -> int:
    """Units leave stock and take capacity; returns their revenue."""
    company.firm.stock[product] -= units
    company.capacity_left -= units
    revenue = units * price_cents
    line = company.record.products[product]
    line.fulfilled_units += units
    line.revenue_cents += revenue
    return revenue


def book_sales(today: Today, company: Company) -> None:
    """Book the revenue of all units fulfilled today, before anything is bought from it."""
    revenue = 0
    products = today.scenario.products
    for product, line in enumerate(company.record.products):
        revenue += line.revenue_cents
        line.cogs_cents = line.fulfilled_units * products[product].purchase_cost_cents
    company.firm.cash_cents += revenue
    company.record.ledger.revenue_cents = revenue


def replenish(today: Today, company: Company) -> None:
    """Buy up to each target in product order, as far as cash goes; paid now, sellable after the
    lead time.
    """
    firm, record = company.firm, company.record
    for product, terms in enumerate(today.scenario.products):
        position = firm.stock[product] + firm.inbound_units(product) - firm.reserved[product]
        wanted = firm.reorder_target[product] - position
        if wanted <= 0:
            continue
        units = min(wanted, max(0, firm.cash_cents) // terms.purchase_cost_cents)
        if units:
            cost = units * terms.purchase_cost_cents
            firm.cash_cents -= cost
            record.ledger.procurement_cents += cost
            record.products[product].ordered_units = units
            firm.inbound[product].append(Shipment(today.day + terms.procurement_days, units))


def charge_holding(today: Today, company: Company) -> None:
    """Charge end-of-day stock on hand, reserved units included."""
    cost = 0
    for product, terms in enumerate(today.scenario.products):
        cost += company.firm.stock[product] * terms.holding_cost_cents
    company.firm.cash_cents -= cost
    company.record.ledger.holding_cents += cost
