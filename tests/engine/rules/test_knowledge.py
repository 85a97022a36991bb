"""Development, innovation projects, knowledge and quality (market.md section 4)."""

import math
from typing import Any

import pytest

from engine.records import Completion
from engine.rules.knowledge import product_quality
from engine.scenario import default_scenario
from engine.state import WorldState
from tests.engine.worlds import (
    A,
    B,
    C,
    ChosenLuck,
    days_later,
    decision,
    new_world,
    quiet,
    settle_day,
    settle_days,
    sigmas,
)

SCENARIO = default_scenario()


@pytest.mark.parametrize(
    ("product", "knowledge", "quality"),
    [
        (A, 0.0, 0.55),
        (B, 0.0, 0.68),
        (C, 0.0, 0.82),
        # ln(1 + 50,000 / 50,000) = ln 2 = 0.6931471806; x 0.18 = 0.1247664925
        (A, 5_000_000.0, 0.6747664925),
        # ln(1 + 1/5) = 0.1823215568; x 0.18 = 0.0328178802
        (C, 1_000_000.0, 0.8528178802),
    ],
)
def test_quality(product: int, knowledge: float, quality: float) -> None:
    """Section 4: q = q0 + 0.18 ln(1 + K / $50,000)."""
    assert product_quality(SCENARIO, product, knowledge) == pytest.approx(quality, abs=1e-10)


def test_development_matures_seven_days_after_its_day() -> None:
    """Section 4: $50 spent on day 1 become 10,000 cents on day 8: 0.99955 x 10,000 = 9,995.5.

    Day 9 brings day 2's: 0.99955 (9,995.5 + 10,000) = 19,986.502025.
    """
    scenario = quiet()
    state = new_world(scenario)
    change = decision(state, products={"B": {"daily_development_budget_cents": 5000}})
    state, record = settle_day(scenario, state, {1: change})
    assert record.companies[0].ledger.development_cents == 5000
    knowledge = {1: state.firms[0].knowledge_cents}
    for after, record in settle_days(scenario, state, 8):
        knowledge[record.day] = after.firms[0].knowledge_cents
        assert record.companies[0].ledger.development_cents == 5000
    assert all(knowledge[day] == [0.0, 0.0, 0.0] for day in range(1, 8))
    assert knowledge[8] == [0.0, pytest.approx(9995.5, abs=1e-9), 0.0]
    assert knowledge[9][B] == pytest.approx(19_986.502025, abs=1e-9)


def test_knowledge_depreciates_daily_and_stays_unrounded() -> None:
    """Section 4: 10,000 cents after one and two days: 9,995.5 and 9,991.002025."""
    scenario = quiet()
    state = new_world(scenario)
    state.firms[0].knowledge_cents[C] = 10_000.0
    days = [after.firms[0].knowledge_cents[C] for after, _ in settle_days(scenario, state, 2)]
    assert days == pytest.approx([9995.5, 9991.002025], abs=1e-9)


@pytest.mark.parametrize(
    ("yield_", "budget", "matured"),
    [(2.0, 1, 2), (0.1, 1, 1), (0.1, 4, 1), (0.3, 5, 2), (0.5, 3, 2)],
)
def test_development_yields_whole_cents(yield_: float, budget: int, matured: int) -> None:
    """Section 4: max(1, round(yield x b)); 0.1 and 0.4 round to 0 but give 1, 1.5 rounds to 2."""
    scenario = quiet({"knowledge.development_yield": yield_, "knowledge.depreciation": 0.0})
    state = new_world(scenario)
    start = decision(state, products={"A": {"daily_development_budget_cents": budget}})
    state, _ = settle_day(scenario, state, {1: start})
    stop = decision(state, products={"A": {"daily_development_budget_cents": 0}})
    state, _ = settle_day(scenario, state, {1: stop})
    state = days_later(scenario, state, 8)
    assert state.firms[0].knowledge_cents[A] == matured


def started(tier: int, luck: dict[str, Any], changes: dict[str, Any] | None = None) -> WorldState:
    """The state after the day on which a project was started at boundary 0."""
    scenario = quiet(changes)
    state = new_world(scenario)
    after, record = settle_day(
        scenario, state, {1: decision(state, innovation_tier=tier)}, ChosenLuck(luck)
    )
    cost = scenario.innovation.tiers[tier - 1].cost_cents
    assert record.companies[0].ledger.projects_cents == cost
    return after


@pytest.mark.parametrize(
    ("tier", "length_luck", "gain_luck", "due", "gain"),
    [
        # 45 e^0 = 45; 2,000,000 e^(-0.02) = 1,960,397.35
        (1, 0.0, 0.0, 45, 1_960_397),
        # 45 e^0.25 = 57.78; 2,000,000 e^(-0.02 + 0.20) = 2,394,434.73
        (1, 1.0, 1.0, 58, 2_394_435),
        # 90 e^-0.25 = 70.09; 7,000,000 e^(-0.22) = 5,617,631.59
        (2, -1.0, -1.0, 70, 5_617_632),
        # 150 e^0.25 = 192.60; 20,000,000 e^(-0.02) = 19,603,973.47
        (3, 1.0, 0.0, 193, 19_603_973),
    ],
)
def test_innovation_draws_at_start(
    tier: int, length_luck: float, gain_luck: float, due: int, gain: int
) -> None:
    """Section 4: max(1, round(L e^Z)) days and max(1, round(J e^Z')) cents, drawn at the start."""
    after = started(tier, {"innovation": [sigmas(length_luck), sigmas(gain_luck)]})
    (project,) = after.firms[0].innovation_projects
    assert (project.started_day, project.due_day, project.gain_cents) == (0, due, gain)


