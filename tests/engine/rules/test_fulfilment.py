"""Existing orders, stock, replenishment, holding costs (market.md section 5)."""

import pytest

from engine.state import Order, Shipment
from tests.engine.worlds import (
    MAINSTREAM,
    NO_ORDERS,
    PATIENT,
    PREMIUM,
    VALUE,
    A,
    B,
    C,
    ChosenLuck,
    consumer_order,
    decision,
    devoted,
    enterprise_order,
    new_world,
    quiet,
    settle_day,
    settle_days,
)

QUEUED = [
    consumer_order(1, A, 50, price=4000, segment=MAINSTREAM),
    enterprise_order(2, B, 30, price=7000),
    consumer_order(2, A, 10, price=3900, segment=VALUE),
]


# --- the queue ----------------------------------------------------------------------------------


def test_orders_are_served_oldest_first() -> None:
    """Section 5, Q = 60, 40 unreserved A and 30 reserved B on hand.

    The oldest order takes 40 A (all there is), the award 20 B (the rest of the capacity), the last
    order nothing. Revenue 40 x 40 + 20 x 70 = $3,000.
    """
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock, firm.reserved, firm.queue = [40, 30, 0], [0, 30, 0], list(QUEUED)
    after, record = settle_day(scenario, state)
    company = record.companies[0]
    assert [(order.product, order.units) for order in after.firms[0].queue] == [
        (A, 10),
        (B, 10),
        (A, 10),
    ]
    assert company.ledger.revenue_cents == 300_000
    assert [line.fulfilled_units for line in company.products] == [40, 20, 0]
    assert [line.enterprise_units for line in company.products] == [0, 20, 0]
    assert [line.revenue_cents for line in company.products] == [160_000, 140_000, 0]
    assert [line.cogs_cents for line in company.products] == [40 * 2600, 20 * 4800, 0]
    assert after.firms[0].stock == [0, 10, 0]
    assert after.firms[0].reserved == [0, 10, 0]
    assert company.queued_units == 30


def test_ties_keep_the_order_in_which_they_entered() -> None:
    """Section 5: two orders of one day, 15 units for 20 wanted: the first is served whole."""
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock = [15, 0, 0]
    firm.queue = [
        consumer_order(3, A, 10, segment=VALUE),
        consumer_order(3, A, 10, segment=PREMIUM),
    ]
    after, _ = settle_day(scenario, state)
    assert [(order.segment, order.units) for order in after.firms[0].queue] == [(PREMIUM, 5)]


def test_an_order_without_stock_does_not_hold_up_later_ones() -> None:
    """Section 5: bounded by usable stock, so the next order of another product is served."""
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock = [0, 0, 20]
    firm.queue = [consumer_order(1, A, 10), consumer_order(2, C, 5)]
    after, record = settle_day(scenario, state)
    assert [order.product for order in after.firms[0].queue] == [A]
    assert record.companies[0].products[C].fulfilled_units == 5


def test_consumers_cannot_take_reserved_stock() -> None:
    """Section 5: 40 A on hand, 15 reserved for an award: the older consumer order gets 25 only.

    The award behind it still gets its 15.
    """
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock, firm.reserved = [40, 0, 0], [15, 0, 0]
    firm.queue = [consumer_order(1, A, 30), enterprise_order(2, A, 15)]
    after, record = settle_day(scenario, state)
    assert [(order.segment, order.units) for order in after.firms[0].queue] == [(MAINSTREAM, 5)]
    assert record.companies[0].products[A].enterprise_units == 15
    assert after.firms[0].stock == [0, 0, 0]
    assert after.firms[0].reserved == [0, 0, 0]


def test_each_award_uses_its_own_reservation() -> None:
    """Section 5: with Q = 10 the first of two awards gets 10 of 12; 2 + 8 units stay reserved."""
    scenario = quiet(PATIENT | NO_ORDERS | {"capacity.tiers.0.units_per_day": 10})
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock, firm.reserved = [20, 0, 0], [20, 0, 0]
    firm.queue = [enterprise_order(1, A, 12), enterprise_order(2, A, 8)]
    after, _ = settle_day(scenario, state)
    assert [order.units for order in after.firms[0].queue] == [2, 8]
    assert after.firms[0].reserved == [10, 0, 0]


