"""Preview, reset and seal, with every edge of the seal."""

from typing import Any

import msgspec
import pytest

from engine.decision import CompanyDecision, decision_problems, one_time_charges
from engine.settle import settle_window
from engine.state import CapacityProject, WorldState
from engine.streams import Streams
from orchestrator.session.draft import BidPlaced, CapacityMove, Quote, ResearchOrder, apply
from orchestrator.session.tools import ToolContext
from tests.orchestrator.session.tools.desk import SCENARIO, SEAT, Desk, context, world

COMPANY = f"company-{SEAT}"


def with_cash(cash_cents: int, state: WorldState | None = None) -> WorldState:
    state = world() if state is None else state
    state.firms[SEAT - 1].cash_cents = cash_cents
    return state


def with_expansion() -> WorldState:
    """A boundary at which an expansion to tier 2 is 14 of 35 days old."""
    state = world(windows=2)
    state.firms[SEAT - 1].capacity_projects = [
        CapacityProject("capacity-000", 0, 2, 0, 35, 3_000_000)
    ]
    return state


def sealed(desk: Desk) -> CompanyDecision:
    shown = desk.call("seal_decision")
    assert shown["status"] == "sealed", shown
    assert desk.last.ok
    assert desk.last.decision is not None
    return desk.last.decision


def refused(desk: Desk) -> list[str]:
    """The problems of a seal that must be refused with the draft left as it was."""
    before = desk.context
    shown = desk.call("seal_decision")
    assert shown["status"] == "refused", shown
    assert "call reset_decision" in shown["note"]
    assert not desk.last.ok
    assert desk.last.decision is None
    assert desk.context == before
    problems: list[str] = shown["problems"]
    return problems


# Seal


def test_a_hold_is_a_valid_decision() -> None:
    desk = Desk()
    assert sealed(desk) == CompanyDecision(company_id=COMPANY, world_version=0)
    desk.call("set_product", product_id="A", price_cents=1)
    desk.call("reset_decision")
    assert sealed(desk) == CompanyDecision(company_id=COMPANY, world_version=0)


def test_a_seal_holds_everything_that_was_staged() -> None:
    desk = Desk(context(world(windows=2)))
    desk.call("set_product", product_id="B", price_cents=7000, promotion_cents=0)
    desk.call("set_marketing", segment_id="value", channel="search", daily_budget_cents=0)
    desk.call("set_operations", reliability_budget_cents=0)
    desk.call("start_research_project", tier=1)
    desk.call("expand_capacity", target_tier=1)
    desk.call("submit_enterprise_bid", tender_id="tender-014", unit_price_cents=5)
    desk.call("request_market_research", segment_id="value", level=1)
    expected: dict[str, Any] = {
        "products": {"B": {"price_cents": 7000, "promotion_cents": 0}},
        "marketing": {"value": {"search": 0}},
        "reliability_budget_cents": 0,
        "innovation_tier": 1,
        "capacity": {"action": "expand", "target_tier": 1},
        "bids": {"tender-014": 5},
        "research": [{"segment_id": "value", "level": 1}],
    }
    assert desk.call("preview_decision")["staged"] == expected
    shown = desk.call("seal_decision")
    assert (shown["decision"], shown["world_version"]) == (expected, 2)
    assert desk.last.decision == CompanyDecision.model_validate(
        {"company_id": COMPANY, "world_version": 2, **expected}, strict=False
    )
    assert settle_window(
        SCENARIO, Streams(7), desk.context.state, {SEAT: desk.last.decision}
    ).receipts[SEAT]


def test_cash_that_is_exactly_enough() -> None:
    desk = Desk(context(with_cash(1_000_000)))
    desk.call("start_research_project", tier=1)
    assert sealed(desk).innovation_tier == 1


def test_one_cent_short() -> None:
    desk = Desk(context(with_cash(999_999)))
    desk.call("start_research_project", tier=1)
    (problem,) = refused(desk)
    assert "1 cents short" in problem
    shown = desk.call("seal_decision")
    assert shown["one_time"]["shortfall_cents"] == 1
    desk.call("reset_decision")
    desk.call("request_market_research", segment_id="value", level=1)
    assert len(sealed(desk).research) == 1


