"""Score and the accounting identity (evaluation.md section 2, market.md section 9)."""

from engine.scenario import default_scenario
from engine.score import salvage_cents, score_cents
from engine.settle import initial_state, settle_window
from engine.state import Shipment
from engine.streams import Streams
from tests.engine.worlds import B, C, decision, new_world

SCENARIO = default_scenario()


def test_initial_value() -> None:
    """V_0 = 500,000 + 600 x 8 + 400 x 15 + 200 x 26 = $516,000."""
    assert SCENARIO.initial_value_cents == 51_600_000
    assert score_cents(SCENARIO, new_world(SCENARIO).firms[0]) == 0


def test_score_values_cash_stock_and_inbound() -> None:
    """S = C_T + sum of v (H + I) - V_0: 100,000 + 10 x 8 + (20 + 5) x 15 + (3 + 1 + 2) x 26 -
    516,000.
    """
    firm = new_world(SCENARIO).firms[0]
    firm.cash_cents = 10_000_000
    firm.stock = [10, 20, 3]
    firm.reserved = [10, 0, 0]
    firm.inbound[B] = [Shipment(600, 5)]
    firm.inbound[C] = [Shipment(501, 1), Shipment(502, 2)]
    assert salvage_cents(SCENARIO, firm) == 10 * 800 + 25 * 1500 + 6 * 2600
    assert score_cents(SCENARIO, firm) == 10_000_000 + 61_100 - 51_600_000


def test_nothing_else_has_a_terminal_value() -> None:
    """Projects, knowledge, capacity and goodwill count for nothing."""
    firm = new_world(SCENARIO).firms[0]
    firm.tier = 3
    firm.knowledge_cents = [1e9, 1e9, 1e9]
    firm.goodwill = [9.0, 9.0, 9.0]
    assert score_cents(SCENARIO, firm) == 0


def test_a_bankrupt_company_is_valued_the_same_way() -> None:
    firm = new_world(SCENARIO).firms[0]
    firm.active, firm.exit_day, firm.cash_cents = False, 40, -123
    firm.stock = [0, 0, 1]
    assert score_cents(SCENARIO, firm) == -123 + 2600 - 51_600_000


def test_the_identity_over_a_whole_world() -> None:
    """S = revenue - net outlays + salvage - initial stock value, to the cent, for every company.

    Three companies: one holds, one spends a little, one overspends and leaves.
    """
    streams = Streams(29)
    state = initial_state(SCENARIO, streams, 3)
    net = {1: 0, 2: 0, 3: 0}
    while state.day < SCENARIO.horizon_days:
        choices = {}
        if state.firms[1].active:
            choices[2] = decision(
                state,
                2,
                products={name: {"reorder_target": 150} for name in "ABC"},
                marketing={"mainstream": {"search": 2500}},
                support_budget_cents=5000,
            )
        if state.firms[2].active:
            choices[3] = decision(state, 3, marketing={"value": {"search": 600_000}})
        settled = settle_window(SCENARIO, streams, state, choices)
        for day in settled.days:
            for company in day.companies:
                net[company.seat] += company.ledger.net_cents
        state = settled.state
    assert not state.firms[2].active
    stock_value = 600 * 800 + 400 * 1500 + 200 * 2600
    for seat, firm in enumerate(state.firms, start=1):
        expected = net[seat] + salvage_cents(SCENARIO, firm) - stock_value
        assert score_cents(SCENARIO, firm) == expected
