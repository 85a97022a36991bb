"""The tools that stage standing policies, projects, bids and reports."""

from typing import Any

import msgspec
import pytest

from engine.decision import LARGEST_AMOUNT
from engine.settle import settle_window
from engine.state import Bid
from engine.streams import Streams
from orchestrator.session.draft import fold
from tests.engine.worlds import altered
from tests.orchestrator.session.tools.desk import SCENARIO, SEAT, Desk, context, problems, world


def effect(shown: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """The effect of a call that must have been staged."""
    assert shown["status"] == "staged", shown
    return [(entry["field"], entry["from"], entry["to"]) for entry in shown["effect"]]


# Products


def test_a_product_keeps_what_a_call_leaves_out() -> None:
    desk = Desk()
    first = desk.call("set_product", product_id="A", price_cents=4200, reorder_target=300)
    assert effect(first) == [("A.price_cents", 4000, 4200), ("A.reorder_target", 600, 300)]
    assert first["acts_from_day"] == 1
    second = desk.call("set_product", product_id="A", price_cents=4300)
    assert effect(second) == [("A.price_cents", 4200, 4300)]
    settings = desk.context.draft.products["A"]
    assert (settings.price_cents, settings.reorder_target) == (4300, 300)
    assert settings.promotion_cents is None
    assert settings.daily_development_budget_cents is None


def test_a_product_call_has_something_to_set() -> None:
    assert problems(Desk().call("set_product", product_id="A")) == (
        "arguments: must hold at least one of price_cents, promotion_cents, reorder_target, "
        "daily_development_budget_cents"
    )


def test_an_unknown_product_names_those_that_exist() -> None:
    shown = Desk().call("set_product", product_id="D", price_cents=1)
    assert problems(shown) == 'product_id: must be one of A, B, C; received "D"'


def test_the_promotion_is_compared_with_the_standing_price() -> None:
    desk = Desk()
    assert problems(desk.call("set_product", product_id="A", promotion_cents=4001)) == (
        "promotion_cents: must be an integer from 0 to 4000, the list price after this call; "
        "received 4001"
    )
    assert effect(desk.call("set_product", product_id="A", promotion_cents=4000))


def test_the_promotion_is_compared_with_the_staged_price() -> None:
    desk = Desk()
    desk.call("set_product", product_id="A", price_cents=3000)
    assert "from 0 to 3000" in problems(
        desk.call("set_product", product_id="A", promotion_cents=3001)
    )
    desk.call("set_product", product_id="A", price_cents=5000)
    assert effect(desk.call("set_product", product_id="A", promotion_cents=5000))


def test_the_promotion_is_compared_with_the_price_of_the_same_call() -> None:
    desk = Desk()
    assert effect(desk.call("set_product", product_id="A", price_cents=9, promotion_cents=9))
    assert "from 0 to 8" in problems(
        desk.call("set_product", product_id="A", price_cents=8, promotion_cents=9)
    )


def test_a_price_may_not_fall_below_the_promotion_in_force() -> None:
    desk = Desk()
    desk.call("set_product", product_id="A", promotion_cents=500)
    assert problems(desk.call("set_product", product_id="A", price_cents=499)) == (
        "price_cents: must be at least 500, the promotion in force, unless the same call lowers "
        "promotion_cents; received 499"
    )
    state = world()
    state.firms[SEAT - 1].promotion_cents[0] = 700
    desk = Desk(context(state))
    assert "at least 700" in problems(desk.call("set_product", product_id="A", price_cents=699))
    assert effect(desk.call("set_product", product_id="A", price_cents=0, promotion_cents=0))


# Marketing and operations


def test_nine_marketing_budgets_stand_apart() -> None:
    desk = Desk()
    pairs = [(s, c) for s in SCENARIO.segment_ids for c in SCENARIO.channels]
    assert len(pairs) == 9
    for number, (segment, channel) in enumerate(pairs):
        shown = desk.call(
            "set_marketing", segment_id=segment, channel=channel, daily_budget_cents=number
        )
        assert effect(shown) == [(f"{segment}.{channel}.daily_budget_cents", 0, number)]
    again = desk.call(
        "set_marketing", segment_id="value", channel="search", daily_budget_cents=LARGEST_AMOUNT
    )
    assert effect(again) == [("value.search.daily_budget_cents", 8, LARGEST_AMOUNT)]
    assert desk.context.draft.marketing["premium"] == {"affiliate": 3, "display": 4, "search": 5}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            {"segment_id": "luxury", "channel": "search"},
            'segment_id: must be one of mainstream, premium, value; received "luxury"',
        ),
        (
            {"segment_id": "value", "channel": "tv"},
            'channel: must be one of affiliate, display, search; received "tv"',
        ),
    ],
)
def test_unknown_segments_and_channels(arguments: dict[str, str], problem: str) -> None:
    assert problems(Desk().call("set_marketing", **arguments, daily_budget_cents=1)) == problem


