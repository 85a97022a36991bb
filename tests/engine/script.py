"""Decisions that use every action, as a pure function of the state: for golden digests and hiding.

No policy of the project is used, so that a policy may change without changing these worlds.
"""

from collections.abc import Mapping
from typing import Any

from engine.decision import CompanyDecision, decision_problems
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.settle import initial_state, settle_window
from engine.state import FirmState, WorldState
from engine.streams import Streams
from tests.engine.worlds import decision

PRODUCTS = ("A", "B", "C")
SEGMENTS = ("mainstream", "premium", "value")
CHANNELS = ("affiliate", "display", "search")


def scripted_decisions(scenario: Scenario, state: WorldState) -> dict[int, CompanyDecision | None]:
    """A decision for each active company: mixed characters by seat, different in every window.

    A one-time commitment that the company cannot afford, or that the world does not allow, is left
    out.
    """
    decisions: dict[int, CompanyDecision | None] = {}
    for seat, firm in enumerate(state.firms, start=1):
        if not firm.active:
            continue
        if (seat + state.version) % 5 == 0:
            decisions[seat] = None
            continue
        changes = _settings(state.version, seat) | {"bids": _bids(state, seat)}
        for action in _commitments(state, firm, seat):
            candidate = decision(state, seat, **(changes | action))
            if not list(decision_problems(scenario, state, seat, candidate)):
                changes |= action
        decisions[seat] = decision(state, seat, **changes)
    return decisions


def _settings(version: int, seat: int) -> dict[str, Any]:
    turn = version + seat
    product, segment, channel = PRODUCTS[turn % 3], SEGMENTS[turn % 3], CHANNELS[turn // 3 % 3]
    price = (4000, 7500, 13_500)[turn % 3] * (94 + 4 * (turn % 4)) // 100
    # Seat 8 overspends and leaves within the first months.
    budget = 400_000 if seat == 8 else 500 * (turn % 4)
    return {
        "products": {
            product: {
                "price_cents": price,
                "promotion_cents": price * (turn % 3) // 40,
                "reorder_target": (30 + 20 * (turn % 5), 320, 6 * (turn % 4))[seat % 3],
                "daily_development_budget_cents": 1500 if seat % 3 == 1 else 200 * (turn % 3),
            }
        },
        "marketing": {segment: {channel: budget}},
        "reliability_budget_cents": 700 * (turn % 4),
        "support_budget_cents": 1500 * (turn % 3),
    }


def _bids(state: WorldState, seat: int) -> dict[str, int]:
    """Some bid below the reservation price, some equal, one above it."""
    return {
        tender.tender_id: tender.reservation_price_cents * (85 + 5 * (seat % 4)) // 100 + seat // 7
        for tender in state.tenders
        if seat % 3
    }


def _commitments(state: WorldState, firm: FirmState, seat: int) -> list[dict[str, Any]]:
    turn = state.version + seat
    actions: list[dict[str, Any]] = []
    pending = firm.pending_capacity
    if turn % 11 == 3:
        actions.append({"innovation_tier": 1 + turn // 11 % 3})
    if turn % 12 == 1:
        levels = 1 + turn % 5, 1 + seat % 5
        actions.append(
            {
                "research": tuple(
                    {"segment_id": SEGMENTS[(turn + number) % 3], "level": level}
                    for number, level in enumerate(levels)
                )
            }
        )
    if pending is not None and pending.is_expansion and turn % 9 == 4:
        actions.append({"capacity": {"action": "cancel", "project_id": pending.project_id}})
    elif pending is None and turn % 11 == 2:
        actions.append({"capacity": {"action": "expand", "target_tier": firm.tier + 1}})
    elif pending is None and turn % 13 == 7:
        actions.append({"capacity": {"action": "downsize", "target_tier": max(0, firm.tier - 1)}})
    return actions


def scripted_world(
    scenario: Scenario, seed: int, firms: int = 8, days: int | None = None
) -> tuple[WorldState, list[DayRecord]]:
    """Play a world by the script; returns the last state and the records of all its days."""
    streams = Streams(seed)
    state = initial_state(scenario, streams, firms)
    records: list[DayRecord] = []
    while state.day < min(days or scenario.horizon_days, scenario.horizon_days):
        settled = settle_window(scenario, streams, state, scripted_decisions(scenario, state))
        state = settled.state
        records += settled.days
    return state, records


def actions_of(decisions: Mapping[int, CompanyDecision | None]) -> set[str]:
    """The kinds of action that some decisions take."""
    kinds: set[str] = set()
    for choice in decisions.values():
        if choice is None:
            kinds.add("none")
            continue
        kinds |= {"innovation"} if choice.innovation_tier else set()
        kinds |= {choice.capacity.action} if choice.capacity else set()
        kinds |= {"research"} if choice.research else set()
        kinds |= {"bid"} if choice.bids else set()
    return kinds
