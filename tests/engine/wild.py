"""Companies that decide at random, and what happens to them."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from engine.decision import CompanyDecision, decision_problems
from engine.records import DayRecord, Ledger
from engine.scenario import Scenario
from engine.state import FirmState, WorldState
from tests.engine.worlds import decision

MISTAKES: Final[tuple[Mapping[str, Any], ...]] = (
    {"company_id": "company-99"},
    {"world_version": 99_999},
    {"products": {"Z": {"price_cents": 1}}},
    {"products": {"A": {"price_cents": 5, "promotion_cents": 6}}},
    {"marketing": {"rich": {"search": 1}}},
    {"marketing": {"value": {"radio": 1}}},
    {"innovation_tier": 9},
    {"capacity": {"action": "expand", "target_tier": 9}},
    {"capacity": {"action": "expand", "target_tier": 0}},
    {"capacity": {"action": "downsize", "target_tier": 3}},
    {"capacity": {"action": "cancel", "project_id": "capacity-none"}},
    {"bids": {"tender-none": 1}},
    {"research": ({"segment_id": "rich", "level": 1},)},
    {"research": ({"segment_id": "value", "level": 9},)},
)
"""What no world, or nearly none, allows."""


COMMITMENTS: Final = ("capacity", "innovation_tier", "research")


def wild_decision(
    luck: Random, scenario: Scenario, state: WorldState, seat: int
) -> CompanyDecision:
    """A valid decision at random; what the world does not allow is dropped.

    Odd seats are fond of extremes and soon leave; even seats are careful, and most see the last
    day.
    """
    bold = _is_bold(seat)
    parts = _parts(luck, scenario, state, seat)
    changes: dict[str, Any] = {}
    for name, value in parts:
        if luck.random() > (0.5 if bold or name not in COMMITMENTS else 0.05):
            continue
        candidate = decision(state, seat, **changes, **{name: value})
        if not list(decision_problems(scenario, state, seat, candidate)):
            changes[name] = value
    return decision(state, seat, **changes)


def attempted_decision(
    luck: Random, scenario: Scenario, state: WorldState, seat: int, eagerness: float
) -> CompanyDecision:
    """A decision at random as it comes, which the world may or may not allow.

    `eagerness` is the share of decisions that place a commitment of a kind.
    """
    changes: dict[str, Any] = {
        name: value
        for name, value in _parts(luck, scenario, state, seat)
        if luck.random() < (eagerness if name in COMMITMENTS else 0.5)
    }
    if luck.random() < 0.1:
        changes |= luck.choice(MISTAKES)
    return decision(state, seat, **changes)


def _is_bold(seat: int) -> bool:
    return seat % 2 == 1


def _parts(luck: Random, scenario: Scenario, state: WorldState, seat: int) -> list[tuple[str, Any]]:
    firm, bold = state.firms[seat - 1], _is_bold(seat)
    return [
        ("products", _products(luck, scenario, firm, bold)),
        ("marketing", _marketing(luck, scenario, bold)),
        ("reliability_budget_cents", _budget(luck, bold)),
        ("support_budget_cents", _budget(luck, bold)),
        ("bids", _bids(luck, state)),
        ("capacity", _capacity(luck, scenario, firm)),
        ("innovation_tier", luck.randint(1, len(scenario.innovation.tiers))),
        ("research", _research(luck, scenario)),
    ]


def _budget(luck: Random, bold: bool) -> int:
    if not bold:
        return luck.choice((0, 1, 300, 900))
    return luck.choice((0, 1, 500, 3_000, 20_000, 20_000_000 if luck.random() < 0.02 else 7_000))


def _products(
    luck: Random, scenario: Scenario, firm: FirmState, bold: bool
) -> dict[str, dict[str, int]]:
    settings_: dict[str, dict[str, int]] = {}
    for number, product in enumerate(scenario.products):
        start, cost = product.initial_price_cents, product.purchase_cost_cents
        if bold:
            price = luck.choice((0, 1, cost, start, firm.price_cents[number], 10**9))
            promotion = luck.choice((0, price // 3, price))
        else:
            price = luck.choice((start, start + 300, cost + 1000))
            promotion = luck.choice((0, price // 20))
        settings_[product.id] = {
            "price_cents": price,
            "promotion_cents": promotion,
            "reorder_target": luck.choice((0, 1, 40, 300, 10_000) if bold else (20, 60, 250)),
            "daily_development_budget_cents": luck.choice((0, 1, 2_000) if bold else (0, 1, 500)),
        }
    return settings_


def _marketing(luck: Random, scenario: Scenario, bold: bool) -> dict[str, dict[str, int]]:
    return {
        segment: {
            channel: _budget(luck, bold) for channel in scenario.channels if luck.random() < 0.5
        }
        for segment in scenario.segment_ids
        if luck.random() < 0.5
    }


def _bids(luck: Random, state: WorldState) -> dict[str, int]:
    return {
        tender.tender_id: luck.choice((0, limit // 2, limit // 2, limit, limit, limit + 1))
        for tender in state.tenders
        for limit in (tender.reservation_price_cents,)
    }


def _capacity(luck: Random, scenario: Scenario, firm: FirmState) -> dict[str, Any]:
    known = [project.project_id for project in firm.capacity_projects]
    if known and luck.random() < 0.5:
        return {"action": "cancel", "project_id": luck.choice(known)}
    tier = luck.randrange(len(scenario.capacity.tiers))
    return {"action": "expand" if tier > firm.tier else "downsize", "target_tier": tier}


def _research(luck: Random, scenario: Scenario) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"segment_id": luck.choice(scenario.segment_ids), "level": luck.randint(1, 5)}
        for _ in range(luck.randint(1, 3))
    )


def wild_decisions(
    luck: Random, scenario: Scenario, state: WorldState
) -> dict[int, CompanyDecision | None]:
    return {
        seat: wild_decision(luck, scenario, state, seat) if luck.random() < 0.8 else None
        for seat, firm in enumerate(state.firms, start=1)
        if firm.active
    }


def events(record: DayRecord) -> set[str]:
    """What happened on a day, by name."""
    found = {"award" if award.winner_seat else "no award" for award in record.public.awards}
    if sum(record.market.lost_switchers):
        found.add("lost switchers")
    for company in record.companies:
        found |= {name for name in Ledger.__struct_fields__ if getattr(company.ledger, name)}
        found |= {completion.kind for completion in company.completions}
        happened = {
            "exit": company.exited,
            "report": company.reports,
            "backlog": company.queued_units,
            "abandoned": any(line.abandoned_units for line in company.products),
            "given away": any(
                line.fulfilled_units and not line.revenue_cents for line in company.products
            ),
        }
        found |= {name for name, fact in happened.items() if fact}
    return found