def test_backlog_is_served_before_new_demand() -> None:
    """Section 5: old orders use 45 of 60 units of capacity, 15 are left for 40 new customers."""
    scenario = devoted({MAINSTREAM: 40.0}, PATIENT | {"choice.switching_share": 0.0})
    state = new_world(scenario)
    state.firms[0].queue = [consumer_order(0, A, 45, segment=VALUE)]
    after, record = settle_day(scenario, state)
    company = record.companies[0]
    assert [part.fulfilled_units for part in company.segments] == [15, 0, 45]
    assert company.products[A].fulfilled_units == 60
    assert [(order.segment, order.units) for order in after.firms[0].queue] == [(MAINSTREAM, 25)]


def test_capacity_is_shared_by_products_and_kinds_of_orders() -> None:
    """Section 5: Q units in all; 20 award + 30 backlog leave 10 for new customers."""
    scenario = devoted({MAINSTREAM: 40.0}, PATIENT | {"choice.switching_share": 0.0})
    state = new_world(scenario)
    firm = state.firms[0]
    firm.reserved[C] = 20
    firm.queue = [enterprise_order(0, C, 20), consumer_order(0, B, 30)]
    _, record = settle_day(scenario, state)
    assert [line.fulfilled_units for line in record.companies[0].products] == [10, 30, 20]


# --- abandonment --------------------------------------------------------------------------------


def test_abandonment_comes_before_service() -> None:
    """Section 5: the median of Binomial(20, 0.05) is 1, so 19 of 20 are left to be served."""
    scenario = quiet(NO_ORDERS)
    state = new_world(scenario)
    state.firms[0].queue = [consumer_order(0, A, 20)]
    after, record = settle_day(scenario, state)
    line = record.companies[0].products[A]
    assert (line.abandoned_units, line.fulfilled_units) == (1, 19)
    assert after.firms[0].queue == []


def test_abandoned_orders_leave_the_queue() -> None:
    """Section 5: with share 1 everyone gives up although the goods are there; awards stay."""
    scenario = quiet(NO_ORDERS | {"service.abandonment": 1.0})
    state = new_world(scenario)
    firm = state.firms[0]
    firm.reserved[B] = 70
    firm.queue = [consumer_order(0, A, 20), enterprise_order(0, B, 70), consumer_order(0, C, 3)]
    after, record = settle_day(scenario, state)
    assert [line.abandoned_units for line in record.companies[0].products] == [20, 0, 3]
    assert [line.fulfilled_units for line in record.companies[0].products] == [0, 60, 0]
    assert [(order.tender_id, order.units) for order in after.firms[0].queue] == [
        ("tender-000", 10)
    ]