@pytest.mark.parametrize(("missing", "seals"), [(0, True), (1, False)])
def test_affordable_only_with_the_refund(missing: int, seals: bool) -> None:
    # P = 3,000,000, A = 300,000, I = 300,000 + 2,700,000 * 14 / 35 = 1,380,000, 5% of P retained.
    refund = 3_000_000 - 1_380_000 - 150_000
    desk = Desk(context(with_cash(3_000_000 - refund - missing, with_expansion())))
    desk.call("start_research_project", tier=2)
    assert f"{refund + missing} cents short" in refused(desk)[0]
    desk.call("cancel_capacity_project", project_id="capacity-000")
    if seals:
        assert sealed(desk).innovation_tier == 2
    else:
        assert "1 cents short" in refused(desk)[0]


def test_all_commitments_count_together() -> None:
    desk = Desk(context(with_cash(2_300_000)))
    desk.call("start_research_project", tier=1)
    desk.call("expand_capacity", target_tier=1)
    desk.call("request_market_research", segment_id="value", level=1)
    sealed(desk)
    desk = Desk(desk.context)
    desk.call("request_market_research", segment_id="value", level=1)
    assert "100000 cents short" in refused(desk)[0]


def test_standing_budgets_are_not_checked_against_cash() -> None:
    desk = Desk(context(with_cash(0)))
    desk.call("set_operations", support_budget_cents=2**53 - 1)
    desk.call("submit_enterprise_bid", tender_id="tender-000", unit_price_cents=2**53 - 1)
    sealed(desk)


def test_a_bid_on_a_tender_that_has_closed() -> None:
    start = context(world(windows=2))
    desk = Desk(start._replace(draft=apply(start.draft, BidPlaced("tender-000", 4000))))
    (problem,) = refused(desk)
    assert problem == "bids: 'tender-000' is not open; open tenders: ['tender-014']"


def test_the_last_of_two_capacity_actions_counts() -> None:
    desk = Desk(context(with_expansion()))
    move = CapacityMove("expand", 1, None, Quote(1_200_000, 0, 35))
    desk.context = desk.context._replace(draft=apply(desk.context.draft, move))
    assert "is still pending" in refused(desk)[0]
    desk.call("cancel_capacity_project", project_id="capacity-000")
    assert sealed(desk).model_dump()["capacity"] == {
        "action": "cancel",
        "project_id": "capacity-000",
    }


def stale(start: ToolContext, *changes: CapacityMove | ResearchOrder) -> Desk:
    """A desk with changes that were quoted elsewhere."""
    draft = start.draft
    for change in changes:
        draft = apply(draft, change)
    return Desk(start._replace(draft=draft))


def test_an_outdated_refund() -> None:
    # What was quoted a week earlier: I = 300,000 + 2,700,000 * 7 / 35.
    earlier = CapacityMove("cancel", None, "capacity-000", Quote(0, 2_010_000, 7))
    desk = stale(context(with_expansion()), earlier)
    (problem,) = refused(desk)
    assert problem == (
        "capacity (cancel capacity-000): the quote is outdated: charge 0 cents, refund 2010000 "
        "cents, effective on day 7 when staged, charge 0 cents, refund 1470000 cents, effective on "
        "day 14 now; reset the draft and stage what you still want"
    )
    desk.call("cancel_capacity_project", project_id="capacity-000")
    sealed(desk)


def test_an_outdated_charge() -> None:
    desk = stale(
        context(world(windows=1)),
        CapacityMove("expand", 1, None, Quote(1_200_000, 0, 21)),
        ResearchOrder("value", 1, Quote(1, 0, 9)),
    )
    first, second = refused(desk)
    assert first.startswith("capacity (expand to tier 1): the quote is outdated")
    assert second.startswith("request_market_research: the quote is outdated: charge 1 cents")
    assert "charge 100000 cents" in second


def test_a_quote_for_what_no_longer_exists() -> None:
    gone = CapacityMove("cancel", None, "capacity-000", Quote(0, 2_010_000, 7))
    desk = stale(context(), gone, ResearchOrder("value", 9, Quote(1, 0, 9)))
    assert refused(desk) == [
        "capacity.project_id: there is no capacity project 'capacity-000'; known: none",
        "research[1].level: must be 1..5, received 9",
    ]


def test_sealing_and_preview_work_in_finalization() -> None:
    desk = Desk(context()._replace(finalizing=True))
    desk.call("set_product", product_id="A", price_cents=1)
    assert desk.call("preview_decision")["can_be_sealed"]
    assert sealed(desk).products["A"].price_cents == 1


# Preview


