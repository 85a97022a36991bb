from typing import Any

import pytest
from msgspec.structs import replace

from engine.observation import Observation, OwnInnovation
from engine.policies.quality_leader import QualityLeader, QualityLeaderParameters
from tests.engine.policies.boundaries import observed, segment_budgets, settings

FLOOR = 12_000_000


def leader(**parameters: Any) -> QualityLeader:
    return QualityLeader(QualityLeaderParameters(**parameters))


def with_quality_of_c(quality: float) -> Observation:
    observation = observed()
    better = replace(observation.products["C"], quality=quality)
    return replace(observation, products={**observation.products, "C": better})


def test_its_price_follows_its_quality() -> None:
    assert settings(leader().decide(observed()), "price_cents") == {
        "A": 4_320,
        "B": 8_100,
        "C": 14_580,
    }
    # 0.99 is 20.7% better than 0.82: 20 full percent, 0.6% of 145.80 for each.
    better = leader().decide(with_quality_of_c(0.99))
    assert settings(better, "price_cents")["C"] == 14_580 + 1_749


@pytest.mark.parametrize(
    ("day", "budget", "tier"),
    [
        (0, 7_500_000, 3),
        (0, 7_499_999, 2),
        (0, 999_999, None),
        # Twice the medians of 150, 90 and 45 days, before the horizon of 500.
        (200, 7_500_000, 3),
        (201, 7_500_000, 2),
        (320, 7_500_000, 2),
        (321, 7_500_000, 1),
        (410, 7_500_000, 1),
        (411, 7_500_000, None),
    ],
)
def test_it_starts_the_largest_project_that_money_and_time_allow(
    day: int, budget: int, tier: int | None
) -> None:
    assert leader().decide(observed(day=day, cash_cents=FLOOR + budget)).innovation_tier == tier


def test_one_project_at_a_time() -> None:
    pending = (OwnInnovation("innovation-000", 1, 0, 45, 2_000_000),)
    assert leader().decide(observed(innovation_projects=pending)).innovation_tier is None


@pytest.mark.parametrize(
    ("day", "cash", "develops", "markets"),
    [
        (409, FLOOR + 1, True, True),
        (410, FLOOR + 1, False, True),
        (406, FLOOR, False, False),
    ],
)
def test_investment_ends_in_time_and_at_the_floor(
    day: int, cash: int, develops: bool, markets: bool
) -> None:
    decision = leader().decide(observed(day=day, cash_cents=cash))
    assert set(settings(decision, "daily_development_budget_cents").values()) == {4_000 * develops}
    assert set(segment_budgets(decision).values()) == {4_000 * markets}
