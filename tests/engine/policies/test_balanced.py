from typing import Any

import pytest
from msgspec.structs import replace

from engine.decision import ExpandCapacity, ResearchRequest
from engine.policies.balanced import Balanced, BalancedParameters
from tests.engine.policies.boundaries import observed, segment_budgets, settings, tender

FLOOR = 10_000_000


def balanced(**parameters: Any) -> Balanced:
    return Balanced(BalancedParameters(**parameters))


@pytest.mark.parametrize(
    ("asked", "price"),
    [
        # Of 420 units a week, 90% is 378 and 60% is 252; a step is 2% of 40.00.
        (378, 4_080),
        (377, 4_000),
        (252, 4_000),
        (251, 3_920),
    ],
)
def test_prices_follow_the_workload(asked: int, price: int) -> None:
    decision = balanced().decide(observed(day=7, asked=(asked, 0, 0)))
    assert settings(decision, "price_cents")["A"] == price


@pytest.mark.parametrize(
    ("present", "asked", "price"),
    [(4_990, 420, 5_000), (3_400, 0, 3_380), (9_000, 300, 5_000), (1, 300, 3_380)],
)
def test_prices_stay_between_the_margin_and_the_ceiling(
    present: int, asked: int, price: int
) -> None:
    # 26.00 and 30% is 33.80, 125% of 40.00 is 50.00.
    observation = observed(day=7, asked=(asked, 0, 0))
    own = replace(observation.products["A"], price_cents=present)
    products = {**observation.products, "A": own}
    decision = balanced().decide(replace(observation, products=products))
    assert settings(decision, "price_cents")["A"] == price


def test_however_large_a_step_prices_keep_the_margin() -> None:
    decision = balanced(step_percent=300).decide(observed(day=7))
    assert settings(decision, "price_cents") == {"A": 3_380, "B": 6_240, "C": 11_050}


def test_prices_stay_before_the_first_window() -> None:
    decision = balanced().decide(observed())
    assert settings(decision, "price_cents") == {"A": 4_000, "B": 7_500, "C": 13_500}


@pytest.mark.parametrize(
    ("budget", "builds", "project", "reports"),
    [
        (1_200_000 + 3_000_000 + 250_000, True, 2, True),
        (1_200_000 + 3_000_000 + 249_999, True, 2, False),
        (1_200_000 + 1_000_000, True, 1, False),
        (1_200_000, True, None, False),
        (1_199_999, False, 1, False),
        (250_000, False, None, True),
        (0, False, None, False),
    ],
)
def test_commitments_share_the_budget_in_order(
    budget: int, builds: bool, project: int | None, reports: bool
) -> None:
    observation = observed(
        day=7, asked=(420, 0, 0), profit_cents=420 * 2_000, cash_cents=FLOOR + budget
    )
    decision = balanced().decide(observation)
    assert decision.capacity == (ExpandCapacity(target_tier=1) if builds else None)
    assert decision.innovation_tier == project
    expected = [ResearchRequest(segment_id="mainstream", level=2)] if reports else []
    assert list(decision.research) == expected


@pytest.mark.parametrize(("asked", "builds"), [(378, True), (377, False)])
def test_only_a_busy_company_builds(asked: int, builds: bool) -> None:
    observation = observed(day=7, asked=(asked, 0, 0), profit_cents=420 * 2_000)
    expected = ExpandCapacity(target_tier=1) if builds else None
    assert balanced().decide(observation).capacity == expected


def test_a_busy_company_does_not_build_what_does_not_pay_back() -> None:
    # Half of the 30 new units at $8 earn less than the overhead of $130.
    observation = observed(day=7, asked=(420, 0, 0), profit_cents=420 * 800)
    assert balanced().decide(observation).capacity is None


def test_it_bids_close_to_the_reservation_price() -> None:
    decision = balanced().decide(observed(tenders=(tender("B", 300),)))
    assert decision.bids == {"tender-0": 9_700}


@pytest.mark.parametrize(
    ("day", "cash", "develops", "markets"),
    [(409, FLOOR + 1, True, True), (410, FLOOR + 1, False, True), (7, FLOOR, False, False)],
)
def test_investment_ends_in_time_and_at_the_floor(
    day: int, cash: int, develops: bool, markets: bool
) -> None:
    decision = balanced().decide(observed(day=day, cash_cents=cash))
    assert set(settings(decision, "daily_development_budget_cents").values()) == {2_000 * develops}
    assert set(segment_budgets(decision).values()) == {4_000 * markets}
