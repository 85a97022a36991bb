"""Random valid decisions over whole horizons: accounts, units, capacity, encoding, exits."""

import math
from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decision import CompanyDecision, decision_problems
from engine.distributions import multinomial
from engine.records import DayRecord, Ledger
from engine.rules.choice import choice_weights
from engine.scenario import Scenario, default_scenario
from engine.score import salvage_cents, score_cents
from engine.settle import initial_state, settle_window
from engine.state import FirmState, WorldState, decode_state, encode_state
from engine.streams import Streams
from tests.engine.invariants import check_books, check_day, check_encoding, check_firm, check_market
from tests.engine.worlds import altered, decision

DEFAULT = default_scenario()
bounded = settings(derandomize=True, database=None)


# --- random companies ---------------------------------------------------------------------------


def wild_decision(
    luck: Random, scenario: Scenario, state: WorldState, seat: int
) -> CompanyDecision:
    """A valid decision at random; what the world does not allow is dropped.

    Odd seats are fond of extremes and soon leave; even seats are careful, and most see the last
    day.
    """
    firm = state.firms[seat - 1]
    bold = seat % 2 == 1
    parts = [
        ("products", _products(luck, scenario, firm, bold)),
        ("marketing", _marketing(luck, scenario, bold)),
        ("reliability_budget_cents", _budget(luck, bold)),
        ("support_budget_cents", _budget(luck, bold)),
        ("bids", _bids(luck, state)),
        ("capacity", _capacity(luck, scenario, firm)),
        ("innovation_tier", luck.randint(1, len(scenario.innovation.tiers))),
        ("research", _research(luck, scenario)),
    ]
    commitments = {"capacity", "innovation_tier", "research"}
    changes: dict[str, Any] = {}
    for name, value in parts:
        if luck.random() > (0.5 if bold or name not in commitments else 0.05):
            continue
        candidate = decision(state, seat, **changes, **{name: value})
        if not list(decision_problems(scenario, state, seat, candidate)):
            changes[name] = value
    return decision(state, seat, **changes)


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


# --- random markets -----------------------------------------------------------------------------

MARKETS: Mapping[str, st.SearchStrategy[Any]] = {
    "horizon_days": st.integers(1, 60),
    "initial_cash_cents": st.sampled_from([0, 50_000, 3_000_000, 50_000_000]),
    "initial_capacity_tier": st.integers(0, 3),
    "phases.mean_days": st.sampled_from([None, 1.0, 4.0]),
    "segments.0.baseline_demand": st.sampled_from([1.0, 90.0, 300.0, 900.0]),
    "products.0.initial_stock": st.sampled_from([0, 20, 600]),
    "products.1.initial_price_cents": st.sampled_from([0, 7500]),
    "products.2.procurement_days": st.integers(1, 12),
    "capacity.tiers.0.units_per_day": st.sampled_from([0, 5, 60]),
    "capacity.tiers.1.construction_days": st.integers(1, 9),
    "capacity.downsizing_days": st.integers(1, 9),
    "innovation.tiers.0.median_days": st.integers(1, 9),
    "innovation.max_pending": st.sampled_from([None, 1]),
    "choice.switching_share": st.sampled_from([0.0, 0.76, 1.0]),
    "service.abandonment": st.sampled_from([0.0, 0.05, 1.0]),
    # Tenders that overlap, close together, and come up more often than they are delivered.
    "tenders.interval_days": st.integers(1, 6),
    "tenders.bidding_days": st.integers(1, 8),
    "tenders.delivery_days": st.integers(1, 8),
    "tenders.size_units": st.sampled_from([1, 40, 690]),
    "tenders.quality_margin": st.just(0.0),
}
markets = st.fixed_dictionaries(dict(MARKETS))
seeds = st.integers(0, 2**64)


@settings(bounded, max_examples=200)
@given(market=markets, seed=seeds, firms=st.integers(1, 4))
def test_every_day_of_a_wild_world(market: dict[str, Any], seed: int, firms: int) -> None:
    """Windows of one day: the identity, the units and the encoding of every company-day."""
    scenario = altered(DEFAULT, market | {"window_days": 1})
    streams, luck = Streams(seed), Random(seed)
    state = initial_state(scenario, streams, firms)
    while state.day < scenario.horizon_days:
        decisions = wild_decisions(luck, scenario, state)
        settled = settle_window(scenario, streams, state, decisions)
        (record,) = settled.days
        check_day(scenario, state, settled.state, record)
        assert set(settled.receipts) == {seat for seat, choice in decisions.items() if choice}
        state = settled.state
    assert all(order.due_day is None for firm in state.firms for order in firm.queue)


