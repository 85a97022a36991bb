"""Utility and choice probabilities (market.md section 3), worked out by hand."""

import math
from collections import Counter

import pytest

from engine.rules.choice import choice_weights, offers_of
from engine.scenario import Scenario
from engine.state import WorldState
from engine.streams import Streams
from tests.engine.worlds import (
    DELIVERY_PEAK,
    MAINSTREAM,
    PREMIUM,
    VALUE,
    A,
    B,
    C,
    altered,
    before_sales,
    calm,
    indifferent_market,
    new_world,
    settle_day,
)


def utility(scenario: Scenario, state: WorldState, segment: int, product: int) -> float:
    offers = offers_of(before_sales(scenario, state), segment)
    return next(utility for _, offered, _, utility in offers if offered == product)


# --- utility ------------------------------------------------------------------------------------


def test_utility_of_a_plain_offer() -> None:
    """Section 3, value segment, product A, balanced, t = 1 (q* = 0.50015), awareness 0.2.

    1.7 (0.55 - 0.50015) + 0 + 0.3 ln 0.2 + 0 - 5.8 x 40/45 + 0.45
    = 0.084745 - 0.4828313737 - 5.1555555556 + 0.45 = -5.1036419293
    """
    scenario = calm({"quality_trend.per_day": 0.00015})
    state = new_world(scenario)
    state.day = 1
    assert utility(scenario, state, VALUE, A) == pytest.approx(-5.1036419293, abs=1e-9)


def test_utility_uses_every_term() -> None:
    """Section 3, premium segment, product C, delivery peak, t = 200 (q* = 0.78 + 0.03 = 0.81).

    Price 135 - 10 promotion = 125, satisfaction 0.5, loyalty 0.25, awareness 0.2:
    2.7 (0.82 - 0.81) + 1.35 x 1.6 x 0.5 + 0.3 ln 0.2 + 1.1 x 0.25 - 0.97 x 2.2 x 125/140 + 0.55
    = 0.027 + 1.08 - 0.4828313737 + 0.275 - 1.9053571429 + 0.55 = -0.4561885166
    """
    scenario = calm({"quality_trend.per_day": 0.00015})
    state = new_world(scenario)
    state.day, state.phase = 200, DELIVERY_PEAK
    firm = state.firms[0]
    firm.promotion_cents[C] = 1000
    firm.satisfaction = [0.0, 0.5, 0.0]
    firm.loyalty = [0.0, 0.25, 0.0]
    assert utility(scenario, state, PREMIUM, C) == pytest.approx(-0.4561885166, abs=1e-9)


def test_utility_uses_realized_quality() -> None:
    """Sections 3 and 4: K = 5,000,000 (e - 1) cents give quality 0.68 + 0.18, weight 2.6 in
    mainstream.
    """
    scenario = calm()
    state = new_world(scenario)
    before = utility(scenario, state, MAINSTREAM, B)
    state.firms[0].knowledge_cents[B] = 5_000_000 * (math.e - 1)
    after = utility(scenario, state, MAINSTREAM, B)
    assert after - before == pytest.approx(2.6 * 0.18, abs=1e-12)


def test_awareness_is_floored_inside_the_logarithm() -> None:
    """Section 3: ln(max(a, 1e-9)); the mainstream awareness weight is 0.4, ln 0.2 =
    -1.609437912.
    """
    scenario = calm()
    state = new_world(scenario)
    before = utility(scenario, state, MAINSTREAM, A)
    state.firms[0].goodwill[MAINSTREAM] = 0.0
    after = utility(scenario, state, MAINSTREAM, A)
    assert after - before == pytest.approx(0.4 * (-20.7232658369 + 1.6094379124), abs=1e-9)


@pytest.mark.parametrize(
    ("segment", "product", "match"),
    [
        (VALUE, A, 0.45),
        (VALUE, B, 0.05),
        (VALUE, C, -0.35),
        (MAINSTREAM, A, 0.0),
        (MAINSTREAM, B, 0.40),
        (MAINSTREAM, C, 0.0),
        (PREMIUM, A, -0.45),
        (PREMIUM, B, 0.0),
        (PREMIUM, C, 0.55),
    ],
)
def test_product_match(segment: int, product: int, match: float) -> None:
    """Section 2: chi is added to the utility, by segment and product."""
    scenario = calm()
    neutral = altered(
        scenario, {f"segments.{segment}.product_match": {"A": 0.0, "B": 0.0, "C": 0.0}}
    )
    state = new_world(scenario)
    difference = utility(scenario, state, segment, product) - utility(
        neutral, state, segment, product
    )
    assert difference == pytest.approx(match, abs=1e-12)


# --- probabilities ------------------------------------------------------------------------------


def test_two_offers_and_the_outside_option() -> None:
    """Section 3: utilities 0, ln 2 and outside ln 3 give 1/6, 2/6 and 3/6."""
    weights, outside = choice_weights([0.0, math.log(2.0)], math.log(3.0), -700.0)
    total = weights[0] + weights[1] + outside
    assert [weights[0] / total, weights[1] / total, outside / total] == pytest.approx(
        [1 / 6, 2 / 6, 3 / 6], rel=1e-14
    )


def test_utilities_are_stabilized_by_the_highest_and_floored() -> None:
    """Section 3: max(-700, v - max v), the outside option included in the maximum."""
    weights, outside = choice_weights([1000.0, 1001.0], -5000.0, -700.0)
    assert weights == [pytest.approx(math.exp(-1.0)), 1.0]
    assert outside == math.exp(-700.0)
    weights, outside = choice_weights([-5000.0, 299.0], 1000.0, -700.0)
    assert (weights, outside) == ([math.exp(-700.0), math.exp(-700.0)], 1.0)


def test_opportunities_are_split_by_the_probabilities() -> None:
    """Section 3: two equal offers at the outside option's utility take a third each of 90."""
    scenario = indifferent_market(units=90.0, products=2)
    after, record = settle_day(scenario, new_world(scenario))
    assert record.market.opportunities[MAINSTREAM] == 90
    assert [line.orders for line in record.companies[0].products] == [30, 30, 0]
    assert after.firms[0].stock == [570, 370, 0]


def test_counts_follow_the_multinomial_law() -> None:
    """Section 3: one opportunity over two equal offers and the outside option, 3,000 days of luck.

    Expected 1,000 of each; chi-square with two degrees of freedom stays below 13.8 (p = 0.001).
    """
    scenario = indifferent_market(units=1.0, products=2).with_horizon(3000)
    seen: Counter[tuple[int, int]] = Counter()
    streams = Streams(3)
    state = new_world(scenario)
    for day in range(3000):
        state.day = day
        _, record = settle_day(scenario, state, luck=_OneBuyer(streams))
        lines = record.companies[0].products
        seen[lines[A].orders, lines[B].orders] += 1
    counts = [seen[1, 0], seen[0, 1], seen[0, 0]]
    assert sum(counts) == 3000
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 13.8


class _OneBuyer(Streams):
    """Real choice draws, but always exactly one opportunity."""

    def __init__(self, streams: Streams) -> None:
        super().__init__(streams.seed)
        self._real = streams

    def bounded(self, stream: str, seat: int, day: int, width: int) -> list[float]:
        if stream.startswith("demand:"):
            return [0.5] * width
        return self._real.bounded(stream, seat, day, width)
