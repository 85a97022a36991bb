from collections.abc import Callable
from typing import Any

import pytest

from engine.decision import CancelCapacityProject, DownsizeCapacity, ExpandCapacity
from engine.policies.growth import Growth, GrowthParameters
from engine.state import CapacityProject, WorldState
from tests.engine.policies.boundaries import SCENARIO, observed, segment_budgets, settings
from tests.engine.worlds import altered


def growth(**parameters: Any) -> Growth:
    return Growth(GrowthParameters(**parameters))


def at_tier(tier: int) -> Callable[[WorldState], None]:
    def prepare(state: WorldState) -> None:
        state.firms[0].tier = tier

    return prepare


def building(started_day: int) -> Callable[[WorldState], None]:
    def prepare(state: WorldState) -> None:
        project = CapacityProject("capacity-1", 0, 1, started_day, started_day + 21, 1_200_000)
        state.firms[0].capacity_projects.append(project)

    return prepare


def test_the_first_tier_is_built_on_trust() -> None:
    assert growth().decide(observed()).capacity == ExpandCapacity(target_tier=1)


def test_a_first_tier_that_would_come_too_late_is_not_built() -> None:
    for horizon, builds in ((22, True), (21, False)):
        observation = observed(altered(SCENARIO, {"horizon_days": horizon}))
        assert (growth().decide(observation).capacity is not None) == builds


@pytest.mark.parametrize(("asked", "builds"), [(357, True), (356, False)])
def test_it_builds_from_85_percent_of_its_capacity_on(asked: int, builds: bool) -> None:
    # 357 of 7 * 60 = 420 is 85%.
    observation = observed(day=7, asked=(asked, 0, 0), profit_cents=asked * 2_000)
    expected = ExpandCapacity(target_tier=1) if builds else None
    assert growth().decide(observation).capacity == expected


@pytest.mark.parametrize(("day", "builds"), [(408, True), (409, False)])
def test_it_builds_only_what_pays_back(day: int, builds: bool) -> None:
    # Half of the 30 new units at $20 each, less $130 of overhead: $170 a day. The $12,000 need 71
    # days of it; from day 408 + 21 there are 71 left, from day 409 + 21 only 70.
    observation = observed(day=day, asked=(420, 0, 0), profit_cents=420 * 2_000)
    expected = ExpandCapacity(target_tier=1) if builds else None
    assert growth().decide(observation).capacity == expected


def test_losses_after_the_horizon_are_no_gain() -> None:
    # Half of the 30 new units at $1 do not cover the overhead, and they come 11 days too late.
    observation = observed(day=490, asked=(420, 0, 0), profit_cents=420 * 100)
    assert growth().decide(observation).capacity is None


def test_demand_without_a_sale_is_no_reason_to_build() -> None:
    observation = observed(day=7, asked=(420, 0, 0))
    observation.elapsed[0].products[0].fulfilled_units = 0
    assert growth().decide(observation).capacity is None


@pytest.mark.parametrize(("cash", "builds"), [(11_200_000, True), (11_199_999, False)])
def test_building_leaves_the_cash_floor(cash: int, builds: bool) -> None:
    observation = observed(cash_cents=cash)
    expected = ExpandCapacity(target_tier=1) if builds else None
    assert growth().decide(observation).capacity == expected


@pytest.mark.parametrize(("asked", "cancels"), [(335, True), (336, False)])
def test_it_cancels_what_demand_does_not_ask_for(asked: int, cancels: bool) -> None:
    # 336 of 420 is 80%.
    observation = observed(day=14, asked=(asked, 0, 0), prepare=building(started_day=7))
    expected = CancelCapacityProject(project_id="capacity-1") if cancels else None
    assert growth().decide(observation).capacity == expected


def test_it_does_not_cancel_for_nothing() -> None:
    # Of $12,000, after 20 of 21 days $1,200 + $10,285.71 are used up, and $600 are kept.
    observation = observed(day=20, prepare=building(started_day=0))
    assert [quote.refund_cents for quote in observation.capacity_quotes] == [0]
    assert growth().decide(observation).capacity is None


@pytest.mark.parametrize(
    ("tier", "asked", "target"),
    [
        # Of a week's 630 units at tier 1, 36% (226.8 to 233.0) fit into 55% of tier 0's 420.
        (1, 233, 0),
        (1, 234, None),
        # Of 1,400 at tier 3, 24% (to 349) fit into 55% of tier 1's 630, but not into tier 0.
        (3, 349, 1),
        # 37% (to 531) fit into 55% of tier 2's 945 only.
        (3, 525, 2),
    ],
)
def test_it_shrinks_to_the_lowest_tier_with_room(tier: int, asked: int, target: int | None) -> None:
    observation = observed(day=14, asked=(asked, 0, 0), prepare=at_tier(tier))
    expected = None if target is None else DownsizeCapacity(target_tier=target)
    assert growth().decide(observation).capacity == expected


def test_it_shrinks_to_an_exact_fit() -> None:
    # 36% of 90 are 54% of 60.
    observation = observed(day=14, asked=(233, 0, 0), prepare=at_tier(1))
    assert growth(fit_percent=54).decide(observation).capacity is not None
    assert growth(fit_percent=53).decide(observation).capacity is None


@pytest.mark.parametrize(("cash", "shrinks"), [(10_100_000, True), (10_099_999, False)])
def test_shrinking_leaves_the_cash_floor(cash: int, shrinks: bool) -> None:
    observation = observed(day=14, prepare=at_tier(1), cash_cents=cash)
    assert (growth().decide(observation).capacity is not None) == shrinks


@pytest.mark.parametrize(("day", "shrinks"), [(483, True), (490, False)])
def test_it_shrinks_only_if_overhead_earns_the_fee(day: int, shrinks: bool) -> None:
    # $130 a day less for a fee of $1,000 that acts after 7 days: 10 days earn it, 3 do not.
    observation = observed(day=day, prepare=at_tier(1))
    expected = DownsizeCapacity(target_tier=0) if shrinks else None
    assert growth().decide(observation).capacity == expected


def test_support_grows_with_capacity() -> None:
    assert growth().decide(observed()).support_budget_cents == 6_600
    large = observed(prepare=at_tier(3))
    assert growth().decide(large).support_budget_cents == 22_000


@pytest.mark.parametrize(("cash", "spends"), [(10_000_001, True), (10_000_000, False)])
def test_marketing_and_development_stop_at_the_cash_floor(cash: int, spends: bool) -> None:
    decision = growth().decide(observed(cash_cents=cash))
    assert set(segment_budgets(decision).values()) == {5_000 * spends}
    assert set(settings(decision, "daily_development_budget_cents").values()) == {2_000 * spends}
