"""The characters in whole worlds: always valid, always the same, and each a business of its own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.boundary import Boundary
from engine.decision import LARGEST_AMOUNT, CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.score import score_cents
from engine.settle import initial_state, settle_window
from engine.state import WorldState, state_digest
from engine.streams import Streams
from tests.engine.policies.boundaries import POLICIES, SCENARIO, observed
from tests.engine.worlds import altered

CHARACTERS = sorted(set(POLICIES) - {"rule", "no-action"})
TIED_TO_NAMES = {"rule", "discounter"}


def policy(name: str, parameters: Mapping[str, Any] | None = None) -> Policy:
    kind = POLICIES[name]
    return kind(kind.parameters_type.model_validate(dict(parameters or {})))


def changed_settings(observation: Observation, decision: CompanyDecision) -> Counter[str]:
    """How often each kind of action is used; a restated setting is none."""
    used: Counter[str] = Counter()
    for product_id, stated in decision.products.items():
        own = observation.products[product_id]
        used["price"] += stated.price_cents not in (None, own.price_cents)
        used["promotion"] += stated.promotion_cents not in (None, own.promotion_cents)
        used["target"] += stated.reorder_target not in (None, own.reorder_target)
        used["development"] += stated.daily_development_budget_cents not in (
            None,
            own.development_cents,
        )
    for segment_id, budgets in decision.marketing.items():
        used["marketing"] += budgets != observation.marketing[segment_id]
    used["reliability"] += decision.reliability_budget_cents not in (
        None,
        observation.reliability_cents,
    )
    used["support"] += decision.support_budget_cents not in (None, observation.support_cents)
    used["innovation"] += decision.innovation_tier is not None
    if decision.capacity is not None:
        used[decision.capacity.action] += 1
    used["bid"] += len(decision.bids)
    used["research"] += len(decision.research)
    return used


def play(
    scenario: Scenario, seed: int, panel: Sequence[Policy]
) -> tuple[WorldState, dict[str, Counter[str]]]:
    """A whole horizon; settling a window refuses every decision that the world does not allow."""
    streams = Streams(seed)
    state = initial_state(scenario, streams, len(panel))
    days: list[DayRecord] = []
    used: dict[str, Counter[str]] = {member.name: Counter() for member in panel}
    while state.day < scenario.horizon_days:
        boundary = Boundary(scenario, state, days)
        decisions = {}
        for seat, member in enumerate(panel, start=1):
            if state.firms[seat - 1].active:
                observation = boundary.observe(seat)
                decisions[seat] = member.decide(observation)
                used[member.name] += changed_settings(observation, decisions[seat])
        settlement = settle_window(scenario, streams, state, decisions)
        state, days = settlement.state, settlement.days
    return state, used


@cache
def evaluated_worlds() -> dict[int, tuple[WorldState, dict[str, Counter[str]]]]:
    """The eight characters together, at the evaluated seeds."""
    return {
        seed: play(SCENARIO, seed, [policy(name) for name in CHARACTERS]) for seed in (11, 29, 47)
    }


@pytest.mark.parametrize("seed", [11, 29, 47])
def test_only_the_overspender_goes_bankrupt_and_all_others_earn_money(seed: int) -> None:
    state, _ = evaluated_worlds()[seed]
    firms = dict(zip(CHARACTERS, state.firms, strict=True))
    bankrupt_day = firms.pop("overspender").exit_day
    assert bankrupt_day is not None
    assert bankrupt_day < 250
    for firm in firms.values():
        assert firm.exit_day is None
        assert score_cents(SCENARIO, firm) > 0


ACTIONS: dict[str, set[str]] = {
    "balanced": {"price", "development", "innovation", "expand", "bid", "research"},
    "discounter": {"promotion", "marketing"},
    "growth": {"expand", "downsize", "cancel", "marketing"},
    "harvester": {"target", "promotion", "marketing"},
    "overspender": {"innovation", "expand", "research", "marketing"},
    "price-follower": {"price", "target", "reliability", "support"},
    "quality-leader": {"price", "development", "innovation"},
    "tender-hunter": {"bid", "research", "development", "target"},
}


@pytest.mark.parametrize("name", CHARACTERS)
def test_each_character_does_what_it_is_named_for(name: str) -> None:
    used: Counter[str] = Counter()
    for _, actions in evaluated_worlds().values():
        used += actions[name]
    assert ACTIONS[name] <= set(used)


def test_together_they_use_every_kind_of_action() -> None:
    together: Counter[str] = Counter()
    for _, actions in evaluated_worlds().values():
        for used in actions.values():
            together += used
    assert set(together) == set().union(*ACTIONS.values())


@pytest.mark.parametrize("rivals", [0, 1, 7])
@pytest.mark.parametrize("rival", ["no-action", "rule"])
def test_the_overspender_goes_bankrupt_whoever_else_is_there(rivals: int, rival: str) -> None:
    panel = [policy("overspender"), *(policy(rival) for _ in range(rivals))]
    state, _ = play(SCENARIO.with_horizon(250), 3, panel)
    assert state.firms[0].exit_day is not None


def test_the_harvester_ends_with_less_stock_than_it_lives_with() -> None:
    panel = [policy(name) for name in CHARACTERS]
    seat = CHARACTERS.index("harvester")
    stocks = [
        sum(play(SCENARIO.with_horizon(horizon), 11, panel)[0].firms[seat].stock)
        for horizon in (500, 300)
    ]
    # Stopped at its own horizon of 300 days it has drawn down as well.
    assert all(stock < 60 for stock in stocks)


RENAMED: dict[str, Any] = {
    **{f"products.{number}.id": name for number, name in enumerate(("X1", "X2", "X3"))},
    **{f"segments.{number}.id": name for number, name in enumerate(("north", "south", "west"))},
    **{
        f"segments.{number}.product_match": {"X1": 0.0, "X2": 0.2, "X3": 0.1} for number in range(3)
    },
    **{
        f"phases.states.{number}.mix": {"north": 1.0, "south": 1.0, "west": 1.0}
        for number in range(4)
    },
}

NARROW: dict[str, Any] = {
    "capacity.tiers": [
        {"units_per_day": 0, "overhead_cents": 0, "capital_cents": 0, "construction_days": 1}
    ],
    "innovation.tiers": [],
    "information.research_levels": [],
}


@st.composite
def scenarios(draw: st.DrawFn, *, names: bool) -> Scenario:
    """Short markets of many kinds; with ``names``, also ones with other products and segments."""
    changes: dict[str, Any] = {
        "horizon_days": draw(st.integers(1, 45)),
        "window_days": draw(st.integers(1, 10)),
        "initial_cash_cents": draw(
            st.sampled_from([0, 150_000, 6_000_000, 20_000_000, 50_000_000])
        ),
        "initial_capacity_tier": draw(st.integers(0, 3)),
        "products.0.initial_price_cents": draw(st.sampled_from([0, 1, 4_000])),
        "products.1.initial_stock": draw(st.sampled_from([0, 400])),
        "products.2.procurement_days": draw(st.sampled_from([1, 10, 60])),
        "tenders.interval_days": draw(st.sampled_from([1, 3, 14])),
        "tenders.minimum_share": 0.0,
        "innovation.max_pending": draw(st.sampled_from([None, 1, 2])),
        "innovation.tiers.0.median_days": draw(st.sampled_from([1, 45])),
        "capacity.tiers.1.construction_days": draw(st.sampled_from([2, 21])),
    }
    if draw(st.booleans()):
        changes |= NARROW | {"initial_capacity_tier": 0}
        del changes["innovation.tiers.0.median_days"], changes["capacity.tiers.1.construction_days"]
    if names and draw(st.booleans()):
        changes |= RENAMED
    return altered(SCENARIO, changes)


@st.composite
def parameters(draw: st.DrawFn, kind: type[Parameters]) -> dict[str, int]:
    """Defaults, some of them moved to the ends of what is allowed."""
    moved = {}
    for name, field in kind.model_fields.items():
        if isinstance(field.default, int) and draw(st.integers(0, 3)) == 0:
            highest = min(getattr(bound, "le", LARGEST_AMOUNT) for bound in field.metadata)
            moved[name] = draw(st.sampled_from([0, 1, field.default * 2, 100_000, highest]))
            moved[name] = min(moved[name], highest)
    return moved


@st.composite
def panels(draw: st.DrawFn, names: Sequence[str]) -> list[Policy]:
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=9))
    return [policy(name, draw(parameters(POLICIES[name].parameters_type))) for name in chosen]


@settings(max_examples=40)
@given(scenario=scenarios(names=False), panel=panels(sorted(POLICIES)), seed=st.integers(0, 10**6))
def test_every_decision_is_valid_in_every_panel(
    scenario: Scenario, panel: list[Policy], seed: int
) -> None:
    play(scenario, seed, panel)


@settings(max_examples=40)
@given(
    scenario=scenarios(names=True),
    panel=panels(sorted(set(POLICIES) - TIED_TO_NAMES)),
    seed=st.integers(0, 10**6),
)
def test_most_characters_do_not_depend_on_names(
    scenario: Scenario, panel: list[Policy], seed: int
) -> None:
    play(scenario, seed, panel)


@settings(max_examples=30)
@given(
    scenario=scenarios(names=False),
    names=st.lists(st.sampled_from(sorted(POLICIES)), min_size=1, max_size=9),
    seed=st.integers(0, 10**6),
)
def test_equal_observations_give_equal_decisions(
    scenario: Scenario, names: list[str], seed: int
) -> None:
    """Whether one policy object lives through the whole world or a new one is made every time."""

    class Forgetful(Policy):
        name = "forgetful"
        version = "v1"

        def __init__(self, remembered: str) -> None:
            super().__init__(Parameters())
            self.remembered = remembered

        def decide(self, observation: Observation) -> CompanyDecision:
            decided = policy(self.remembered).decide(observation)
            # Neither another observation nor a second look in between makes a difference.
            other = policy(self.remembered)
            other.decide(replace(observation, cash_cents=0, capacity_quotes=(), tenders=()))
            assert other.decide(observation) == decided
            return decided

    living, _ = play(scenario, seed, [policy(name) for name in names])
    reborn, _ = play(scenario, seed, [Forgetful(name) for name in names])
    assert state_digest(living) == state_digest(reborn)


def test_decisions_survive_their_json_form() -> None:
    streams = Streams(5)
    state = initial_state(SCENARIO, streams, len(POLICIES))
    boundary = Boundary(SCENARIO, state, [])
    for seat, name in enumerate(sorted(POLICIES), start=1):
        decided = policy(name).decide(boundary.observe(seat))
        assert CompanyDecision.model_validate_json(decided.model_dump_json()) == decided


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"no-action", "discounter"}))
def test_no_promotion_is_left_standing(name: str) -> None:
    observation = observed()
    for product_id, own in observation.products.items():
        observation.products[product_id] = replace(own, promotion_cents=own.price_cents)
    decided = policy(name).decide(observation)
    assert {product.promotion_cents for product in decided.products.values()} == {0}
