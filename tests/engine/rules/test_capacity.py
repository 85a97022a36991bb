"""The life of a capacity change, its quotes and its refunds (market.md section 5)."""

from typing import Any

import pytest

from engine.decision import InvalidDecision
from engine.quotes import (
    CapacityUnavailable,
    cancellation_refund,
    capacity_charge,
    capacity_delay,
)
from engine.records import Completion
from engine.rules.capacity import scheduled_capacity
from engine.scenario import Scenario, default_scenario
from engine.state import CapacityProject, WorldState
from tests.engine.worlds import (
    MAINSTREAM,
    A,
    consumer_order,
    days_later,
    decision,
    devoted,
    new_world,
    quiet,
    settle_day,
    settle_days,
)

SCENARIO = default_scenario()


def expand(tier: int) -> dict[str, Any]:
    return {"capacity": {"action": "expand", "target_tier": tier}}


def downsize(tier: int) -> dict[str, Any]:
    return {"capacity": {"action": "downsize", "target_tier": tier}}


def cancel(project_id: str) -> dict[str, Any]:
    return {"capacity": {"action": "cancel", "project_id": project_id}}


def at_tier(tier: int, scenario: Scenario = SCENARIO) -> WorldState:
    state = new_world(scenario)
    state.firms[0].tier = tier
    return state


# --- quotes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tier", "target", "charge", "delay"),
    [
        # cumulative capital $0, $12,000, $30,000, $60,000; the target's construction delay
        (0, 1, 1_200_000, 21),
        (0, 2, 3_000_000, 35),
        (0, 3, 6_000_000, 49),
        (1, 2, 1_800_000, 35),
        (1, 3, 4_800_000, 49),
        (2, 3, 3_000_000, 49),
        # $1,000 for each tier down, 7 days
        (1, 0, 100_000, 7),
        (2, 0, 200_000, 7),
        (3, 0, 300_000, 7),
        (3, 2, 100_000, 7),
    ],
)
def test_charges_and_delays(tier: int, target: int, charge: int, delay: int) -> None:
    """Section 5 with the table of section 2."""
    firm = at_tier(tier).firms[0]
    assert capacity_charge(SCENARIO, firm, target) == charge
    assert capacity_delay(SCENARIO, firm, target) == delay


@pytest.mark.parametrize("tier", range(4))
def test_no_quote_for_the_installed_or_an_unknown_tier(tier: int) -> None:
    """Section 5: there are tiers 0..3."""
    firm = at_tier(tier).firms[0]
    for target in (tier, 4, -1):
        with pytest.raises(CapacityUnavailable, match=str(target)):
            capacity_charge(SCENARIO, firm, target)


def test_one_change_at_a_time() -> None:
    """Section 5: no quote while another change is pending, up or down."""
    state = at_tier(1)
    state.firms[0].capacity_projects = [CapacityProject("p", 1, 2, 0, 35, 1_800_000)]
    for target in (0, 2, 3):
        with pytest.raises(CapacityUnavailable, match=r"p .*due on day 35.* pending"):
            capacity_charge(SCENARIO, state.firms[0], target)


# --- expansion ----------------------------------------------------------------------------------


def test_expansion_acts_in_step_2_of_its_due_day() -> None:
    """Sections 1 and 5: decided at boundary 0, $12,000 at once, 90 units a day from day 21 on."""
    scenario = devoted({MAINSTREAM: 100.0}, {"products.0.initial_stock": 100_000})
    state = new_world(scenario)
    state, record = settle_day(scenario, state, {1: decision(state, **expand(1))})
    first = record.companies[0]
    assert first.ledger.capacity_cents == 1_200_000
    assert state.firms[0].capacity_projects == [
        CapacityProject("capacity-000", 0, 1, 0, 21, 1_200_000, "pending")
    ]
    sold = {1: first.fulfilled_units}
    for _, record in settle_days(scenario, state, 21):
        company = record.companies[0]
        sold[record.day] = company.fulfilled_units
        assert company.capacity_units == (60 if record.day < 21 else 90)
        assert company.ledger.overhead_cents == (40_000 if record.day < 21 else 53_000)
        assert company.ledger.capacity_cents == 0
        done = [Completion("capacity_project", "capacity-000", tier=1)]
        assert company.completions == (done if record.day == 21 else [])
    assert sold == {day: 60 if day < 21 else 90 for day in range(1, 23)}
    later = days_later(scenario, state, 21)
    assert later.firms[0].capacity_projects[0].status == "completed"


