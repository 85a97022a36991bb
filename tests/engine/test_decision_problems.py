"""Every reason why a world does not allow a decision (interface.md section 2)."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.decision import (
    CompanyDecision,
    InvalidDecision,
    decision_problems,
    one_time_charges,
    validate_decision,
)
from engine.scenario import Scenario, default_scenario
from engine.state import CapacityProject, FirmState, InnovationProject, WorldState
from tests.engine.worlds import altered, decision, new_world

SCENARIO = default_scenario()


# --- what the world does not allow --------------------------------------------------------------


def as_it_is(firm: FirmState) -> None:
    """No preparation."""
    del firm


def problems(
    change: dict[str, Any],
    prepare: Callable[[FirmState], None] = as_it_is,
    *,
    scenario: Scenario = SCENARIO,
    seat: int = 1,
) -> list[str]:
    state = new_world(scenario, firms=2, tenders=True)
    prepare(state.firms[0])
    full = {"company_id": "company-1", "world_version": 0} | change
    return list(decision_problems(scenario, state, seat, CompanyDecision.model_validate(full)))


def promoted(firm: FirmState) -> None:
    firm.promotion_cents = [1000, 0, 0]


def building(firm: FirmState) -> None:
    firm.capacity_projects = [CapacityProject("capacity-000", 0, 2, 0, 35, 3_000_000)]


def shrinking(firm: FirmState) -> None:
    firm.tier = 2
    firm.capacity_projects = [CapacityProject("capacity-007", 2, 1, 0, 7, 0)]


def built(firm: FirmState) -> None:
    firm.tier = 1
    firm.capacity_projects = [CapacityProject("capacity-000", 0, 1, 0, 21, 1_200_000, "completed")]


def at_top(firm: FirmState) -> None:
    firm.tier = 3


@pytest.mark.parametrize(
    ("change", "prepare", "expected"),
    [
        (
            {"company_id": "company-2"},
            None,
            "company_id: must be 'company-1', received 'company-2'",
        ),
        ({"world_version": 1}, None, "world_version: must be 0, received 1"),
        (
            {"products": {"D": {"price_cents": 1}}},
            None,
            "products: must be one of ['A', 'B', 'C'], received 'D'",
        ),
        # promotion against the new price, the standing price, and a standing promotion
        (
            {"products": {"A": {"price_cents": 500, "promotion_cents": 501}}},
            None,
            (
                "products.A.promotion_cents: must be 0..500 (the list price after this decision), "
                "received 501"
            ),
        ),
        (
            {"products": {"B": {"promotion_cents": 7501}}},
            None,
            (
                "products.B.promotion_cents: must be 0..7500 (the list price after this decision), "
                "received 7501"
            ),
        ),
        (
            {"products": {"A": {"price_cents": 999}}},
            promoted,
            (
                "products.A.promotion_cents: must be 0..999 (the list price after this decision), "
                "received 1000"
            ),
        ),
        (
            {"marketing": {"rich": {"search": 1}}},
            None,
            (
                "marketing.segment_id: must be one of ['mainstream', 'premium', 'value'], "
                "received 'rich'"
            ),
        ),
        (
            {"marketing": {"value": {"radio": 1}}},
            None,
            (
                "marketing.value.channel: must be one of ['affiliate', 'display', 'search'], "
                "received 'radio'"
            ),
        ),
        ({"innovation_tier": 4}, None, "innovation_tier: must be 1..3, received 4"),
        (
            {"capacity": {"action": "expand", "target_tier": 4}},
            None,
            "capacity.target_tier: must be 1..3, received 4",
        ),
        (
            {"capacity": {"action": "expand", "target_tier": 0}},
            None,
            "capacity.target_tier: must be 1..3, received 0",
        ),
        (
            {"capacity": {"action": "expand", "target_tier": 2}},
            at_top,
            "capacity.target_tier: tier 3 is installed and is the highest there is, received 2",
        ),
        (
            {"capacity": {"action": "downsize", "target_tier": 7}},
            None,
            "capacity.target_tier: tier 0 is installed and is the lowest there is, received 7",
        ),
        (
            {"capacity": {"action": "downsize", "target_tier": 3}},
            at_top,
            "capacity.target_tier: must be 0..2, received 3",
        ),
        (
            {"capacity": {"action": "expand", "target_tier": 3}},
            building,
            (
                "capacity.target_tier: capacity-000 (to tier 2, due on day 35) is still pending, "
                "received 3"
            ),
        ),
        (
            {"capacity": {"action": "downsize", "target_tier": 0}},
            shrinking,
            (
                "capacity.target_tier: capacity-007 (to tier 1, due on day 7) is still pending, "
                "received 0"
            ),
        ),
        (
            {"capacity": {"action": "cancel", "project_id": "capacity-001"}},
            building,
            (
                "capacity.project_id: there is no capacity project 'capacity-001'; "
                "known: ['capacity-000']"
            ),
        ),
        (
            {"capacity": {"action": "cancel", "project_id": "capacity-000"}},
            None,
            "capacity.project_id: there is no capacity project 'capacity-000'; known: none",
        ),
        (
            {"capacity": {"action": "cancel", "project_id": "capacity-007"}},
            shrinking,
            "capacity.project_id: capacity-007 is a downsizing and cannot be canceled",
        ),
        (
            {"capacity": {"action": "cancel", "project_id": "capacity-000"}},
            built,
            "capacity.project_id: capacity-000 was due on day 21 and cannot be canceled",
        ),
        (
            {"bids": {"tender-014": 1}},
            None,
            "bids: 'tender-014' is not open; open tenders: ['tender-000']",
        ),
        (
            {"research": ({"segment_id": "rich", "level": 1},)},
            None,
            (
                "research[1].segment_id: must be one of ['mainstream', 'premium', 'value'], "
                "received 'rich'"
            ),
        ),
        (
            {
                "research": (
                    {"segment_id": "value", "level": 1},
                    {"segment_id": "value", "level": 6},
                )
            },
            None,
            "research[2].level: must be 1..5, received 6",
        ),
    ],
)
def test_each_problem_names_field_range_and_received_value(
    change: dict[str, Any], prepare: Callable[[FirmState], None] | None, expected: str
) -> None:
    assert problems(change, prepare or as_it_is) == [expected]


@pytest.mark.parametrize("seat", [0, 3, -1])
def test_unknown_seats(seat: int) -> None:
    assert problems({}, seat=seat) == [f"seat: must be 1..2, received {seat}"]


def test_departed_companies_decide_nothing() -> None:
    def leave(firm: FirmState) -> None:
        firm.active, firm.exit_day = False, 12

    assert problems({}, leave) == ["company_id: company-1 left the market on day 12"]


def test_pending_projects_may_be_limited() -> None:
    """market.md section 4: how many projects may be pending at once is scenario data."""
    limited = altered(SCENARIO, {"innovation.max_pending": 1})

    def one(firm: FirmState) -> None:
        firm.innovation_projects = [InnovationProject("innovation-000", 1, 0, 45, 1)]

    assert problems({"innovation_tier": 1}, scenario=limited) == []
    assert problems({"innovation_tier": 1}, one, scenario=limited) == [
        "innovation_tier: none can start while 1 of at most 1 are pending, received 1"
    ]
    assert problems({"innovation_tier": 1}, one) == []


def test_all_problems_are_told_at_once() -> None:
    found = problems(
        {
            "products": {"D": {}},
            "innovation_tier": 9,
            "bids": {"nothing": 1},
            "capacity": {"action": "expand", "target_tier": 0},
        }
    )
    assert [problem.split(":")[0] for problem in found] == [
        "products",
        "innovation_tier",
        "capacity.target_tier",
        "bids",
    ]


def test_the_exception_carries_company_and_problems() -> None:
    state = new_world(SCENARIO)
    change = decision(state, innovation_tier=7)
    with pytest.raises(InvalidDecision) as caught:
        validate_decision(SCENARIO, state, 1, change)
    assert caught.value.company == "company-1"
    assert caught.value.problems == ["innovation_tier: must be 1..3, received 7"]
    assert str(caught.value) == "company-1: innovation_tier: must be 1..3, received 7"


def test_bids_know_no_price_limit() -> None:
    """A bid above the reservation price is legal, it just cannot qualify; so is a bid of zero."""
    for price in (0, 9_999_999):
        assert problems({"bids": {"tender-000": price}}) == []


# --- affordability ------------------------------------------------------------------------------

# $10,000 + $12,000 + $1,000 + $2,500
EVERYTHING: dict[str, Any] = {
    "innovation_tier": 1,
    "capacity": {"action": "expand", "target_tier": 1},
    "research": ({"segment_id": "value", "level": 1}, {"segment_id": "premium", "level": 2}),
}


def with_cash(cents: int) -> Callable[[FirmState], None]:
    def prepare(firm: FirmState) -> None:
        firm.cash_cents = cents

    return prepare


def test_commitments_together_must_fit_the_cash() -> None:
    """Interface section 2: exactly affordable is fine, one cent less is refused."""
    assert problems(EVERYTHING, with_cash(2_550_000)) == []
    assert problems(EVERYTHING, with_cash(2_549_999)) == [
        (
            "one-time commitments of 2550000 cents exceed cash of 2549999 cents plus a refund of "
            "0 cents: 1 cents short"
        )
    ]


@pytest.mark.parametrize(("cash", "short"), [(450_000, 0), (449_999, 1), (0, 450_000)])
def test_the_refund_of_the_same_draft_counts(cash: int, short: int) -> None:
    """Interface section 2: a project of $30,000, an expansion of $30,000 canceled on its first day.

    The refund is 3,000,000 - 300,000 - 150,000 = 2,550,000 cents, so 450,000 of cash are needed.
    """
    change = {
        "capacity": {"action": "cancel", "project_id": "capacity-000"},
        "innovation_tier": 2,
    }

    def prepare(firm: FirmState) -> None:
        building(firm)
        firm.cash_cents = cash

    expected = [
        (
            f"one-time commitments of 3000000 cents exceed cash of {cash} cents plus a refund of "
            f"2550000 cents: {short} cents short"
        )
    ]
    assert problems(change, prepare) == (expected if short else [])


def test_a_company_without_cash_may_still_decide() -> None:
    """The check covers one-time commitments only: standing budgets and bids cost nothing now."""
    change = {
        "products": {"A": {"daily_development_budget_cents": 10**9}},
        "marketing": {"value": {"search": 10**9}},
        "bids": {"tender-000": 0},
    }
    assert problems(change, with_cash(0)) == []
    assert problems({"research": ({"segment_id": "value", "level": 1},)}, with_cash(99_999)) == [
        (
            "one-time commitments of 100000 cents exceed cash of 99999 cents plus a refund of "
            "0 cents: 1 cents short"
        )
    ]


def test_charges_and_refund_of_a_draft() -> None:
    """The same numbers as in the ledger: $25,500 of charges; a cancellation's refund apart."""
    state: WorldState = new_world(SCENARIO)
    assert one_time_charges(SCENARIO, state.firms[0], decision(state, **EVERYTHING)) == (
        2_550_000,
        0,
    )
    building(state.firms[0])
    stop = decision(
        state, capacity={"action": "cancel", "project_id": "capacity-000"}, innovation_tier=3
    )
    assert one_time_charges(SCENARIO, state.firms[0], stop) == (7_500_000, 2_550_000)
    state.firms[0].capacity_projects = []
    state.firms[0].tier = 3
    shrink = decision(state, capacity={"action": "downsize", "target_tier": 1})
    assert one_time_charges(SCENARIO, state.firms[0], shrink) == (200_000, 0)


def test_the_refund_depends_on_the_boundary() -> None:
    """e counts from the start to the boundary of the decision: 14 of 35 days at world version 2.

    P = 3,000,000: I = 300,000 + 2,700,000 x 14/35 = 1,380,000; 3,000,000 - 1,380,000 - 150,000.
    """
    state = new_world(SCENARIO)
    building(state.firms[0])
    state.day, state.version = 14, 2
    stop = decision(state, capacity={"action": "cancel", "project_id": "capacity-000"})
    assert one_time_charges(SCENARIO, state.firms[0], stop) == (0, 1_470_000)