@settings(bounded, max_examples=60)
@given(market=markets, seed=seeds, firms=st.integers(2, 4), window=st.integers(2, 9))
def test_windows_of_a_wild_world(
    market: dict[str, Any], seed: int, firms: int, window: int
) -> None:
    """What goes in stays as it is; a fresh reader of the bytes and another order give the same."""
    scenario = altered(DEFAULT, market | {"window_days": window})
    streams, luck = Streams(seed), Random(seed)
    state = initial_state(scenario, streams, firms)
    while state.day < scenario.horizon_days:
        decisions = wild_decisions(luck, scenario, state)
        encoded = encode_state(state)
        settled = settle_window(scenario, streams, state, decisions)
        assert encode_state(state) == encoded
        backwards = dict(sorted(decisions.items(), reverse=True))
        again = settle_window(scenario, Streams(seed), decode_state(encoded), backwards)
        assert again.days == settled.days
        assert again.receipts == settled.receipts
        assert encode_state(again.state) == encode_state(settled.state)
        state = settled.state


@settings(bounded, max_examples=5)
@given(seed=seeds)
def test_wild_companies_over_the_whole_horizon(seed: int) -> None:
    """The evaluated market: 500 days, eight companies; the Score's identity at the end."""
    streams, luck = Streams(seed), Random(seed)
    state = initial_state(DEFAULT, streams, 8)
    net = [0] * 8
    left: set[int] = set()
    while state.day < DEFAULT.horizon_days:
        settled = settle_window(DEFAULT, streams, state, wild_decisions(luck, DEFAULT, state))
        for record in settled.days:
            check_market(record)
            assert not left & {company.seat for company in record.companies}
            for company in record.companies:
                check_books(DEFAULT, company)
                net[company.seat - 1] += company.ledger.net_cents
                left |= {company.seat} if company.exited else set()
            assert record.public.exited_seats == [
                company.seat for company in record.companies if company.exited
            ]
        state = settled.state
        for firm in state.firms:
            check_firm(DEFAULT, firm)
        check_encoding(state, settled.days[-1])
    stock_value = DEFAULT.initial_value_cents - DEFAULT.initial_cash_cents
    for flow, firm in zip(net, state.firms, strict=True):
        assert score_cents(DEFAULT, firm) == flow + salvage_cents(DEFAULT, firm) - stock_value


def test_wild_worlds_are_wild_enough() -> None:
    """The random companies reach what the properties speak of."""
    scenario = altered(
        DEFAULT,
        {
            "horizon_days": 60,
            "initial_capacity_tier": 1,
            "capacity.tiers.0.units_per_day": 2,
            "capacity.tiers.1.units_per_day": 20,
            "capacity.tiers.2.construction_days": 9,
            "capacity.downsizing_days": 2,
            "innovation.tiers.0.median_days": 9,
            "tenders.interval_days": 3,
            "tenders.size_units": 300,
            "tenders.quality_margin": 0.0,
        },
    )
    reached: set[str] = set()
    for seed in range(24):
        streams, luck = Streams(seed), Random(seed)
        state = initial_state(scenario, streams, 3)
        while state.day < scenario.horizon_days:
            settled = settle_window(scenario, streams, state, wild_decisions(luck, scenario, state))
            state = settled.state
            for record in settled.days:
                reached |= events(record)
    flows = set(Ledger.__struct_fields__)
    assert reached >= flows | {
        "lost switchers",
        "award",
        "no award",
        "innovation_project",
        "capacity_project",
        "exit",
        "report",
        "backlog",
        "abandoned",
        "given away",
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


# --- probabilities ------------------------------------------------------------------------------

utilities = st.floats(-1e6, 1e6)


@settings(bounded, max_examples=300)
@given(offers=st.lists(utilities, min_size=1, max_size=27), outside=utilities)
def test_choice_probabilities_sum_to_one(offers: list[float], outside: float) -> None:
    weights, outside_weight = choice_weights(offers, outside, -700.0)
    total = math.fsum([*weights, outside_weight])
    probabilities = [weight / total for weight in [*weights, outside_weight]]
    assert abs(math.fsum(probabilities) - 1.0) < 1e-14
    assert all(0.0 < probability <= 1.0 for probability in probabilities)
    assert max(*weights, outside_weight) == 1.0
    order = sorted(range(len(offers)), key=offers.__getitem__)
    assert [weights[place] for place in order] == sorted(weights)


@settings(bounded, max_examples=300)
@given(
    weights=st.lists(st.floats(0.0, 1.0), max_size=27),
    rest=st.floats(0.0, 1.0),
    trials=st.integers(0, 1000),
    seed=seeds,
)
def test_multinomial_counts_are_a_partition(
    weights: list[float], rest: float, trials: int, seed: int
) -> None:
    """Nobody is counted twice; without a rest everybody is counted, and a zero weight gets
    nobody.
    """
    if not math.fsum([*weights, rest]) > 0.0:
        return
    counts = multinomial(Streams(seed).open("law", 0, 0, len(weights)), trials, weights, rest)
    assert len(counts) == len(weights)
    assert all(count >= 0 for count in counts)
    assert sum(counts) <= trials
    assert all(count == 0 for count, weight in zip(counts, weights, strict=True) if weight == 0.0)
    if rest == 0.0:
        assert sum(counts) == trials