def test_abandonment_draws_for_each_order() -> None:
    """Section 5: each order loses its own Binomial; a draw near 1 loses more than one near 0."""
    scenario = quiet(NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock = [0, 0, 0]
    firm.queue = [consumer_order(0, A, 20), consumer_order(0, B, 20)]
    after, _ = settle_day(scenario, state, luck=ChosenLuck({("abandonment", 1): [1e-9, 0.99]}))
    # P(X <= 3) = 0.984, P(X <= 4) = 0.997 for Binomial(20, 0.05), so 0.99 is at 4.
    assert [order.units for order in after.firms[0].queue] == [20, 16]


def test_abandonment_luck_is_the_companys_own() -> None:
    """Section 10: keyed by seat."""
    scenario = quiet(NO_ORDERS)
    state = new_world(scenario, firms=2)
    for firm in state.firms:
        firm.stock, firm.queue = [0, 0, 0], [consumer_order(0, A, 20)]
    after, _ = settle_day(scenario, state, luck=ChosenLuck({("abandonment", 2): 0.99}))
    assert [firm.queue[0].units for firm in after.firms] == [19, 16]


def test_new_backlog_is_not_abandoned_on_its_first_day() -> None:
    """Sections 1 and 5: abandonment is drawn before service, new orders enter after it."""
    scenario = devoted(
        {MAINSTREAM: 30.0}, {"choice.switching_share": 0.0, "service.abandonment": 1.0} | NO_ORDERS
    )
    state = new_world(scenario)
    state.firms[0].stock = [10, 0, 0]
    state, _ = settle_day(scenario, state)
    assert [order.units for order in state.firms[0].queue] == [20]
    state, record = settle_day(scenario, state)
    assert state.firms[0].queue == []
    assert record.companies[0].products[A].abandoned_units == 20


def test_waiting_time_is_the_age_of_the_order() -> None:
    """Section 7: an order of day 2 that is served on day 5 waited three days."""
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    state.day, state.version = 4, 4
    state.firms[0].queue = [consumer_order(2, A, 6, segment=PREMIUM)]
    _, record = settle_day(scenario, state)
    seen = record.companies[0].segments[PREMIUM]
    assert (seen.fulfilled_units, seen.wait_unit_days, seen.paid_cents) == (6, 18, 30_000)


# --- replenishment ------------------------------------------------------------------------------


def test_replenishment_fills_up_the_stock_position() -> None:
    """Section 5: A: 600 - (500 + 50 - 20) = 70; B: 400 - (400 + 5 - 0) < 0; C: 200 - 195 = 5.

    Paid at once: 70 x 26 + 5 x 85 = $2,245.
    """
    scenario = quiet()
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock, firm.reserved = [500, 400, 195], [20, 0, 0]
    firm.inbound[A] = [Shipment(4, 50)]
    firm.inbound[B] = [Shipment(6, 5)]
    after, record = settle_day(scenario, state)
    company = record.companies[0]
    assert [line.ordered_units for line in company.products] == [70, 0, 5]
    assert company.ledger.procurement_cents == 224_500
    assert after.firms[0].inbound == [
        [Shipment(4, 50), Shipment(1 + 5, 70)],
        [Shipment(6, 5)],
        [Shipment(1 + 10, 5)],
    ]


def test_backlog_is_not_part_of_the_stock_position() -> None:
    """Section 5: 300 units of backlog do not raise an order; stock is at its target."""
    scenario = quiet(PATIENT | {"capacity.tiers.0.units_per_day": 0})
    state = new_world(scenario)
    state.firms[0].queue = [consumer_order(0, A, 300)]
    _, record = settle_day(scenario, state)
    assert record.companies[0].ledger.procurement_cents == 0


@pytest.mark.parametrize(
    ("cash", "ordered"),
    [
        # A first: 3 x $26 = $78 of $78.25; the 25 cents buy nothing more.
        (7_825, [3, 0, 0]),
        # A whole: 10 x 26 = 260; B: 48 of the 60 left; C: 12 left.
        (32_000, [10, 1, 0]),
        # A 260, B 10 x 48 = 480, then 85 of the 100 left.
        (84_000, [10, 10, 1]),
        # A 260, then 47 left: too little for B, so C gets nothing either.
        (30_700, [10, 0, 0]),
        # The same 90 left skip nothing: B takes 48, 42 are left.
        (35_000, [10, 1, 0]),
        (0, [0, 0, 0]),
        (-1, [0, 0, 0]),
    ],
)
def test_replenishment_is_limited_by_cash_in_product_order(cash: int, ordered: list[int]) -> None:
    """Section 5: floor([cash]+ / c_j) units, in the order A, B, C."""
    scenario = quiet(
        {f"products.{product}.holding_cost_cents": 0 for product in range(3)}
        | {"capacity.tiers.0.overhead_cents": 0}
    )
    state = new_world(scenario)
    firm = state.firms[0]
    firm.cash_cents = cash
    firm.stock, firm.reorder_target = [0, 0, 0], [10, 10, 10]
    _, record = settle_day(scenario, state)
    assert [line.ordered_units for line in record.companies[0].products] == ordered


def test_todays_revenue_can_be_spent_on_stock() -> None:
    """Sections 1 and 5: sales (step 5) come before replenishment (step 8).

    5 x $40 = $200 of revenue, less $0 overhead: floor(200 / 26) = 7 units of A.
    """
    scenario = devoted(
        {MAINSTREAM: 5.0},
        {"capacity.tiers.0.overhead_cents": 0, "service.failure_cost_cents": 0},
    )
    state = new_world(scenario)
    firm = state.firms[0]
    firm.cash_cents, firm.stock = 0, [5, 0, 0]
    _, record = settle_day(scenario, state)
    assert record.companies[0].products[A].ordered_units == 7


def test_goods_are_bought_before_holding_is_charged() -> None:
    """Sections 1 and 5, step 8: $26 in cash buy one A; holding 400 B then costs $12 too much.

    Step 9 finds -$12: the company has spent its last cash on goods and leaves.
    """
    scenario = quiet({"capacity.tiers.0.overhead_cents": 0})
    state = new_world(scenario)
    firm = state.firms[0]
    firm.cash_cents, firm.stock = 2600, [0, 400, 0]
    after, record = settle_day(scenario, state)
    assert record.companies[0].products[A].ordered_units == 1
    assert after.firms[0].cash_cents == -1200
    assert record.companies[0].exited


@pytest.mark.parametrize(("product", "lead"), [(A, 5), (B, 7), (C, 10)])
def test_deliveries_arrive_after_the_lead_and_sell_that_day(product: int, lead: int) -> None:
    """Section 5: bought in step 8 of day 1, received in step 2 of day 1 + lead, sellable that
    day.
    """
    scenario = devoted({MAINSTREAM: 4.0})
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock = [0, 0, 0]
    firm.reorder_target = [4 if line == product else 0 for line in range(3)]
    state, record = settle_day(scenario, state)
    assert record.companies[0].products[product].ordered_units == 4
    for _, record in settle_days(scenario, state, lead):
        line = record.companies[0].products[product]
        due = record.day == 1 + lead
        assert (line.received_units, line.fulfilled_units) == ((4, 4) if due else (0, 0))


def test_deliveries_serve_the_backlog_first() -> None:
    """Sections 1 and 5: the delivery of step 2 serves yesterday's orders in step 5."""
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock = [0, 0, 0]
    firm.inbound[B] = [Shipment(1, 9), Shipment(2, 1)]
    firm.queue = [consumer_order(0, B, 12)]
    after, record = settle_day(scenario, state)
    assert record.companies[0].products[B].fulfilled_units == 9
    assert [order.units for order in after.firms[0].queue] == [3]
    assert after.firms[0].inbound[B] == [Shipment(2, 1)]


# --- holding ------------------------------------------------------------------------------------


def test_holding_is_charged_on_stock_at_the_end_of_the_day() -> None:
    """Section 5: 600 x $0.02 + 400 x 0.03 + 200 x 0.06 = $36; inbound goods cost nothing."""
    scenario = quiet()
    state = new_world(scenario)
    state.firms[0].inbound[A] = [Shipment(9, 1000)]
    _, record = settle_day(scenario, state)
    assert record.companies[0].ledger.holding_cents == 3600


def test_holding_counts_deliveries_and_reserved_units_but_not_sales() -> None:
    """Section 5: 100 C, 50 of them reserved, 30 more delivered, 20 B less 5 sold: 130 x 6 + 15 x
    3.
    """
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock, firm.reserved = [0, 20, 100], [0, 0, 50]
    firm.inbound[C] = [Shipment(1, 30)]
    firm.queue = [consumer_order(0, B, 5)]
    _, record = settle_day(scenario, state)
    assert record.companies[0].ledger.holding_cents == 825


def test_orders_keep_their_own_price() -> None:
    """Section 5: revenue is booked when units are fulfilled, at each order's agreed price."""
    scenario = quiet(PATIENT | NO_ORDERS)
    state = new_world(scenario)
    state.firms[0].queue = [
        Order(0, A, 3, 4100, segment=MAINSTREAM),
        Order(0, A, 2, 1, segment=VALUE),
        Order(0, A, 1, 0, segment=PREMIUM),
    ]
    change = decision(state, products={"A": {"price_cents": 99}})
    _, record = settle_day(scenario, state, {1: change})
    assert record.companies[0].ledger.revenue_cents == 3 * 4100 + 2
    assert [part.paid_cents for part in record.companies[0].segments] == [12_300, 0, 2]
