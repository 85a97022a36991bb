"""Bankruptcy: who leaves, what ends and what stays (market.md section 9)."""

from typing import Any

import pytest

from engine.decision import InvalidDecision
from engine.scenario import Scenario, default_scenario
from engine.score import score_cents
from engine.state import Shipment, WorldState
from tests.engine.worlds import (
    HELD,
    MAINSTREAM,
    NO_ORDERS,
    VALUE,
    A,
    B,
    C,
    consumer_order,
    decision,
    devoted,
    enterprise_order,
    new_world,
    quiet,
    settle,
    settle_day,
    settle_days,
)

SCENARIO = default_scenario()


def poor(cash: int, changes: dict[str, Any] | None = None) -> tuple[Scenario, WorldState]:
    scenario = quiet(NO_ORDERS | {"service.failure_cost_cents": 0} | (changes or {}))
    state = new_world(scenario, firms=2)
    state.firms[0].cash_cents = cash
    return scenario, state


@pytest.mark.parametrize(("cash", "leaves"), [(43_600, False), (43_599, True)])
def test_cash_below_zero_at_the_end_of_the_day_is_the_end(cash: int, leaves: bool) -> None:
    """Section 9: $400 overhead and $36 holding: exactly zero stays, one cent less leaves for
    good.
    """
    scenario, state = poor(cash)
    after, record = settle_day(scenario, state)
    firm = after.firms[0]
    assert firm.active is not leaves
    assert firm.exit_day == (1 if leaves else None)
    assert firm.cash_cents == cash - 43_600 == record.companies[0].closing_cash_cents
    assert record.companies[0].exited is leaves
    assert record.public.exited_seats == ([1] if leaves else [])
    assert after.firms[1].active


def test_a_dip_between_charges_and_sales_is_no_bankruptcy() -> None:
    """Section 9: $100 in cash, $400 overhead in step 4, $1,000 of sales in step 5."""
    scenario = devoted({MAINSTREAM: 25.0}, NO_ORDERS | {"service.failure_cost_cents": 0})
    state = new_world(scenario)
    state.firms[0].cash_cents = 10_000
    after, _ = settle_day(scenario, state)
    assert after.firms[0].active
    assert after.firms[0].cash_cents == 10_000 - 40_000 + 100_000 - (HELD - 25 * 2)


def test_a_refund_counts_before_the_day() -> None:
    """Section 1: refunds come at once, before day d + 1 begins."""
    scenario, state = poor(1_200_000)
    start = decision(state, capacity={"action": "expand", "target_tier": 1})
    rich = new_world(scenario, firms=2)
    rich, _ = settle_day(scenario, rich, {1: start})
    rich.firms[0].cash_cents = 0
    stop = decision(rich, capacity={"action": "cancel", "project_id": "capacity-000"})
    after, record = settle_day(scenario, rich, {1: stop})
    assert record.companies[0].opening_cash_cents == 0
    assert after.firms[0].cash_cents == 968_572 - 43_600


def leaving_world() -> tuple[Scenario, WorldState]:
    """Company 1 leaves on day 1 with orders, reservations, deliveries and projects under way."""
    scenario, state = poor(0, {"capacity.tiers.0.units_per_day": 0})
    firm = state.firms[0]
    firm.queue = [enterprise_order(0, B, 30, 9000, due=2), consumer_order(0, A, 5)]
    firm.reserved = [0, 30, 0]
    firm.inbound[C] = [Shipment(2, 40)]
    firm.marketing_cents[VALUE] = [100, 0, 0]
    return scenario, state


def test_an_exit_ends_the_queue_without_penalties_and_keeps_the_goods() -> None:
    """Section 9: the award due on day 2 costs nothing; stock, reserved units too, and inbound stay.

    Cash: -400 - 36 - 1 dollars; Score: -43,700 + 600 x 8 + 400 x 15 + (200 + 40) x 26 dollars - V_0
    = -43,700 + 480,000 + 600,000 + 624,000 - 51,600,000 cents.
    """
    scenario, state = leaving_world()
    state, record = settle_day(scenario, state)
    firm = state.firms[0]
    assert record.companies[0].exited
    assert firm.queue == []
    assert firm.stock == [600, 400, 200]
    assert firm.inbound == [[], [], [Shipment(2, 40)]]
    assert firm.cash_cents == -43_700
    assert score_cents(scenario, firm) == -43_700 + 1_704_000 - 51_600_000
    for after, record in settle_days(scenario, state, 5):
        assert [company.seat for company in record.companies] == [2]
        assert record.public.exited_seats == []
        assert after.firms[0] == firm
        assert after.firms[1] != state.firms[1]


def test_a_company_that_left_decides_nothing_more() -> None:
    """Section 9: exit is final, even if its cash were positive again."""
    scenario, state = leaving_world()
    state, _ = settle_day(scenario, state)
    with pytest.raises(InvalidDecision, match="company-1 left the market on day 1"):
        settle_day(scenario, state, {1: decision(state, products={"A": {"price_cents": 1}})})
    state.firms[0].cash_cents = 10_000_000
    after, record = settle_day(scenario, state)
    assert not after.firms[0].active
    assert [company.seat for company in record.companies] == [2]


def test_a_company_that_left_offers_nothing_and_wins_nothing() -> None:
    """Sections 3, 6 and 9: its customers and its open bid go to the other company."""
    scenario = devoted({MAINSTREAM: 30.0}, NO_ORDERS | {"tenders.quality_margin": 0.0})
    state = new_world(scenario, firms=2, tenders=True)
    bids = {seat: decision(state, seat, bids={"tender-000": 8000 + seat}) for seat in (1, 2)}
    state.firms[0].cash_cents = 0
    state.firms[0].stock = [0, 400, 0]  # wins on quality and stock, were it there; sells no A
    state, record = settle_day(scenario, state, bids)
    assert record.public.exited_seats == [1]
    for _, record in settle_days(scenario, state, 6):
        (company,) = record.companies
        assert company.products[A].fulfilled_units == 30
    (award,) = record.public.awards
    assert (award.winner_seat, award.unit_price_cents) == (2, 8002)


def test_an_exit_inside_a_window_ends_the_companys_days() -> None:
    """Section 9: three days of overhead and holding are paid, the fourth is its last."""
    scenario = quiet(NO_ORDERS | {"window_days": 7})
    state = new_world(scenario, firms=2)
    state.firms[0].cash_cents = 3 * 43_600
    settled = settle(scenario, state)
    seats = [[company.seat for company in day.companies] for day in settled.days]
    assert seats == [[1, 2]] * 4 + [[2]] * 3
    assert settled.state.firms[0].exit_day == 4
    assert settled.state.firms[0].cash_cents == -43_600


def test_the_market_goes_on_without_companies() -> None:
    """Section 2: opportunities are not reduced after an exit, not even after the last."""
    scenario = devoted({MAINSTREAM: 30.0})
    state = new_world(scenario)
    state.firms[0].active = False
    _, record = settle_day(scenario, state)
    assert record.companies == []
    assert record.market.opportunities == [30, 0, 0]
