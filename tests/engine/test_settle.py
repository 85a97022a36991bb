"""The order of the day, one-offs, the ledger (market.md sections 1 and 9)."""

import pytest

from engine.decision import InvalidDecision
from engine.records import ActionReceipt, Ledger
from engine.scenario import default_scenario
from engine.settle import initial_state, settle_window
from engine.state import encode_state
from engine.streams import Streams
from tests.engine.worlds import (
    HELD,
    NO_ORDERS,
    A,
    B,
    C,
    consumer_order,
    decision,
    enterprise_order,
    new_world,
    quiet,
    settle,
    settle_day,
)

SCENARIO = default_scenario()


# --- time ---------------------------------------------------------------------------------------


def test_500_days_are_72_windows() -> None:
    """Section 1: 71 windows of seven days and one of three; day 500 is the last."""
    streams = Streams(1)
    state = initial_state(SCENARIO, streams, 1)
    lengths = []
    while state.day < 500:
        settled = settle_window(SCENARIO, streams, state, {})
        assert [day.day for day in settled.days] == list(
            range(state.day + 1, settled.state.day + 1)
        )
        state = settled.state
        lengths.append(len(settled.days))
        assert state.version == len(lengths)
    assert lengths == [7] * 71 + [3]
    assert SCENARIO.windows == 72


def test_initial_state() -> None:
    """Section 2, last paragraph: every number of the start."""
    state = initial_state(SCENARIO, Streams(1), 8)
    assert (state.day, state.version, len(state.firms)) == (0, 0, 8)
    for firm in state.firms:
        assert firm.cash_cents == 50_000_000
        assert firm.tier == 0
        assert firm.price_cents == [4000, 7500, 13_500]
        assert firm.promotion_cents == [0, 0, 0]
        assert firm.stock == firm.reorder_target == [600, 400, 200]
        assert firm.development_cents == [0, 0, 0]
        assert firm.marketing_cents == [[0, 0, 0]] * 3
        assert (firm.reliability_cents, firm.support_cents, firm.support_queue) == (0, 0, 0)
        assert firm.satisfaction == firm.loyalty == firm.knowledge_cents == [0.0, 0.0, 0.0]
        assert not (firm.queue)
        assert not (firm.maturing)
        assert not (firm.capacity_projects)
        assert not (firm.innovation_projects)
        assert not (firm.pending_reports)
        assert firm.inbound == [[], [], []]
        assert firm.reserved == [0, 0, 0]
        assert firm.active


def test_a_world_needs_a_company() -> None:
    with pytest.raises(ValueError, match="at least one company, got 0"):
        initial_state(SCENARIO, Streams(1), 0)


def test_the_state_that_is_handed_in_stays_as_it_is() -> None:
    streams = Streams(1)
    state = initial_state(SCENARIO, streams, 3)
    before = encode_state(state)
    change = decision(
        state,
        products={"A": {"price_cents": 1}},
        marketing={"value": {"search": 5}},
        innovation_tier=1,
        bids={"tender-000": 4000},
    )
    settle_window(SCENARIO, streams, state, {1: change})
    assert encode_state(state) == before


# --- standing policies and one-offs -------------------------------------------------------------


def test_settings_stand_until_they_are_changed() -> None:
    """Section 1: a decision sets standing policies; what it leaves out keeps its value."""
    scenario = quiet()
    state = new_world(scenario)
    first = decision(
        state,
        products={
            "A": {"price_cents": 5000, "promotion_cents": 500},
            "C": {"reorder_target": 7, "daily_development_budget_cents": 9},
        },
        marketing={"premium": {"display": 11, "search": 12}},
        reliability_budget_cents=13,
        support_budget_cents=14,
    )
    state, record = settle_day(scenario, state, {1: first})
    firm = state.firms[0]
    assert firm.price_cents == [5000, 7500, 13_500]
    assert firm.promotion_cents == [500, 0, 0]
    assert firm.reorder_target == [600, 400, 7]
    assert firm.development_cents == [0, 0, 9]
    assert firm.marketing_cents == [[0, 0, 0], [0, 11, 12], [0, 0, 0]]
    assert (firm.reliability_cents, firm.support_cents) == (13, 14)
    second = decision(state, products={"A": {"promotion_cents": 0}}, support_budget_cents=0)
    state, record = settle_day(scenario, state, {1: second})
    firm = state.firms[0]
    assert firm.price_cents == [5000, 7500, 13_500]
    assert firm.promotion_cents == [0, 0, 0]
    assert firm.marketing_cents == [[0, 0, 0], [0, 11, 12], [0, 0, 0]]
    assert (firm.reliability_cents, firm.support_cents) == (13, 0)
    assert record.companies[0].ledger == Ledger(
        marketing_cents=23,
        development_cents=9,
        reliability_cents=13,
        overhead_cents=40_000,
        holding_cents=HELD,
    )


