"""The engine against a second, naive market that was written from market.md alone.

Both play the same worlds; every ledger, record, state, Score and verdict on a decision must be the
same. What a sample is there for must have happened in it.
"""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from engine.boundary import Boundary
from engine.decision import CompanyDecision, decision_problems
from engine.policies.base import make_policy, policy_names
from engine.records import DayRecord
from engine.scenario import Scenario, default_scenario
from engine.state import WorldState
from tests.engine.agreement import Decide, play_both
from tests.engine.reference.decisions import allowed
from tests.engine.reference.market import Market
from tests.engine.wild import attempted_decision
from tests.engine.worlds import altered

DEFAULT: Final = default_scenario()


def played_by(scenario: Scenario, names: Sequence[str]) -> Decide:
    """CEOs without a model, by seat."""
    policies = [make_policy(name, {}) for name in names]

    def decide(
        state: WorldState, days: Sequence[DayRecord], market: Market
    ) -> Mapping[int, CompanyDecision | None]:
        boundary = Boundary(scenario, state, days)
        decisions: dict[int, CompanyDecision | None] = {}
        for seat, policy in enumerate(policies, start=1):
            if state.firms[seat - 1].active:
                choice = policy.decide(boundary.observe(seat))
                assert allowed(market, seat, choice)
                decisions[seat] = choice
        return decisions

    return decide


@dataclass
class Attempts:
    """Companies that try decisions at random until the world allows one, three times at most.

    `verdicts` counts how often a field was refused, and what was allowed.
    """

    scenario: Scenario
    luck: Random
    eagerness: float
    verdicts: Counter[str] = field(default_factory=Counter)

    def __call__(
        self, state: WorldState, days: Sequence[DayRecord], market: Market
    ) -> Mapping[int, CompanyDecision | None]:
        del days
        return {
            seat: self._first_allowed(state, market, seat)
            for seat, firm in enumerate(state.firms, start=1)
            if firm.active
        }

    def _first_allowed(
        self, state: WorldState, market: Market, seat: int
    ) -> CompanyDecision | None:
        for _ in range(3):
            choice = attempted_decision(self.luck, self.scenario, state, seat, self.eagerness)
            problems = list(decision_problems(self.scenario, state, seat, choice))
            assert allowed(market, seat, choice) is not bool(problems), (choice, problems)
            self.verdicts.update(_place(problem) for problem in problems)
            if not problems:
                self.verdicts["allowed"] += 1
                if choice.capacity is not None:
                    self.verdicts[choice.capacity.action] += 1
                return choice
        return None


def _place(problem: str) -> str:
    """The field that a problem is about, without its number or what follows its name."""
    return problem.partition(":")[0].partition(" of ")[0].partition("[")[0]


def of_all_products(**values: Any) -> dict[str, Any]:
    return {
        f"products.{number}.{name}": value for number in range(3) for name, value in values.items()
    }


CHEAP_COMMITMENTS: Final[Mapping[str, Any]] = {
    **{f"innovation.tiers.{tier}.cost_cents": 1000 for tier in range(3)},
    **{f"information.research_levels.{level}.cost_cents": 1000 for level in range(5)},
    "capacity.tiers.1.capital_cents": 12_345,
    "capacity.tiers.2.capital_cents": 33_333,
    "capacity.tiers.3.capital_cents": 77_777,
    "capacity.downsizing_days": 1,
    "window_days": 2,
}
QUICK_TENDERS: Final[Mapping[str, Any]] = {
    "tenders.quality_margin": 0.0,
    "tenders.minimum_share": 0.01,
    "tenders.maximum_share": 0.06,
}
SALES: Final = {"revenue_cents", "backlog", "abandoned", "lost switchers", "given away", "exit"}


@dataclass(frozen=True)
class Sample:
    """Worlds of an altered market, and what must happen in them for the sample to be worth it."""

    changes: Mapping[str, Any]
    expected: set[str]
    eagerness: float = 0.07
    companies: Sequence[int] = (1, 2, 4, 4, 6)


