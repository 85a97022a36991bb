"""Money that would leave 64 bits ends a world with its reason; what is merely wild does not."""

from typing import Any, Final

import pytest

from engine.bounds import MOST_CENTS, MarketOverflow
from engine.decision import LARGEST_AMOUNT
from engine.settle import Settlement
from engine.state import WorldState
from tests.engine.worlds import (
    HELD,
    MAINSTREAM,
    A,
    ChosenLuck,
    decision,
    devoted,
    new_world,
    quiet,
    settle,
)

ALL_AT_ANY_PRICE: Final[dict[str, Any]] = {
    f"segments.{segment}.price_weight": 1e-300 for segment in range(3)
}


def at_price(price: int, units: int, horizon: int) -> Settlement:
    """A day on which mainstream customers buy ``units`` of A, whatever it costs."""
    scenario = devoted(
        {MAINSTREAM: 1000.0},
        {
            **ALL_AT_ANY_PRICE,
            "horizon_days": horizon,
            "products.0.initial_stock": 600,
            "capacity.tiers.0.units_per_day": units,
        },
    )
    state = new_world(scenario)
    return settle(scenario, state, {1: decision(state, products={"A": {"price_cents": price}})})


def test_a_day_may_bring_its_share_of_what_a_run_can_account_for() -> None:
    """2**61 cents over 512 days are 2**52 a day."""
    (record,) = at_price(2**52, 1, 512).days
    assert record.companies[0].ledger.revenue_cents == 2**52 == MOST_CENTS // 512
    with pytest.raises(MarketOverflow) as caught:
        at_price(2**51 + 1, 2, 512)
    assert caught.value.message == (
        "On day 1 company-1 took in 4,503,599,627,370,498 cents; the books of 512 days carry "
        "4,503,599,627,370,496 a day."
    )
    assert "price_weight" in caught.value.remedy


def test_all_budgets_at_their_limit_are_a_bankruptcy_like_any_other() -> None:
    """interface.md section 1: nothing caps a budget. 14 x (2**53 - 1) cents fit the books."""
    scenario = quiet()
    state = new_world(scenario)
    every: dict[str, Any] = {
        "products": {
            line: {"daily_development_budget_cents": LARGEST_AMOUNT}
            for line in scenario.product_ids
        },
        "marketing": {
            segment: dict.fromkeys(scenario.channels, LARGEST_AMOUNT)
            for segment in scenario.segment_ids
        },
        "reliability_budget_cents": LARGEST_AMOUNT,
        "support_budget_cents": LARGEST_AMOUNT,
    }
    firm = settle(scenario, state, {1: decision(state, **every)}).state.firms[0]
    assert firm.exit_day == 1
    assert firm.cash_cents == 50_000_000 - 14 * LARGEST_AMOUNT - 40_000 - HELD


def test_costs_beyond_the_books() -> None:
    """10**9 units of each product at 10**9 cents a day are 3 x 10**18 cents, more than 2**61."""
    costs = {f"products.{line}.holding_cost_cents": 10**9 for line in range(3)}
    stock = {f"products.{line}.initial_stock": 10**9 for line in range(3)}
    worthless = {f"products.{line}.liquidation_value_cents": 0 for line in range(3)}
    scenario = quiet({**costs, **stock, **worthless})
    with pytest.raises(MarketOverflow, match=r"On day 1 company-1 spent 3,000,000,000,") as caught:
        settle(scenario, new_world(scenario))
    assert "holding_cost_cents" in caught.value.remedy


def restocked(cash: int) -> WorldState:
    scenario = quiet(
        {
            "initial_cash_cents": cash,
            "products.0.purchase_cost_cents": 1,
            "products.0.liquidation_value_cents": 10**9,
        }
    )
    state = new_world(scenario)
    target: dict[str, Any] = {"products": {"A": {"reorder_target": LARGEST_AMOUNT}}}
    return settle(scenario, state, {1: decision(state, **target)}).state


def test_goods_beyond_a_score() -> None:
    """A unit that costs one cent and is worth ten million dollars: cash of 10**9 buys 10**18."""
    assert restocked(10**9).firms[0].inbound_units(A) > 9 * 10**8
    with pytest.raises(MarketOverflow, match="On day 1 company-1 has goods for ") as caught:
        restocked(10**10)
    assert "liquidation_value_cents" in caught.value.remedy


def test_a_project_of_any_luck_is_within_the_books() -> None:
    """The widest draws that a scenario may ask for, at the rarest uniform of a stream."""
    tiers = {
        f"innovation.tiers.{tier}.{name}": 1
        for tier in range(3)
        for name in ("median_days", "expected_gain_cents")
    }
    scenario = quiet({**tiers, "innovation.duration_log_sd": 4.4, "innovation.gain_log_sd": 4.4})
    state = new_world(scenario)
    luck = ChosenLuck({"innovation": 1 - 2**-53})
    settled = settle(scenario, state, {1: decision(state, innovation_tier=1)}, luck)
    (project,) = settled.state.firms[0].innovation_projects
    # e^(4.4 x 8.2095) days; the mean of the gain is corrected by e^(-4.4^2 / 2).
    assert 4.8e15 < project.due_day < 4.9e15
    assert 2.9e11 < project.gain_cents < 3.1e11