def test_standing_policies_are_charged_before_anything_is_sold() -> None:
    """Section 1, step 4: $400 of overhead and the budgets of all kinds, on a day without sales."""
    scenario = quiet()
    state = new_world(scenario)
    change = decision(
        state,
        products={name: {"daily_development_budget_cents": 100} for name in "ABC"},
        marketing={"value": {"search": 200, "affiliate": 300}},
        reliability_budget_cents=400,
        support_budget_cents=500,
    )
    _, record = settle_day(scenario, state, {1: change})
    company = record.companies[0]
    assert company.ledger == Ledger(
        marketing_cents=500,
        development_cents=300,
        reliability_cents=400,
        support_cents=500,
        overhead_cents=40_000,
        holding_cents=HELD,
    )
    assert company.closing_cash_cents == 50_000_000 - 41_700 - HELD


def test_one_offs_are_booked_the_next_day_with_the_cash_before_the_decision() -> None:
    """Sections 1 and 9: $10,000 project, $12,000 capacity, $1,000 research, in the ledger of day 1.

    Opening cash is the cash before the decision; the second day has none of it.
    """
    scenario = quiet({"window_days": 2})
    state = new_world(scenario)
    change = decision(
        state,
        innovation_tier=1,
        capacity={"action": "expand", "target_tier": 1},
        research=({"segment_id": "value", "level": 1},),
    )
    settled = settle(scenario, state, {1: change})
    first, second = (day.companies[0] for day in settled.days)
    assert first.opening_cash_cents == 50_000_000
    assert first.ledger == Ledger(
        projects_cents=1_000_000,
        capacity_cents=1_200_000,
        research_cents=100_000,
        overhead_cents=40_000,
        holding_cents=HELD,
    )
    assert first.closing_cash_cents == 50_000_000 - 2_300_000 - 40_000 - HELD
    assert second.opening_cash_cents == first.closing_cash_cents
    assert second.ledger == Ledger(overhead_cents=40_000, holding_cents=HELD)
    assert settled.receipts[1] == [
        ActionReceipt("innovation_project", "innovation-000", 0, 1_000_000, 0, "applied", 0),
        ActionReceipt("capacity_expansion", "capacity-000", 0, 1_200_000, 0, "applied", 21),
        ActionReceipt("market_research", "report-000-1", 0, 100_000, 0, "applied", 2),
    ]


def test_receipts_of_the_other_actions() -> None:
    """Interface section 2: the actual charge, refund, outcome and effective date."""
    scenario = quiet({"initial_capacity_tier": 2})
    state = new_world(scenario, tenders=True)
    change = decision(
        state, capacity={"action": "downsize", "target_tier": 0}, bids={"tender-000": 5}
    )
    assert settle(scenario, state, {1: change}).receipts[1] == [
        ActionReceipt("capacity_downsizing", "capacity-000", 0, 200_000, 0, "applied", 7),
        ActionReceipt("enterprise_bid", "tender-000", 0, 0, 0, "applied", 7),
    ]
    expansion = decision(state, capacity={"action": "expand", "target_tier": 3})
    state, _ = settle_day(scenario, state, {1: expansion})
    stop = decision(state, capacity={"action": "cancel", "project_id": "capacity-000"})
    # P = 3,000,000 and e = 1 of 49 days: I = 300,000 + floor(55,102.04); 150,000 are retained.
    assert settle(scenario, state, {1: stop}).receipts[1] == [
        ActionReceipt("capacity_cancellation", "capacity-000", 1, 0, 2_494_898, "applied", 1),
    ]


def test_only_deciding_companies_have_receipts() -> None:
    """An empty decision is a deliberate hold with no actions; None is no decision at all."""
    scenario = quiet()
    state = new_world(scenario, firms=3)
    settled = settle(scenario, state, {1: decision(state), 2: None})
    assert settled.receipts == {1: []}


def test_a_decision_that_the_world_does_not_allow_settles_nothing() -> None:
    scenario = quiet()
    state = new_world(scenario, firms=2)
    good = decision(state, 1, innovation_tier=1)
    bad = decision(state, 2, innovation_tier=4)
    before = encode_state(state)
    with pytest.raises(InvalidDecision, match=r"company-2: innovation_tier: must be 1\.\.3"):
        settle(scenario, state, {1: good, 2: bad})
    assert encode_state(state) == before


