"""The capacity actions, quoted by the code that settles them."""

from engine.quotes import cancellation_refund
from engine.settle import settle_window
from engine.state import WorldState
from engine.streams import Streams
from orchestrator.session.tools import run_tool
from tests.orchestrator.session.tools.desk import SCENARIO, SEAT, Desk, context, problems, world

STREAMS = Streams(7)


def after(desk: Desk) -> WorldState:
    """The world at the next boundary when the desk's draft is sealed at this one."""
    outcome = run_tool(desk.context, "seal_decision", "{}")
    assert outcome.decision is not None, outcome.text
    return settle_window(SCENARIO, STREAMS, desk.context.state, {SEAT: outcome.decision}).state


def expanding(target_tier: int = 2) -> WorldState:
    """Day 7 of a world in which the company began to expand on day 0."""
    desk = Desk()
    desk.call("expand_capacity", target_tier=target_tier)
    return after(desk)


def at_tier(tier: int) -> WorldState:
    state = world()
    state.firms[SEAT - 1].tier = tier
    return state


def test_an_expansion_is_quoted_with_charge_and_day() -> None:
    desk = Desk()
    shown = desk.call("expand_capacity", target_tier=2)
    assert shown["effect"] == [{"field": "capacity_action", "from": None, "to": "expand to tier 2"}]
    assert shown["quote"] == {"charge_cents": 3_000_000, "refund_cents": 0, "effective_day": 35}


def test_a_quote_is_what_the_settlement_charges_and_refunds() -> None:
    desk = Desk()
    quote = desk.call("expand_capacity", target_tier=2)["quote"]
    outcome = run_tool(desk.context, "seal_decision", "{}")
    settled = settle_window(SCENARIO, STREAMS, desk.context.state, {SEAT: outcome.decision})
    (receipt,) = settled.receipts[SEAT]
    assert quote == {
        "charge_cents": receipt.charge_cents,
        "refund_cents": receipt.refund_cents,
        "effective_day": receipt.effective_day,
    }
    desk = Desk(context(settled.state))
    quote = desk.call("cancel_capacity_project", project_id=receipt.subject)["quote"]
    # market.md section 5: P = 3,000,000, A = 300,000, I = 300,000 + 2,700,000 * 7 / 35 = 840,000.
    assert quote == {
        "charge_cents": 0,
        "refund_cents": 3_000_000 - 840_000 - 150_000,
        "effective_day": 7,
    }
    outcome = run_tool(desk.context, "seal_decision", "{}")
    settled = settle_window(SCENARIO, STREAMS, settled.state, {SEAT: outcome.decision})
    (receipt,) = settled.receipts[SEAT]
    assert receipt.refund_cents == quote["refund_cents"]


def test_a_downsizing_is_quoted_by_the_tier() -> None:
    desk = Desk(context(at_tier(3)))
    shown = desk.call("downsize_capacity", target_tier=1)
    assert shown["quote"] == {"charge_cents": 200_000, "refund_cents": 0, "effective_day": 7}


def test_capacity_actions_replace_one_another() -> None:
    desk = Desk(context(at_tier(1)))
    desk.call("expand_capacity", target_tier=3)
    shown = desk.call("downsize_capacity", target_tier=0)
    assert shown["effect"] == [
        {"field": "capacity_action", "from": "expand to tier 3", "to": "downsize to tier 0"}
    ]
    assert shown["one_time_total"]["charges_cents"] == 100_000
    shown = desk.call("expand_capacity", target_tier=2)
    assert shown["effect"][0]["from"] == "downsize to tier 0"
    assert shown["one_time_total"]["charges_cents"] == 1_800_000
    sealed = desk.call("seal_decision")
    assert sealed["decision"] == {"capacity": {"action": "expand", "target_tier": 2}}


def test_tiers_that_cannot_be_reached() -> None:
    desk = Desk(context(at_tier(1)))
    for tier in (0, 1, 4, 2**53 - 1):
        assert problems(desk.call("expand_capacity", target_tier=tier)) == (
            f"target_tier: must be an integer from 2 to 3; received {tier}"
        )
    for tier in (1, 2, 2**53 - 1):
        assert problems(desk.call("downsize_capacity", target_tier=tier)) == (
            f"target_tier: must be an integer from 0 to 0; received {tier}"
        )
    assert "is the highest" in problems(
        Desk(context(at_tier(3))).call("expand_capacity", target_tier=3)
    )
    assert "is the lowest" in problems(Desk().call("downsize_capacity", target_tier=0))


def test_one_change_is_pending_at_a_time() -> None:
    desk = Desk(context(expanding()))
    assert problems(desk.call("expand_capacity", target_tier=1)) == (
        "target_tier: capacity-000 (to tier 2, due on day 35) is still pending; only one capacity "
        "change may be pending. Wait until it is due; an unfinished expansion can also be "
        "canceled, by cancel_capacity_project"
    )


def test_what_can_be_canceled() -> None:
    desk = Desk()
    assert problems(desk.call("cancel_capacity_project", project_id="capacity-000")) == (
        "project_id: there is no capacity project 'capacity-000'; known: none"
    )
    desk = Desk(context(expanding()))
    assert "known: ['capacity-000']" in problems(
        desk.call("cancel_capacity_project", project_id="capacity-007")
    )
    desk.call("cancel_capacity_project", project_id="capacity-000")
    canceled = Desk(context(after(desk)))
    again = canceled.call("cancel_capacity_project", project_id="capacity-000")
    assert again["quote"]["refund_cents"] == 0

    downsizing = Desk(context(at_tier(2)))
    downsizing.call("downsize_capacity", target_tier=0)
    state = after(downsizing)
    firm = state.firms[SEAT - 1]
    firm.capacity_projects[-1].status = "pending"
    assert "is a downsizing and cannot be canceled" in problems(
        Desk(context(state)).call("cancel_capacity_project", project_id="capacity-000")
    )


def test_a_finished_project_cannot_be_canceled() -> None:
    state = expanding(target_tier=1)
    for _ in range(2):
        state = settle_window(SCENARIO, STREAMS, state, {}).state
    assert state.day == 21
    desk = Desk(context(state))
    assert "was due on day 21" in problems(
        desk.call("cancel_capacity_project", project_id="capacity-000")
    )


def test_a_refund_may_be_spent_in_the_same_draft() -> None:
    state = expanding()
    firm = state.firms[SEAT - 1]
    refund = cancellation_refund(SCENARIO, firm, "capacity-000", state.day)
    firm.cash_cents = 1_000_000 - refund
    desk = Desk(context(state))
    without = desk.call("start_research_project", tier=1)
    assert without["one_time_total"]["shortfall_cents"] == refund
    with_refund = desk.call("cancel_capacity_project", project_id="capacity-000")
    assert with_refund["one_time_total"] == {
        "charges_cents": 1_000_000,
        "refund_cents": refund,
        "cash_cents": 1_000_000 - refund,
        "cash_after_cents": 0,
        "affordable": True,
        "shortfall_cents": 0,
    }
