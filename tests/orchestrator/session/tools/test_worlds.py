"""Tools and engine agree, and tools tell nothing that is hidden."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.boundary import Boundary
from engine.decision import decision_problems, one_time_charges, validate_decision
from engine.settle import settle_window
from engine.state import Bid, InnovationProject, PendingReport, WorldState, copy_state
from engine.streams import Streams
from orchestrator.session.draft import EMPTY, fold
from tests.orchestrator.session.tools.desk import SCENARIO, SEAT, Desk, context, world

STREAMS = Streams(7)


def eventful_worlds() -> list[WorldState]:
    """Boundaries at which expansions, downsizings and tenders stand in various stages."""
    desk = Desk()
    desk.call("expand_capacity", target_tier=1)
    desk.call("start_research_project", tier=1)
    worlds = [desk.context.state]
    decision = desk.context.draft.to_decision(f"company-{SEAT}", 0)
    state = settle_window(SCENARIO, STREAMS, worlds[0], {SEAT: decision}).state
    worlds.append(state)
    for _ in range(3):
        state = settle_window(SCENARIO, STREAMS, state, {}).state
        worlds.append(state)
    poor = copy_state(state)
    poor.firms[SEAT - 1].cash_cents = 1_100_000
    return [*worlds, poor]


WORLDS = eventful_worlds()

few = st.integers(0, 4)
cents = st.sampled_from([0, 1, 3_900, 4_000, 7_500, 8_000, 2**53 - 1])
products = st.sampled_from(["A", "B", "C", "D"])
segments = st.sampled_from(["mainstream", "premium", "value", "luxury"])


def calling(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, Any]]:
    return st.fixed_dictionaries({}, optional=arguments).map(lambda values: (name, values))


calls = st.one_of(
    calling(
        "set_product",
        product_id=products,
        price_cents=cents,
        promotion_cents=cents,
        reorder_target=cents,
        daily_development_budget_cents=cents,
    ),
    calling(
        "set_marketing",
        segment_id=segments,
        channel=st.sampled_from(["search", "display", "tv"]),
        daily_budget_cents=cents,
    ),
    calling("set_operations", reliability_budget_cents=cents, support_budget_cents=cents),
    calling("start_research_project", tier=few),
    calling("expand_capacity", target_tier=few),
    calling("downsize_capacity", target_tier=few),
    calling(
        "cancel_capacity_project", project_id=st.sampled_from(["capacity-000", "capacity-007"])
    ),
    calling(
        "submit_enterprise_bid",
        tender_id=st.sampled_from(["tender-000", "tender-014", "tender-028"]),
        unit_price_cents=cents,
    ),
    calling("request_market_research", segment_id=segments, level=st.integers(0, 6)),
    st.just(("reset_decision", {})),
)


@settings(max_examples=200)
@given(st.sampled_from(WORLDS), st.lists(calls, max_size=12))
def test_what_can_be_staged_can_be_sealed_but_for_cash(
    state: WorldState, made: list[tuple[str, Any]]
) -> None:
    desk = Desk(context(state))
    for name, arguments in made:
        before = desk.context.draft
        desk.call(name, **arguments)
        assert desk.last.ok or desk.last.draft == before
    changes = [each.draft_change for each in desk.outcomes if each.draft_change is not None]
    assert fold(changes) == desk.context.draft

    decision = desk.context.draft.to_decision(f"company-{SEAT}", state.version)
    charges, refund = one_time_charges(SCENARIO, state.firms[SEAT - 1], decision)
    missing = max(0, charges - refund - state.firms[SEAT - 1].cash_cents)
    preview = desk.call("preview_decision")
    assert preview["one_time"]["charges_cents"] == charges
    assert preview["one_time"]["refund_cents"] == refund
    assert preview["one_time"]["shortfall_cents"] == missing
    assert preview["can_be_sealed"] == (missing == 0)
    problems = list(decision_problems(SCENARIO, state, SEAT, decision))
    assert len(problems) == (missing > 0)

    sealed = desk.call("seal_decision")
    assert desk.last.ok == (missing == 0)
    if desk.last.ok:
        assert desk.last.decision == decision
        validate_decision(SCENARIO, state, SEAT, decision)
    else:
        assert f"{missing} cents short" in sealed["problems"][0]


# Secrecy

EVERY_CALL: list[tuple[str, dict[str, Any]]] = [
    ("set_product", {"product_id": "A", "price_cents": 100, "promotion_cents": 200}),
    ("set_product", {"product_id": "A", "price_cents": 4100}),
    ("set_marketing", {"segment_id": "value", "channel": "search", "daily_budget_cents": 1}),
    ("set_operations", {"support_budget_cents": 5}),
    ("start_research_project", {"tier": 1}),
    ("expand_capacity", {"target_tier": 1}),
    ("downsize_capacity", {"target_tier": 0}),
    ("cancel_capacity_project", {"project_id": "capacity-000"}),
    ("cancel_capacity_project", {"project_id": "capacity-999"}),
    ("submit_enterprise_bid", {"tender_id": "tender-028", "unit_price_cents": 4000}),
    ("submit_enterprise_bid", {"tender_id": "tender-999", "unit_price_cents": 4000}),
    ("request_market_research", {"segment_id": "value", "level": 3}),
    ("preview_decision", {}),
    ("seal_decision", {}),
    ("reset_decision", {}),
    ("seal_decision", {}),
]


def told(state: WorldState) -> str:
    """Everything that a company is shown by these calls."""
    desk = Desk(context(state))
    return "\n".join(json.dumps(desk.call(name, **arguments)) for name, arguments in EVERY_CALL)


def otherwise(state: WorldState) -> WorldState:
    """A world that differs in everything that the company in `SEAT` may not see."""
    other = copy_state(state)
    stranger = copy_state(state).firms[SEAT - 1]
    stranger.cash_cents, stranger.tier, stranger.stock = 123_457, 3, [9, 9, 9]
    for seat in range(1, SEAT):
        firm = other.firms[seat - 1]
        public = {"price_cents": firm.price_cents, "promotion_cents": firm.promotion_cents}
        other.firms[seat - 1] = msgspec.structs.replace(stranger, **public)
    for tender in other.tenders:
        tender.bids = [bid for bid in tender.bids if bid.seat == SEAT] + [Bid(1, 3_111)]
    other.phase, other.macro = 2, 1.23
    own = other.firms[SEAT - 1]
    own.innovation_projects = [
        InnovationProject(each.project_id, each.tier, each.started_day, 499, 4_444_444)
        for each in own.innovation_projects
    ]
    own.pending_reports = [
        PendingReport("report-000-1", 0, 1, 0, own.pending_reports[0].due_day, [5.5, 5.5, 5.5])
    ]
    return other


def test_what_is_hidden_changes_no_byte() -> None:
    desk = Desk(context(WORLDS[3]))
    desk.call("request_market_research", segment_id="mainstream", level=5)
    decision = desk.context.draft.to_decision(f"company-{SEAT}", WORLDS[3].version)
    state = settle_window(SCENARIO, STREAMS, WORLDS[3], {SEAT: decision}).state
    other = otherwise(state)
    assert told(state) == told(other)
    assert "tender-028" in told(state)


def test_quotes_are_those_of_the_observation() -> None:
    for state in WORLDS:
        observed = Boundary(SCENARIO, state, []).observe(SEAT)
        for quote in observed.capacity_quotes:
            desk = Desk(context(state))
            if quote.action == "cancel":
                shown = desk.call("cancel_capacity_project", project_id=quote.project_id)
            else:
                shown = desk.call(f"{quote.action}_capacity", target_tier=quote.target_tier)
            assert shown["quote"] == {
                "charge_cents": quote.charge_cents,
                "refund_cents": quote.refund_cents,
                "effective_day": quote.effective_day,
            }


def test_the_first_world_is_untouched_by_all_that() -> None:
    assert WORLDS[0] == world()
    assert context().draft == EMPTY
