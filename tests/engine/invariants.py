"""What must hold on every day of every world, whatever the companies decide."""

import math

from engine.records import CompanyDay, DayRecord, Ledger
from engine.scenario import Scenario
from engine.state import FirmState, WorldState, decode_state, encode_state, state_digest


def check_day(scenario: Scenario, before: WorldState, after: WorldState, record: DayRecord) -> None:
    """One day of windows of one day: ``before`` is the state when its decisions were taken."""
    assert record.day == before.day + 1 == after.day
    seats = [seat for seat, firm in enumerate(before.firms, start=1) if firm.active]
    assert [company.seat for company in record.companies] == seats
    for company in record.companies:
        old, new = before.firms[company.seat - 1], after.firms[company.seat - 1]
        assert company.opening_cash_cents == old.cash_cents
        assert company.closing_cash_cents == new.cash_cents
        check_books(scenario, company)
        _check_goods(scenario, old, new, company)
        check_firm(scenario, new)
    for seat, (old, new) in enumerate(zip(before.firms, after.firms, strict=True), start=1):
        if seat not in seats:
            assert new == old, "a company that has left changes no more"
    check_market(record)
    check_encoding(after, record)


def check_books(scenario: Scenario, company: CompanyDay) -> None:
    """The cash identity to the cent, and the books among themselves (market.md section 9)."""
    ledger = company.ledger
    assert company.closing_cash_cents == company.opening_cash_cents + ledger.net_cents
    amounts = [getattr(ledger, name) for name in Ledger.__struct_fields__]
    assert all(type(amount) is int and amount >= 0 for amount in amounts)
    inflows = ledger.revenue_cents + ledger.refunds_cents
    assert ledger.net_cents == 2 * inflows - sum(amounts)
    assert company.exited == (company.closing_cash_cents < 0)
    products, segments = company.products, company.segments
    assert ledger.revenue_cents == sum(line.revenue_cents for line in products)
    assert ledger.remediation_cents == scenario.service.failure_cost_cents * sum(
        part.failures for part in segments
    )
    consumer_units = sum(line.fulfilled_units - line.enterprise_units for line in products)
    assert sum(part.fulfilled_units for part in segments) == consumer_units
    for line, terms in zip(products, scenario.products, strict=True):
        assert line.cogs_cents == line.fulfilled_units * terms.purchase_cost_cents
        assert 0 <= line.stockouts <= line.orders
        assert 0 <= line.backlogged_units <= line.stockouts
        assert 0 <= line.enterprise_units <= line.fulfilled_units
    bought = sum(
        line.ordered_units * terms.purchase_cost_cents
        for line, terms in zip(products, scenario.products, strict=True)
    )
    assert ledger.procurement_cents == bought
    for part in segments:
        assert 0 <= part.failures <= part.fulfilled_units
        assert -1.0 <= part.satisfaction <= 1.0
        assert 0.0 <= part.loyalty <= 1.0
    # Capacity is never exceeded (section 5).
    assert company.fulfilled_units <= company.capacity_units


def _check_goods(scenario: Scenario, old: FirmState, new: FirmState, company: CompanyDay) -> None:
    """Units are neither made nor lost: shelf, road, backlog, reservations."""
    assert company.capacity_units == scenario.capacity.tiers[new.tier].units_per_day
    for product, line in enumerate(company.products):
        assert new.stock[product] == old.stock[product] + line.received_units - line.fulfilled_units
        assert (
            new.inbound_units(product)
            == old.inbound_units(product) - line.received_units + line.ordered_units
        )
        if not company.exited:
            from_backlog = line.fulfilled_units - line.enterprise_units
            from_backlog -= line.orders - line.stockouts
            assert from_backlog >= 0
            assert (
                _backlog(new, product)
                == _backlog(old, product)
                + line.backlogged_units
                - line.abandoned_units
                - from_backlog
            )
    holding = sum(
        units * terms.holding_cost_cents
        for units, terms in zip(new.stock, scenario.products, strict=True)
    )
    assert company.ledger.holding_cents == holding
    if not company.exited:
        assert company.queued_units == sum(order.units for order in new.queue)


def _backlog(firm: FirmState, product: int) -> int:
    return sum(
        order.units
        for order in firm.queue
        if order.product == product and order.segment is not None
    )


def check_firm(scenario: Scenario, firm: FirmState) -> None:
    """What every company's state satisfies at the end of a day."""
    for product in range(len(scenario.products)):
        reserved = sum(
            order.units
            for order in firm.queue
            if order.product == product and order.tender_id is not None
        )
        assert firm.reserved[product] == reserved
        assert 0 <= reserved <= firm.stock[product]
        assert 0 <= firm.promotion_cents[product] <= firm.price_cents[product]
        assert firm.knowledge_cents[product] >= 0.0
        due = [shipment.due_day for shipment in firm.inbound[product]]
        assert due == sorted(set(due))
    assert all(order.units > 0 for order in firm.queue)
    entered = [order.entered_day for order in firm.queue]
    assert entered == sorted(entered)
    assert 0 <= firm.tier < len(scenario.capacity.tiers)
    pending = [project for project in firm.capacity_projects if project.status == "pending"]
    assert len(pending) <= 1
    assert firm.support_queue >= 0
    assert all(value >= 0.0 and math.isfinite(value) for value in firm.goodwill)
    assert all(-1.0 <= value <= 1.0 for value in firm.satisfaction)
    assert all(0.0 <= value <= 1.0 for value in firm.loyalty)
    for beliefs in firm.beliefs:
        for belief in beliefs:
            assert belief.mean > 0.0
            assert math.isfinite(belief.variance)
            assert belief.variance >= 0.0
    assert firm.active == (firm.exit_day is None) == (firm.cash_cents >= 0)
    if not firm.active:
        assert firm.queue == []


def check_market(record: DayRecord) -> None:
    """Opportunities end as sales, as backlog, as lost switchers, or with the outside option."""
    met = sum(
        line.orders - line.stockouts for company in record.companies for line in company.products
    )
    waiting = sum(
        line.backlogged_units for company in record.companies for line in company.products
    )
    lost = sum(record.market.lost_switchers)
    assert met + waiting + lost <= sum(record.market.opportunities)
    assert all(count >= 0 for count in record.market.opportunities + record.market.lost_switchers)
    assert record.market.macro > 0.0


def check_encoding(state: WorldState, record: DayRecord) -> None:
    """The state survives its encoding and is the one whose digest the record holds."""
    encoded = encode_state(state)
    assert record.state_digest == state_digest(state)
    again = decode_state(encoded)
    assert again == state
    assert encode_state(again) == encoded
