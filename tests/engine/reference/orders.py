"""market.md section 5: orders, backlog, stock and replenishment."""

from engine.state import Order, Shipment
from tests.engine.reference import draws
from tests.engine.reference.accounts import earn, pay
from tests.engine.reference.knowledge import quality
from tests.engine.reference.market import Company, Market


def unreserved(company: Company, product: int) -> int:
    return company.firm.stock[product] - company.firm.reserved[product]


def receive(market: Market, company: Company) -> None:
    """What is due today can be sold today."""
    firm = company.firm
    for product in range(len(market.products)):
        for shipment in firm.inbound[product]:
            if shipment.due_day == market.day:
                firm.stock[product] += shipment.units
                company.books.products[product].received_units += shipment.units
        firm.inbound[product] = [
            shipment for shipment in firm.inbound[product] if shipment.due_day != market.day
        ]


def abandon(market: Market, company: Company) -> None:
    """Each consumer order loses Binomial(units, 0.05) units; enterprise orders do not abandon."""
    for order, units in zip(company.firm.queue, draws.abandonments(market, company), strict=True):
        if order.tender_id is None:
            order.units -= units
            company.books.products[order.product].abandoned_units += units


def serve_queue(market: Market, company: Company) -> None:
    """Oldest first, as far as usable stock and the day's capacity go."""
    firm = company.firm
    for order in firm.queue:
        enterprise = order.tender_id is not None
        usable = firm.reserved[order.product] if enterprise else unreserved(company, order.product)
        units = min(order.units, usable, company.capacity_left)
        if units:
            if enterprise:
                firm.reserved[order.product] -= units
            hand_over(market, company, order, units)
            order.units -= units
    firm.queue = [order for order in firm.queue if order.units]


def hand_over(market: Market, company: Company, order: Order, units: int) -> None:
    """Fulfil units of an order: they leave stock, take capacity, and bring their revenue."""
    product, revenue = order.product, units * order.price_cents
    company.firm.stock[product] -= units
    company.capacity_left -= units
    earn(company, "revenue_cents", revenue)
    line = company.books.products[product]
    line.fulfilled_units += units
    line.revenue_cents += revenue
    line.cogs_cents += units * market.products[product].purchase_cost_cents
    if order.segment is None:
        line.enterprise_units += units
        return
    served = company.books.segments[order.segment]
    served.fulfilled_units += units
    served.paid_cents += revenue
    served.wait_unit_days += units * (market.day - order.entered_day)
    served.quality_units += units * quality(market, company, product)


def replenish(market: Market, company: Company) -> None:
    """Order up to the targets, product by product, as far as cash goes; paid at once."""
    firm = company.firm
    for product, terms in enumerate(market.products):
        inbound = sum(shipment.units for shipment in firm.inbound[product])
        position = firm.stock[product] + inbound - firm.reserved[product]
        wanted = max(0, firm.reorder_target[product] - position)
        units = min(wanted, max(0, firm.cash_cents) // terms.purchase_cost_cents)
        if units:
            pay(company, "procurement_cents", units * terms.purchase_cost_cents)
            due = market.day + terms.procurement_days
            firm.inbound[product].append(Shipment(due, units))
            company.books.products[product].ordered_units += units


def charge_holding(market: Market, company: Company) -> None:
    for product, terms in enumerate(market.products):
        pay(company, "holding_cents", company.firm.stock[product] * terms.holding_cost_cents)