def test_a_new_change_may_follow_a_completed_one() -> None:
    """Section 5: the second expansion pays only the difference from the installed tier."""
    scenario = quiet({"capacity.tiers.1.construction_days": 1})
    state = new_world(scenario)
    state, _ = settle_day(scenario, state, {1: decision(state, **expand(1))})
    state, record = settle_day(scenario, state, {1: decision(state, **expand(3))})
    assert record.companies[0].ledger.capacity_cents == 4_800_000
    assert [project.due_day for project in state.firms[0].capacity_projects] == [1, 50]


# --- downsizing ---------------------------------------------------------------------------------


def test_downsizing_acts_seven_days_later_and_cancels_no_order() -> None:
    """Section 5: from tier 2 to 0 at boundary 0: $2,000, 60 units a day from day 7; orders stay."""
    scenario = quiet({"initial_capacity_tier": 2, "service.abandonment": 0.0})
    state = new_world(scenario)
    state.firms[0].stock = [0, 0, 0]
    state.firms[0].reorder_target = [0, 0, 0]
    state.firms[0].queue = [consumer_order(0, A, 120)]
    state, record = settle_day(scenario, state, {1: decision(state, **downsize(0))})
    assert record.companies[0].ledger.capacity_cents == 200_000
    for _, record in settle_days(scenario, state, 7):
        company = record.companies[0]
        assert company.capacity_units == (135 if record.day < 7 else 60)
        assert company.ledger.overhead_cents == (73_000 if record.day < 7 else 40_000)
        assert company.ledger.refunds_cents == 0
        assert company.queued_units == 120
    assert days_later(scenario, state, 7).firms[0].tier == 0


# --- cancellation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prepaid", "length", "elapsed", "refund"),
    [
        # P = 1,200,000: A = 120,000, retained 60,000.
        # e = 0: I = 120,000; 1,200,000 - 120,000 - 60,000
        (1_200_000, 21, 0, 1_020_000),
        # e = 7 of 21: I = 120,000 + 1,080,000 / 3 = 480,000
        (1_200_000, 21, 7, 660_000),
        # e = 14: I = 120,000 + 720,000 = 840,000
        (1_200_000, 21, 14, 300_000),
        # e = 20: I = 120,000 + floor(1,028,571.4) = 1,148,571; 1,200,000 - I - 60,000 < 0
        (1_200_000, 21, 20, 0),
        # P = 6,000,000, e = 42 of 49: I = 600,000 + floor(4,628,571.4) = 5,228,571
        (6_000_000, 49, 42, 471_429),
        # P = 4,800,000, e = 28 of 49: I = 480,000 + floor(2,468,571.4); retained 240,000
        (4_800_000, 49, 28, 1_611_429),
        # P = 12,345: A = 1,234 of 1,234.5; I = 1,234 + 529 of 11,111 / 21; retained 617 of 617.25
        (12_345, 21, 1, 9_965),
        # A one-cent project: A = 0, I = 0 + floor(1 x 5 / 6) = 0, nothing retained
        (1, 6, 5, 1),
        (0, 6, 5, 0),
    ],
)
def test_refund_of_an_unfinished_expansion(
    prepaid: int, length: int, elapsed: int, refund: int
) -> None:
    """Section 5: A = floor(0.10 P), I = A + floor((P - A) e / L), [P - I - floor(0.05 P)]+ ."""
    firm = at_tier(0).firms[0]
    firm.capacity_projects = [CapacityProject("p", 0, 1, 70, 70 + length, prepaid)]
    assert cancellation_refund(SCENARIO, firm, "p", 70 + elapsed) == refund


@pytest.mark.parametrize("day", [21, 22])
def test_a_due_project_cannot_be_canceled(day: int) -> None:
    """Section 5: only before the due day."""
    firm = at_tier(0).firms[0]
    firm.capacity_projects = [CapacityProject("p", 0, 1, 0, 21, 1_200_000)]
    assert cancellation_refund(SCENARIO, firm, "p", 20) == 0
    with pytest.raises(CapacityUnavailable, match="due on day 21"):
        cancellation_refund(SCENARIO, firm, "p", day)