def test_operations_keep_what_a_call_leaves_out() -> None:
    state = world()
    state.firms[SEAT - 1].support_cents = 40
    desk = Desk(context(state))
    shown = desk.call("set_operations", reliability_budget_cents=10)
    assert effect(shown) == [("reliability_budget_cents", 0, 10)]
    both = desk.call("set_operations", reliability_budget_cents=11, support_budget_cents=0)
    assert effect(both) == [
        ("reliability_budget_cents", 10, 11),
        ("support_budget_cents", 40, 0),
    ]
    assert problems(desk.call("set_operations")) == (
        "arguments: must hold at least one of reliability_budget_cents, support_budget_cents"
    )


# Innovation


def test_a_draft_holds_one_innovation_project() -> None:
    desk = Desk()
    first = desk.call("start_research_project", tier=3)
    assert effect(first) == [("innovation_tier", None, 3)]
    assert first["quote"] == {"charge_cents": 7_500_000, "refund_cents": 0, "effective_day": 0}
    assert (first["median_completion_day"], first["expected_gain_cents"]) == (150, 20_000_000)
    second = desk.call("start_research_project", tier=1)
    assert effect(second) == [("innovation_tier", 3, 1)]
    assert second["one_time_total"]["charges_cents"] == 1_000_000


@pytest.mark.parametrize("tier", [4, LARGEST_AMOUNT])
def test_an_innovation_tier_that_does_not_exist(tier: int) -> None:
    assert problems(Desk().call("start_research_project", tier=tier)) == (
        f"tier: must be an integer from 1 to 3; received {tier}"
    )


def test_a_limit_on_pending_projects() -> None:
    scenario = altered(SCENARIO, {"innovation.max_pending": 1})
    desk = Desk(context(scenario=scenario))
    assert effect(desk.call("start_research_project", tier=1))
    state = world(scenario)
    sealed = desk.context.draft.to_decision(f"company-{SEAT}", 0)
    after = settle_window(scenario, Streams(7), state, {SEAT: sealed}).state
    desk = Desk(context(after, scenario))
    assert problems(desk.call("start_research_project", tier=1)) == (
        "tier: no project can start while 1 are pending; at most 1 may be"
    )


# Tenders


def test_a_bid_replaces_the_bid_before() -> None:
    desk = Desk()
    first = desk.call("submit_enterprise_bid", tender_id="tender-000", unit_price_cents=4800)
    assert effect(first) == [("tender-000.unit_price_cents", None, 4800)]
    assert first["close_day"] == 7
    assert "note" not in first
    second = desk.call("submit_enterprise_bid", tender_id="tender-000", unit_price_cents=0)
    assert effect(second) == [("tender-000.unit_price_cents", 4800, 0)]
    assert desk.context.draft.bids == {"tender-000": 0}


def test_a_bid_shows_the_own_bid_of_an_earlier_window_and_nobody_elses() -> None:
    state = world()
    state.tenders[0].bids = [Bid(1, 3111), Bid(SEAT, 4700)]
    desk = Desk(context(state))
    shown = desk.call("submit_enterprise_bid", tender_id="tender-000", unit_price_cents=4600)
    assert effect(shown) == [("tender-000.unit_price_cents", 4700, 4600)]
    assert "3111" not in desk.last.text


def test_a_bid_that_cannot_win_is_staged_with_a_note() -> None:
    reservation = world().tenders[0].reservation_price_cents
    shown = Desk().call(
        "submit_enterprise_bid", tender_id="tender-000", unit_price_cents=reservation + 1
    )
    assert shown["status"] == "staged"
    assert "cannot win" in shown["note"]


def test_a_bid_on_a_tender_that_is_not_open() -> None:
    desk = Desk(context(world(windows=1)))
    shown = desk.call("submit_enterprise_bid", tender_id="tender-000", unit_price_cents=1)
    assert problems(shown) == 'tender_id: there is none at present; received "tender-000"'
    desk = Desk(context(world(windows=2)))
    shown = desk.call("submit_enterprise_bid", tender_id="tender-000", unit_price_cents=1)
    assert problems(shown) == 'tender_id: must be one of tender-014; received "tender-000"'


