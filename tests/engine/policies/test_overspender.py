from typing import Any

import pytest

from engine.decision import ExpandCapacity, ResearchRequest
from engine.observation import OwnInnovation
from engine.policies.overspender import Overspender, OverspenderParameters
from tests.engine.policies.boundaries import observed, segment_budgets


def overspender(**parameters: Any) -> Overspender:
    return Overspender(OverspenderParameters(**parameters))


@pytest.mark.parametrize(
    ("cash", "tier", "project", "report"),
    [
        (50_000_000, 3, 3, 3),
        # Tier 3 costs $60,000, projects $10,000, $30,000 and $75,000, reports $1,000 to $6,000.
        (6_000_000 + 3_000_000 + 250_000, 3, 2, 2),
        (6_000_000 + 100_000, 3, None, 1),
        (5_999_999, 2, 1, 3),
        (6_000_000 + 1_000_000, 3, 1, None),
        (1_200_000, 1, None, None),
        (99_999, None, None, None),
        (0, None, None, None),
    ],
)
def test_it_buys_the_largest_of_everything_that_cash_pays_for(
    cash: int, tier: int | None, project: int | None, report: int | None
) -> None:
    decision = overspender().decide(observed(cash_cents=cash))
    assert decision.capacity == (None if tier is None else ExpandCapacity(target_tier=tier))
    assert decision.innovation_tier == project
    expected = [] if report is None else [ResearchRequest(segment_id="mainstream", level=report)]
    assert list(decision.research) == expected


def test_budgets_do_not_care_about_cash() -> None:
    rich, poor = (overspender().decide(observed(cash_cents=cash)) for cash in (50_000_000, 0))
    assert rich.products == poor.products
    assert segment_budgets(poor) == dict.fromkeys(("mainstream", "premium", "value"), 45_000)


def test_one_project_at_a_time_and_a_report_on_each_segment_in_turn() -> None:
    pending = (OwnInnovation("innovation-000", 3, 0, 150, 20_000_000),)
    decisions = [
        overspender().decide(observed(day=day, innovation_projects=pending))
        for day in (0, 7, 14, 21)
    ]
    assert [decision.innovation_tier for decision in decisions] == [None] * 4
    asked = [request.segment_id for decision in decisions for request in decision.research]
    assert asked == ["mainstream", "premium", "value", "mainstream"]