def test_finished_and_downsizing_projects_cannot_be_canceled() -> None:
    """Section 5."""
    firm = at_tier(1).firms[0]
    firm.capacity_projects = [
        CapacityProject("done", 0, 1, 0, 21, 1_200_000, "completed"),
        CapacityProject("down", 1, 0, 28, 35, 0),
    ]
    with pytest.raises(CapacityUnavailable, match="done"):
        cancellation_refund(SCENARIO, firm, "done", 28)
    with pytest.raises(CapacityUnavailable, match=r"down.*downsizing"):
        cancellation_refund(SCENARIO, firm, "down", 30)
    with pytest.raises(CapacityUnavailable, match=r"'other'; known: \['done', 'down'\]"):
        cancellation_refund(SCENARIO, firm, "other", 30)


def canceled_world() -> tuple[Scenario, WorldState]:
    """An expansion placed at boundary 0 and canceled at boundary 1: I = 120,000 + 1,080,000 /
    21.
    """
    scenario = quiet()
    state = new_world(scenario)
    state, _ = settle_day(scenario, state, {1: decision(state, **expand(1))})
    state, record = settle_day(scenario, state, {1: decision(state, **cancel("capacity-000"))})
    # floor(1,080,000 / 21) = 51,428; 1,200,000 - 171,428 - 60,000 = 968,572
    assert record.companies[0].ledger.refunds_cents == 968_572
    assert record.companies[0].ledger.capacity_cents == 0
    return scenario, state


def test_a_canceled_project_never_completes() -> None:
    """Section 5: the tier stays at 0 past day 21."""
    scenario, state = canceled_world()
    for after, record in settle_days(scenario, state, 25):
        assert record.companies[0].capacity_units == 60
        assert record.companies[0].completions == []
        assert after.firms[0].tier == 0
        assert after.firms[0].capacity_projects[0].status == "canceled"


def test_a_second_cancel_refunds_nothing() -> None:
    """Section 5: also after the day on which the project would have been due."""
    scenario, state = canceled_world()
    again = decision(state, **cancel("capacity-000"))
    _, record = settle_day(scenario, state, {1: again})
    assert record.companies[0].ledger.refunds_cents == 0
    assert cancellation_refund(scenario, state.firms[0], "capacity-000", 200) == 0


def test_a_new_change_may_follow_a_canceled_one() -> None:
    """Section 5: nothing is pending any more; the full difference is charged again."""
    scenario, state = canceled_world()
    state, record = settle_day(scenario, state, {1: decision(state, **expand(2))})
    assert record.companies[0].ledger.capacity_cents == 3_000_000
    assert [project.project_id for project in state.firms[0].capacity_projects] == [
        "capacity-000",
        "capacity-002",
    ]


def test_the_settlement_refuses_what_the_quote_refuses() -> None:
    """Section 5: the quote and the settlement run the same code."""
    scenario = quiet()
    state = new_world(scenario)
    state, _ = settle_day(scenario, state, {1: decision(state, **expand(1))})
    for change in (expand(2), expand(1), cancel("capacity-001")):
        with pytest.raises(InvalidDecision):
            settle_day(scenario, state, {1: decision(state, **change)})


# --- capacity ahead -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("due", "units"),
    [
        (None, 7 * 60),
        (8, 7 * 90),  # from the first day on
        (10, 2 * 60 + 5 * 90),
        (14, 6 * 60 + 90),  # the last day only
        (15, 7 * 60),  # too late
    ],
)
def test_scheduled_capacity_includes_the_pending_change(due: int | None, units: int) -> None:
    """Section 6: the capacity of days 8..14, a change acts from its due day on."""
    firm = at_tier(0).firms[0]
    if due is not None:
        firm.capacity_projects = [CapacityProject("p", 0, 1, 0, due, 1)]
    assert scheduled_capacity(SCENARIO, firm, 8, 14) == units


def test_scheduled_capacity_falls_with_a_downsizing_and_ignores_ended_projects() -> None:
    """Section 6: days 8..14, down to 60 from day 12: 4 x 90 + 3 x 60; ended projects do not
    count.
    """
    firm = at_tier(1).firms[0]
    firm.capacity_projects = [CapacityProject("p", 1, 3, 0, 10, 1, "canceled")]
    assert scheduled_capacity(SCENARIO, firm, 8, 14) == 7 * 90
    firm.capacity_projects = [CapacityProject("p", 0, 1, 0, 5, 1, "completed")]
    assert scheduled_capacity(SCENARIO, firm, 8, 14) == 7 * 90
    firm.capacity_projects.append(CapacityProject("q", 1, 0, 5, 12, 0))
    assert scheduled_capacity(SCENARIO, firm, 8, 14) == 4 * 90 + 3 * 60