# Market research


def test_equal_research_requests_add_up() -> None:
    desk = Desk()
    for number in range(3):
        shown = desk.call("request_market_research", segment_id="value", level=2)
        assert effect(shown) == [("reports_requested", number, number + 1)]
        assert shown["quote"] == {"charge_cents": 250_000, "refund_cents": 0, "effective_day": 4}
        assert (shown["sample_day"], shown["delivery_day"]) == (0, 4)
        assert shown["one_time_total"]["charges_cents"] == 250_000 * (number + 1)
    assert len(desk.context.draft.research) == 3


def test_research_that_cannot_be_requested() -> None:
    desk = Desk()
    shown = desk.call("request_market_research", segment_id="luxury", level=1)
    assert problems(shown) == (
        'segment_id: must be one of mainstream, premium, value; received "luxury"'
    )
    shown = desk.call("request_market_research", segment_id="value", level=6)
    assert problems(shown) == "level: must be an integer from 1 to 5; received 6"


def test_what_takes_effect_after_the_end_is_said() -> None:
    desk = Desk(context(world(windows=70)))
    assert desk.context.day == 490
    late = desk.call("request_market_research", segment_id="value", level=5)
    assert late["quote"]["effective_day"] == 504
    assert late["note"] == "The effective day is after the last day, 500."
    assert "note" not in desk.call("request_market_research", segment_id="value", level=1)


# Every receipt


STAGING: list[tuple[str, dict[str, Any]]] = [
    ("set_product", {"product_id": "A", "price_cents": 4100}),
    ("set_marketing", {"segment_id": "value", "channel": "search", "daily_budget_cents": 5}),
    ("set_operations", {"support_budget_cents": 5}),
    ("start_research_project", {"tier": 2}),
    ("expand_capacity", {"target_tier": 1}),
    ("submit_enterprise_bid", {"tender_id": "tender-000", "unit_price_cents": 4000}),
    ("request_market_research", {"segment_id": "value", "level": 1}),
]


@pytest.mark.parametrize(("tool", "arguments"), STAGING)
def test_a_receipt_says_staged_and_never_done(tool: str, arguments: dict[str, Any]) -> None:
    desk = Desk()
    shown = desk.call(tool, **arguments)
    assert shown["status"] == "staged"
    assert "done" not in desk.last.text
    assert "applied" not in desk.last.text
    total = shown["one_time_total"]
    charge = shown.get("quote", {"charge_cents": 0})["charge_cents"]
    assert total == {
        "charges_cents": charge,
        "refund_cents": 0,
        "cash_cents": 50_000_000,
        "cash_after_cents": 50_000_000 - charge,
        "affordable": True,
        "shortfall_cents": 0,
    }


def test_receipts_hold_the_changes_that_make_the_draft() -> None:
    desk = Desk()
    for tool, arguments in STAGING:
        desk.call(tool, **arguments)
        desk.call("set_product", product_id="?", price_cents=1)
        desk.call("preview_decision")
    changes = [
        outcome.draft_change for outcome in desk.outcomes if outcome.draft_change is not None
    ]
    assert len(changes) == len(STAGING)
    assert fold(changes) == desk.context.draft
    desk.call("reset_decision")
    assert desk.last.draft_change is not None
    assert fold([*changes, desk.last.draft_change]).is_hold


def test_staging_leaves_the_world_as_it_is() -> None:
    state = world()
    before = msgspec.msgpack.encode(state)
    desk = Desk(context(state))
    for tool, arguments in STAGING:
        desk.call(tool, **arguments)
    desk.call("preview_decision")
    assert desk.call("seal_decision")["status"] == "sealed"
    assert msgspec.msgpack.encode(state) == before


def test_what_all_commitments_come_to_is_told_before_the_seal() -> None:
    state = world()
    state.firms[SEAT - 1].cash_cents = 1_000_000
    desk = Desk(context(state))
    desk.call("start_research_project", tier=1)
    shown = desk.call("request_market_research", segment_id="value", level=1)
    assert shown["status"] == "staged"
    assert shown["one_time_total"] == {
        "charges_cents": 1_100_000,
        "refund_cents": 0,
        "cash_cents": 1_000_000,
        "cash_after_cents": -100_000,
        "affordable": False,
        "shortfall_cents": 100_000,
    }