def test_innovation_lasts_a_day_and_gains_a_cent_at_least() -> None:
    """Section 4: 1 e^-1 = 0.37 and 1 e^(-0.02 - 0.80) = 0.44 round to 0 and become 1."""
    after = started(
        1,
        {"innovation": sigmas(-4.0)},
        {"innovation.tiers.0.median_days": 1, "innovation.tiers.0.expected_gain_cents": 1},
    )
    firm = after.firms[0]
    # Due on day 1, in step 2: the gain of 1 cent is a third for each product, once depreciated.
    assert firm.innovation_projects == []
    assert firm.knowledge_cents == [pytest.approx(0.99955 / 3, rel=1e-12)] * 3


def test_innovation_completes_once_and_is_shared_by_three() -> None:
    """Section 4: on day 45 each product gets 1,960,397 / 3 cents; 0.99955 of it is 653,171.6071."""
    state = started(1, {})
    scenario = quiet()
    for after, record in settle_days(scenario, state, 45):
        firm = after.firms[0]
        if record.day < 45:
            assert firm.knowledge_cents == [0.0, 0.0, 0.0]
            assert record.companies[0].completions == []
        if record.day == 45:
            assert firm.knowledge_cents == [pytest.approx(653_171.6071166667, rel=1e-12)] * 3
            assert record.companies[0].completions == [
                Completion("innovation_project", "innovation-000", knowledge_gain_cents=1_960_397)
            ]
    assert firm.innovation_projects == []
    assert firm.knowledge_cents == [pytest.approx(0.99955 * 653_171.6071166667, rel=1e-12)] * 3


def test_innovation_and_development_mature_together() -> None:
    """Sections 1 and 4: both complete in step 2, before the day's depreciation."""
    scenario = quiet({"innovation.tiers.0.median_days": 8})
    state = new_world(scenario)
    both = decision(
        state, innovation_tier=1, products={"C": {"daily_development_budget_cents": 300}}
    )
    state, _ = settle_day(scenario, state, {1: both})
    state = days_later(scenario, state, 7)
    knowledge = state.firms[0].knowledge_cents
    assert knowledge[A] == pytest.approx(0.99955 * 1_960_397 / 3, rel=1e-13)
    assert knowledge[C] == pytest.approx(0.99955 * (1_960_397 / 3 + 600), rel=1e-13)


def test_gains_are_unbiased() -> None:
    """Section 4: Z' ~ N(-0.02, 0.04) has mean 1 after exp; over even quantiles of luck within 1
    %.
    """
    steps = 200
    total = 0
    for step in range(steps):
        luck = {"innovation": [0.5, (step + 0.5) / steps]}
        total += started(1, luck).firms[0].innovation_projects[0].gain_cents
    assert total / steps == pytest.approx(2_000_000, rel=0.01)


def test_many_projects_may_be_pending() -> None:
    """Section 4: by default there is no limit; one starts per window."""
    scenario = quiet()
    state = new_world(scenario)
    for _ in range(4):
        state, _ = settle_day(scenario, state, {1: decision(state, innovation_tier=1)})
    assert [project.due_day for project in state.firms[0].innovation_projects] == [45, 46, 47, 48]


def test_projects_are_the_companys_own_luck() -> None:
    """Section 10: project draws are keyed by seat."""
    scenario = quiet()
    state = new_world(scenario, firms=2)
    starts = {seat: decision(state, seat, innovation_tier=1) for seat in (1, 2)}
    luck = ChosenLuck({("innovation", 2): [sigmas(1.0), 0.5]})
    after, _ = settle_day(scenario, state, starts, luck)
    assert [firm.innovation_projects[0].due_day for firm in after.firms] == [45, 58]


def test_realized_quality_sells_on_the_day_of_completion() -> None:
    """Sections 1 and 4: knowledge that matures in step 2 counts in the same day's sales (step
    5).
    """
    scenario = quiet(
        {
            "segments.0.baseline_demand": 20.0,
            "segments.0.outside_utility": -690.0,
            "innovation.tiers.0.median_days": 3,
        }
    )
    state = new_world(scenario)
    state.firms[0].stock = [0, 400, 0]
    state, _ = settle_day(scenario, state, {1: decision(state, innovation_tier=1)})
    qualities = []
    for _, record in settle_days(scenario, state, 2):
        seen = record.companies[0].segments[0]
        qualities.append(seen.quality_units / seen.fulfilled_units)
    knowledge = 0.99955 * 1_960_397 / 3
    assert qualities == pytest.approx([0.68, 0.68 + 0.18 * math.log(1 + knowledge / 5e6)])