SAMPLES: Final[Mapping[str, Sample]] = {
    "evaluated market": Sample(
        {},
        {*SALES, "award", "report", "innovation_project", "capacity_project", "refunds_cents"},
    ),
    "overlapping tenders": Sample(
        {
            **QUICK_TENDERS,
            "window_days": 3,
            "horizon_days": 150,
            "tenders.interval_days": 2,
            "tenders.bidding_days": 5,
            "tenders.delivery_days": 11,
        },
        {*SALES, "award", "no award"},
    ),
    "tenders of one day": Sample(
        {
            **QUICK_TENDERS,
            "window_days": 1,
            "horizon_days": 80,
            "tenders.interval_days": 1,
            "tenders.bidding_days": 1,
            "tenders.delivery_days": 1,
        },
        {*SALES, "award", "no award"},
    ),
    "no cash": Sample(
        {"initial_cash_cents": 0, "horizon_days": 60},
        {*SALES, "one-time commitments"},
    ),
    "scarce capacity": Sample(
        {
            "horizon_days": 150,
            "capacity.tiers.0.units_per_day": 25,
            **of_all_products(initial_stock=10, initial_reorder_target=40),
            **{f"segments.{segment}.outside_utility": -5.0 for segment in range(3)},
        },
        SALES,
    ),
    "no capacity": Sample(
        {"horizon_days": 150, "capacity.tiers.0.units_per_day": 0},
        {"capacity_project", "revenue_cents", "backlog", "exit"},
    ),
    # A contract waits behind older orders of consumers, who may not have the units reserved for it.
    "reserved stock": Sample(
        {
            **QUICK_TENDERS,
            "window_days": 1,
            "horizon_days": 120,
            "tenders.interval_days": 1,
            "tenders.bidding_days": 1,
            "tenders.delivery_days": 20,
            "tenders.minimum_share": 0.02,
            "capacity.tiers.0.units_per_day": 40,
            **of_all_products(initial_stock=60, initial_reorder_target=60, procurement_days=2),
            **{f"segments.{segment}.outside_utility": -3.0 for segment in range(3)},
        },
        {*SALES, "award"},
        eagerness=0.02,
    ),
    "late contracts": Sample(
        {
            **CHEAP_COMMITMENTS,
            **QUICK_TENDERS,
            "horizon_days": 120,
            "initial_capacity_tier": 3,
            "capacity.tiers.0.units_per_day": 1,
            "capacity.tiers.1.units_per_day": 3,
            "capacity.tiers.3.construction_days": 2,
            "tenders.interval_days": 2,
            "tenders.bidding_days": 2,
            "tenders.delivery_days": 3,
            "tenders.maximum_share": 0.15,
        },
        {"award", "penalties_cents", "downsize", "expand"},
        eagerness=0.3,
    ),
    "quick ladders": Sample(
        {
            **CHEAP_COMMITMENTS,
            "horizon_days": 120,
            "capacity.tiers.1.construction_days": 3,
            "capacity.tiers.2.construction_days": 5,
            "capacity.tiers.3.construction_days": 2,
        },
        {"cancel", "refunds_cents", "downsize", "expand", "capacity_project"},
        eagerness=0.3,
    ),
    "one project at a time": Sample(
        {
            **CHEAP_COMMITMENTS,
            "horizon_days": 150,
            "innovation.max_pending": 1,
            "innovation.tiers.0.median_days": 5,
        },
        {"innovation_project", "innovation_tier"},
        eagerness=0.3,
    ),
    "restless market": Sample(
        {
            "horizon_days": 120,
            "phases.mean_days": 2.0,
            "macro.volatility": 0.2,
            "knowledge.maturation_days": 1,
            "information.signal_delay_days": 3,
            **of_all_products(procurement_days=1),
        },
        SALES,
    ),
    "zero prices": Sample(
        {
            "horizon_days": 60,
            "phases.mean_days": None,
            **of_all_products(initial_price_cents=0),
        },
        SALES,
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_random_companies(name: str) -> None:
    sample = SAMPLES[name]
    scenario = altered(DEFAULT, sample.changes)
    attempts = Attempts(scenario, Random(name), sample.eagerness)
    happened: Counter[str] = Counter()
    for seed, companies in enumerate(sample.companies, start=1):
        happened += play_both(scenario, seed, companies, attempts)
    assert {*happened, *attempts.verdicts} >= sample.expected
    assert attempts.verdicts["allowed"] >= 50


def test_every_kind_of_refusal() -> None:
    """Where commitments are cheap, random companies last long enough to make every mistake."""
    scenario = altered(DEFAULT, {**CHEAP_COMMITMENTS, "horizon_days": 200})
    attempts = Attempts(scenario, Random("mistakes"), 0.2)
    play_both(scenario, 1, 6, attempts)
    assert set(attempts.verdicts) - {"allowed", "expand", "downsize", "cancel"} == {
        "company_id",
        "world_version",
        "products",
        "products.A.promotion_cents",
        "marketing.segment_id",
        "marketing.value.channel",
        "innovation_tier",
        "capacity.target_tier",
        "capacity.project_id",
        "bids",
        "research",
    }


@pytest.mark.parametrize(
    ("seed", "names"),
    [
        pytest.param(11, policy_names(), id="all of them"),
        pytest.param(47, ["rule", "growth", "tender-hunter", "tender-hunter"], id="four"),
    ],
)
def test_ceos_without_a_model_over_the_whole_horizon(seed: int, names: Sequence[str]) -> None:
    happened = play_both(DEFAULT, seed, len(names), played_by(DEFAULT, names))
    assert happened["overhead_cents"] == DEFAULT.horizon_days
    assert happened["award"]


def test_the_reference_knows_nothing_of_the_rules() -> None:
    """Parameters, streams, distributions and plain data are all that it takes from the engine."""
    imported = set()
    for path in sorted((Path(__file__).parent / "reference").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                imported.add(node.module)
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
    engine = {name for name in imported if name.startswith("engine")}
    assert engine == {
        f"engine.{name}"
        for name in (
            "decision",
            "distributions",
            "parameters",
            "records",
            "scenario",
            "state",
            "streams",
        )
    }