def test_decisions_are_enacted_in_seat_order() -> None:
    """Whatever the order of the mapping: of two faulty decisions the lower seat's is told."""
    scenario = quiet()
    state = new_world(scenario, firms=3)
    faulty = {seat: decision(state, seat, innovation_tier=4) for seat in (3, 2)}
    with pytest.raises(InvalidDecision, match=r"^company-2: "):
        settle(scenario, state, faulty)


# --- accounts -----------------------------------------------------------------------------------


def test_every_kind_of_flow_of_one_day() -> None:
    """Section 9: gross by category; the cash change is their sum, to the cent.

    Q = 14: 4 A of the backlog at $40, an award of 8 B at $70, then 2 of another award's 9 B at
    $69.99.
    Revenue 160 + 560 + 139.98 = $859.98; penalty floor(0.10 x 7 x 6,999) = floor(4,899.3) cents.
    All 4 consumer units fail ($12 each). Stock of A falls to 596, target 600: 4 x $26.
    Holding 596 x 2 + 390 x 3 + 200 x 6 = 3,562 cents. Refund after one of 21 days: $9,685.72.
    Sum: 85,998 + 968,572 - 10,400 - 3,562 - 3,400 - 40,000 - 1,250,000 - 4,800 - 4,899 = -262,491.
    """
    scenario = quiet(
        {
            "capacity.tiers.0.units_per_day": 14,
            "service.failure_base": 1.0,
            "service.failure_floor": 1.0,
            "service.abandonment": 0.0,
            "products.1.initial_reorder_target": 0,
        }
    )
    state = new_world(scenario)
    expansion = decision(state, capacity={"action": "expand", "target_tier": 1})
    state, _ = settle_day(scenario, state, {1: expansion})
    firm = state.firms[0]
    firm.cash_cents = 10_000_000
    firm.reserved[B] = 17
    firm.queue = [
        consumer_order(1, A, 4, 4000),
        enterprise_order(1, B, 8, 7000, due=2),
        enterprise_order(1, B, 9, 6999, due=2),
    ]
    everything = decision(
        state,
        capacity={"action": "cancel", "project_id": "capacity-000"},
        innovation_tier=1,
        research=({"segment_id": "premium", "level": 2},),
        marketing={"value": {"search": 700}},
        products={"C": {"daily_development_budget_cents": 800}},
        reliability_budget_cents=900,
        support_budget_cents=1000,
    )
    _, record = settle_day(scenario, state, {1: everything})
    company = record.companies[0]
    # Reliability spend cannot lower a failure probability that is 1 at its floor.
    assert company.ledger == Ledger(
        revenue_cents=85_998,
        refunds_cents=968_572,
        procurement_cents=10_400,
        holding_cents=3_562,
        marketing_cents=700,
        development_cents=800,
        reliability_cents=900,
        support_cents=1000,
        overhead_cents=40_000,
        projects_cents=1_000_000,
        research_cents=250_000,
        remediation_cents=4_800,
        penalties_cents=4_899,
    )
    assert company.ledger.net_cents == -262_491
    assert company.opening_cash_cents == 10_000_000
    assert company.closing_cash_cents == 10_000_000 - 262_491


def test_the_ledger_adds_up() -> None:
    """Section 9: revenue and refunds in, all other categories out."""
    ledger = Ledger(*(10**position for position in range(14)))
    assert ledger.outlays_cents == 11_111_111_111_100
    assert ledger.net_cents == 11 - 11_111_111_111_100


def test_cost_of_goods_is_reported_not_debited() -> None:
    """Section 9: COGS is the purchase cost of fulfilled units; cash moved when they were bought."""
    scenario = quiet(NO_ORDERS | {"service.abandonment": 0.0, "service.failure_cost_cents": 0})
    state = new_world(scenario)
    state.firms[0].queue = [consumer_order(0, C, 3, 20_000)]
    _, record = settle_day(scenario, state)
    company = record.companies[0]
    assert company.products[C].cogs_cents == 3 * 8500
    assert company.ledger.net_cents == 60_000 - 40_000 - (HELD - 3 * 6)


def test_no_window_is_left_at_the_horizon() -> None:
    scenario = default_scenario().with_horizon(3)
    streams = Streams(1)
    ended = settle_window(scenario, streams, initial_state(scenario, streams, 1), {}).state
    with pytest.raises(ValueError, match="ended on day 3"):
        settle_window(scenario, streams, ended, {})