def test_a_preview_of_nothing() -> None:
    shown = Desk().call("preview_decision")
    assert (shown["hold"], shown["staged"], shown["can_be_sealed"]) == (True, {}, True)
    assert shown["one_time"]["commitments"] == []
    assert shown["recurring_per_day"]["now"] == shown["recurring_per_day"]["after"]
    assert shown["note"].startswith("Not a forecast")


def test_a_preview_adds_up_what_is_charged_every_day() -> None:
    state = world()
    firm = state.firms[SEAT - 1]
    firm.development_cents = [1, 20, 300]
    firm.marketing_cents = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    firm.reliability_cents, firm.support_cents, firm.tier = 1000, 2000, 1
    desk = Desk(context(state))
    desk.call("set_product", product_id="B", daily_development_budget_cents=0)
    desk.call("set_marketing", segment_id="value", channel="search", daily_budget_cents=1009)
    desk.call("set_operations", support_budget_cents=0)
    desk.call("expand_capacity", target_tier=3)
    now = {
        "development_cents": 321,
        "marketing_cents": 45,
        "reliability_cents": 1000,
        "support_cents": 2000,
        "overhead_cents": 53_000,
        "total_cents": 56_366,
    }
    after = {
        "development_cents": 301,
        "marketing_cents": 1045,
        "reliability_cents": 1000,
        "support_cents": 0,
        "overhead_cents": 53_000,
        "total_cents": 55_346,
    }
    shown = desk.call("preview_decision")
    assert shown["recurring_per_day"] == {"now": now, "after": after, "change_cents": -1020}
    assert desk.last.draft_change is None


def test_a_preview_lists_commitments_and_what_is_short() -> None:
    desk = Desk(context(with_cash(2_000_000, with_expansion())))
    desk.call("cancel_capacity_project", project_id="capacity-000")
    desk.call("start_research_project", tier=2)
    desk.call("request_market_research", segment_id="premium", level=4)
    shown = desk.call("preview_decision")
    assert [
        (entry["item"], entry["charge_cents"], entry["refund_cents"], entry["effective_day"])
        for entry in shown["one_time"]["commitments"]
    ] == [
        ("innovation project of tier 2", 3_000_000, 0, 14),
        ("capacity: cancel capacity-000", 0, 1_470_000, 14),
        ("market research on premium, level 4", 1_250_000, 0, 24),
    ]
    assert shown["one_time"]["charges_cents"] == 4_250_000
    assert shown["one_time"]["refund_cents"] == 1_470_000
    assert shown["one_time"]["cash_after_cents"] == -780_000
    assert shown["one_time"]["shortfall_cents"] == 780_000
    assert not shown["one_time"]["affordable"]
    assert not shown["can_be_sealed"]
    assert "780000 cents short" in shown["problems"][0]


def test_totals_are_those_of_the_settlement() -> None:
    desk = Desk(context(with_expansion()))
    desk.call("cancel_capacity_project", project_id="capacity-000")
    desk.call("start_research_project", tier=3)
    for level in range(1, 6):
        desk.call("request_market_research", segment_id="value", level=level)
    shown = desk.call("preview_decision")["one_time"]
    decision = sealed(desk)
    state = desk.context.state
    assert not list(decision_problems(SCENARIO, state, SEAT, decision))
    charges, refund = one_time_charges(SCENARIO, state.firms[SEAT - 1], decision)
    assert (shown["charges_cents"], shown["refund_cents"]) == (charges, refund)


# Reset


def test_a_reset_drops_the_draft_and_nothing_else() -> None:
    desk = Desk()
    desk.call("write_file", path="MEMORY.md", content="kept")
    desk.call("set_product", product_id="A", price_cents=1)
    desk.call("start_research_project", tier=1)
    shown = desk.call("reset_decision")
    assert shown["status"] == "reset"
    assert shown["dropped"] == {"products": {"A": {"price_cents": 1}}, "innovation_tier": 1}
    assert desk.context.draft.is_hold
    assert desk.context.files.read("MEMORY.md").content == "kept"
    assert desk.call("reset_decision")["dropped"] == {}


def test_a_result_is_json_in_unicode() -> None:
    desk = Desk()
    desk.call("write_file", path="prix é.md", content="日本")
    desk.call("read_file", path="prix é.md")
    assert "日本" in desk.last.text
    assert msgspec.json.decode(desk.last.text)["path"] == "prix é.md"
