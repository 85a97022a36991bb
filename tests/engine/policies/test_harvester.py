from typing import Any

import pytest

from engine.policies.harvester import Harvester, HarvesterParameters
from tests.engine.policies.boundaries import SCENARIO, observed, segment_budgets, settings


def harvester(**parameters: Any) -> Harvester:
    return Harvester(HarvesterParameters(**parameters))


@pytest.mark.parametrize(("day", "harvests"), [(0, False), (464, False), (465, True)])
def test_spending_stops_when_the_harvest_begins(day: int, harvests: bool) -> None:
    decision = harvester().decide(observed(day=day))
    assert set(segment_budgets(decision).values()) == {0 if harvests else 1_500}
    assert decision.reliability_budget_cents == (0 if harvests else 3_000)
    assert decision.support_budget_cents == 5_000


def test_the_harvest_draws_stock_down() -> None:
    # Demand a day of 10 of A, 5 of B; leads are 5, 7 and 10 days, cover 5 days, then none.
    targets = [
        settings(harvester().decide(observed(day=day, asked=(70, 35, 0))), "reorder_target")
        for day in (455, 469, 490, 497)
    ]
    assert targets == [
        {"A": 100, "B": 60, "C": 15},
        {"A": 50, "B": 35, "C": 0},
        {"A": 50, "B": 35, "C": 0},
        {"A": 0, "B": 0, "C": 0},
    ]


@pytest.mark.parametrize(
    ("day", "asked_for_a", "promotions"),
    [
        (478, 199, {"A": 0, "B": 0, "C": 0}),
        # Left to sell in 21 days at the last week's pace: 597 or 600 of A, 402 of B, nothing of C;
        # on hand are 600, 400 and 200. 15% of 42.40 and 143.10.
        (479, 199, {"A": 636, "B": 0, "C": 2_146}),
        (479, 200, {"A": 0, "B": 0, "C": 2_146}),
    ],
)
def test_what_would_be_left_over_is_cleared(
    day: int, asked_for_a: int, promotions: dict[str, int]
) -> None:
    decision = harvester().decide(observed(day=day, asked=(asked_for_a, 134, 0)))
    assert settings(decision, "price_cents") == {"A": 4_240, "B": 7_950, "C": 14_310}
    assert settings(decision, "promotion_cents") == promotions


def test_nothing_is_cleared_before_the_first_window() -> None:
    decision = harvester().decide(observed(SCENARIO.with_horizon(14)))
    assert settings(decision, "promotion_cents") == {"A": 0, "B": 0, "C": 0}


def test_nothing_is_cleared_below_its_liquidation_value() -> None:
    # 42.40, 79.50 and 143.10 less 82% are 7.64, 14.31 and 25.76; liquidation pays 8, 15 and 26.
    decision = harvester(clearance_percent=82).decide(observed(day=490))
    assert settings(decision, "promotion_cents") == {"A": 0, "B": 0, "C": 0}
