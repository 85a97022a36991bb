"""What the characters share, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decision import LARGEST_AMOUNT
from engine.policies.bookkeeping import (
    percent_of,
    spread,
    stock_targets,
    weighted_shares,
    window_sales,
    workload_percent,
)
from engine.records import ProductDay
from tests.engine.policies.boundaries import SCENARIO, observed
from tests.engine.worlds import altered


@given(st.integers(0, LARGEST_AMOUNT), st.integers(1, 9))
def test_spreading_keeps_every_cent_and_is_even(amount: int, channels: int) -> None:
    shares = list(spread(amount, [str(number) for number in range(channels)]).values())
    assert sum(shares) == amount
    assert shares == sorted(shares, reverse=True)
    assert shares[0] - shares[-1] <= 1


@given(
    st.integers(0, LARGEST_AMOUNT),
    st.dictionaries(st.text(max_size=3), st.integers(0, 10**6), min_size=1, max_size=5),
)
def test_weighted_shares_never_exceed_the_amount(amount: int, weights: dict[str, int]) -> None:
    shares = weighted_shares(amount, weights)
    assert list(shares) == list(weights)
    assert amount - len(weights) < sum(shares.values()) <= amount


def test_weighted_shares_follow_the_weights() -> None:
    assert weighted_shares(9_000, {"a": 4, "b": 2, "c": 0}) == {"a": 6_000, "b": 3_000, "c": 0}
    assert weighted_shares(5, {"a": 0, "b": 0}) == {"a": 3, "b": 2}


def test_percentages_drop_fractions_and_stay_within_what_a_decision_may_name() -> None:
    assert percent_of(199, 50) == 99
    assert percent_of(LARGEST_AMOUNT, 101) == LARGEST_AMOUNT


def test_sales_add_up_over_the_window() -> None:
    observation = observed(day=7)
    for day in observation.elapsed[:2]:
        day.products[1] = ProductDay(
            orders=30, fulfilled_units=20, revenue_cents=150_000, cogs_cents=96_000
        )
    sales = window_sales(observation)["B"]
    assert (sales.asked, sales.fulfilled, sales.gross_profit_cents) == (60, 40, 108_000)


def test_workload_counts_unmet_demand_and_enterprise_units() -> None:
    # Capacity of the week is 7 * 60 = 420; 300 asked for + 78 delivered on a contract is 90%.
    observation = observed(day=7, asked=(300, 0, 0))
    observation.elapsed[3].products[2] = ProductDay(fulfilled_units=78, enterprise_units=78)
    sales = window_sales(observation)
    assert workload_percent(observation, sales.values()) == 90


def test_workload_without_a_past_or_without_capacity() -> None:
    fresh = observed()
    assert workload_percent(fresh, window_sales(fresh).values()) == 0
    idle = observed(day=7, units_per_day=0)
    assert workload_percent(idle, window_sales(idle).values()) == 100


@pytest.mark.parametrize(
    ("day", "targets"),
    [
        # Demand a day is 10 of A, 1 of B, 0 of C; leads are 5, 7 and 10 days, cover is 9 days.
        (7, {"A": 140, "B": 30, "C": 30}),
        # 17 days are left, 14 at mid-window: cover is not cut yet for A, and no other is above 30.
        (483, {"A": 140, "B": 30, "C": 30}),
        # 10 days are left, 7 at mid-window; C would arrive after the end.
        (490, {"A": 70, "B": 30, "C": 0}),
        (497, {"A": 0, "B": 0, "C": 0}),
    ],
)
def test_stock_targets_cover_demand_over_the_lead_time(day: int, targets: dict[str, int]) -> None:
    observation = observed(day=day, asked=(70, 7, 0))
    found = stock_targets(observation, window_sales(observation), cover_days=9, least_units=30)
    assert found == targets


def test_stock_targets_round_up() -> None:
    # 36 in a week over 5 + 5 days: 360 / 7 = 51.4.
    observation = observed(day=70, asked=(36, 0, 0))
    targets = stock_targets(observation, window_sales(observation), cover_days=5, least_units=0)
    assert targets == {"A": 52, "B": 0, "C": 0}


def test_the_last_of_long_windows_sells_for_a_day_at_least() -> None:
    # 10 days are left when 20 days are a window; demand is 2 a day.
    observation = observed(altered(SCENARIO, {"window_days": 20}), day=490, asked=(40, 0, 0))
    targets = stock_targets(observation, window_sales(observation), cover_days=9, least_units=0)
    assert targets == {"A": 2, "B": 0, "C": 0}


def test_stock_targets_stay_before_the_first_window() -> None:
    observation = observed()
    targets = stock_targets(observation, window_sales(observation), cover_days=9, least_units=30)
    assert targets == {"A": 600, "B": 400, "C": 200}
