"""Random valid decisions over whole horizons: accounts, units, capacity, encoding, exits."""

import math
from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.distributions import multinomial
from engine.records import Ledger
from engine.rules.choice import choice_weights
from engine.scenario import default_scenario
from engine.score import salvage_cents, score_cents
from engine.settle import initial_state, settle_window
from engine.state import decode_state, encode_state
from engine.streams import Streams
from tests.engine.invariants import check_books, check_day, check_encoding, check_firm, check_market
from tests.engine.wild import events, wild_decisions
from tests.engine.worlds import altered

DEFAULT = default_scenario()
bounded = settings(derandomize=True, database=None)


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
