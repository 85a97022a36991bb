"""Exogenous conditions (market.md section 2): every number worked out by hand."""

import math
from collections import Counter

import pytest

from engine.rules.conditions import Conditions
from engine.scenario import default_scenario
from engine.settle import initial_state, settle_window
from engine.streams import Streams
from tests.engine.worlds import (
    BALANCED,
    DELIVERY_PEAK,
    MAINSTREAM,
    PREMIUM,
    PRICE_PRESSURE,
    QUALITY_GROWTH,
    VALUE,
    ChosenLuck,
    altered,
    decision,
    new_world,
    quiet,
    settle_day,
    sigmas,
)

SCENARIO = default_scenario()


def conditions(day: int = 0, macro: float = 1.0, phase: int = BALANCED) -> Conditions:
    return Conditions(SCENARIO, day, macro, phase)


def test_macro_index_returns_to_its_mean() -> None:
    """Section 2: 1.2 + 0.02 (1 - 1.2) = 1.196 without a shock."""
    scenario = quiet({"macro.volatility": 0.0016})
    state = new_world(scenario)
    assert state.macro == 1.0
    state.macro = 1.2
    after, record = settle_day(scenario, state)
    assert after.macro == pytest.approx(1.196, abs=1e-15)
    assert record.market.macro == after.macro


def test_macro_shock_has_its_standard_deviation() -> None:
    """Section 2: one standard deviation up from 1 is 1.0016; the variance is sigma squared."""
    scenario = quiet({"macro.volatility": 0.0016})
    luck = ChosenLuck({"macro": sigmas(1.0)})
    after, _ = settle_day(scenario, new_world(scenario), luck=luck)
    assert after.macro == pytest.approx(1.0016, abs=1e-12)


def test_macro_index_has_a_floor() -> None:
    """Section 2: 1 - 3 x 0.5 < 0.05, so the index is 0.05."""
    scenario = quiet({"macro.volatility": 0.5})
    luck = ChosenLuck({"macro": sigmas(-3.0)})
    after, _ = settle_day(scenario, new_world(scenario), luck=luck)
    assert after.macro == 0.05


@pytest.mark.parametrize("phase", [BALANCED, PRICE_PRESSURE, QUALITY_GROWTH, DELIVERY_PEAK])
def test_phase_stays_59_days_of_60_and_moves_evenly(phase: int) -> None:
    """Section 2: of 1,800 equal steps of luck, 1,770 stay (59/60) and 10 go to each other phase."""
    scenario = quiet({"phases.mean_days": 60.0})
    state = new_world(scenario)
    state.phase = phase
    reached = Counter(
        settle_day(scenario, state, luck=ChosenLuck({"phase": (step + 0.5) / 1800}))[0].phase
        for step in range(1800)
    )
    others = {other: 10 for other in range(4) if other != phase}
    assert reached == {phase: 1770, **others}


def test_market_begins_balanced() -> None:
    """Section 2: the chain starts from `balanced`, at the macro mean."""
    state = initial_state(SCENARIO, Streams(1), 2)
    assert SCENARIO.phases.states[state.phase].id == "balanced"
    assert state.macro == 1.0
    assert state.day == 0


def test_phase_without_mean_days_never_ends() -> None:
    """Section 2 and the preface: a scenario without phases is scenario data."""
    scenario = quiet()
    state = new_world(scenario)
    for luck in (1e-12, 0.5, 1 - 1e-12):
        assert settle_day(scenario, state, luck=ChosenLuck({"phase": luck}))[0].phase == BALANCED


def test_phase_path_does_not_depend_on_companies() -> None:
    """Section 2: phases have a stream of their own, whatever the firms do and however many.

    At a price of one cent company 1 even leaves on the way.
    """

    def path(firms: int, price: int) -> list[tuple[int, float]]:
        streams = Streams(11)
        state = initial_state(SCENARIO, streams, firms)
        days = []
        while state.day < 210:
            changes = {"B": {"price_cents": price, "promotion_cents": 0}}
            change = decision(state, products=changes) if state.firms[0].active else None
            settled = settle_window(SCENARIO, streams, state, {1: change})
            state = settled.state
            days += [(record.market.phase, record.market.macro) for record in settled.days]
        return days

    quiet_path = path(1, 7500)
    assert quiet_path == path(3, 1)
    assert len({phase for phase, _ in quiet_path}) > 1


# d~ = (sum of d) nu d omega / (sum of d omega), in the order mainstream, premium, value:
# balanced        690 x 1.00 = 690;   weights 300, 150, 240, sum 690
# price_pressure  690 x 0.90 = 621;   weights 300, 105, 360, sum 765
# quality_growth  690 x 1.10 = 759;   weights 300, 210, 192, sum 702
# delivery_peak   690 x 1.35 = 931.5; weights 300, 150, 240, sum 690
DEMAND = {
    BALANCED: (300.0, 150.0, 240.0),
    PRICE_PRESSURE: (243.529411764706, 85.2352941176471, 292.235294117647),
    QUALITY_GROWTH: (324.358974358974, 227.051282051282, 207.589743589744),
    DELIVERY_PEAK: (405.0, 202.5, 324.0),
}


@pytest.mark.parametrize("phase", DEMAND)
def test_phase_adjusted_demand(phase: int) -> None:
    """Section 2: the mix moves demand between the segments, only nu changes its total."""
    assert conditions(phase=phase).demand == pytest.approx(DEMAND[phase], rel=1e-12)


def test_intensity_has_season_and_macro_response() -> None:
    """Section 2, t = 15, m = 1.1.

    mainstream: 300 (1 + 0.08 sin(pi)) (1 + 1.0 x 0.1) = 300 x 1 x 1.1 = 330
    premium: 150 (1 + 0.12 sin(pi/3)) (1 + 0.7 x 0.1) = 150 x 1.103923048 x 1.07 = 177.1796493
    value: 240 (1 + 0.1 sin(30 pi/7)) (1 + 1.2 x 0.1) = 240 x 1.0781831482 x 1.12 = 289.8156302
    """
    assert conditions(day=15, macro=1.1).intensity == pytest.approx(
        (330.0, 177.1796492769, 289.8156302487), rel=1e-11
    )


def test_intensity_uses_phase_adjusted_demand() -> None:
    """Section 2: in the delivery peak at t = 5, mainstream is 405 (1 + 0.08 x 0.8660254) =
    433.06.
    """
    peak = conditions(day=5, phase=DELIVERY_PEAK)
    assert peak.intensity[MAINSTREAM] == pytest.approx(433.0592230826, rel=1e-12)


def test_macro_response_has_a_floor() -> None:
    """Section 2 at m = 0.05, t = 0: responses 1 - 0.95 zeta.

    mainstream 0.05 (its exact value), premium 1 - 0.665 = 0.335, value 1 - 1.14 -> 0.05.
    """
    assert conditions(macro=0.05).intensity == pytest.approx((15.0, 50.25, 12.0), rel=1e-12)


def test_intensity_is_not_negative() -> None:
    """Section 2: [..]+; the season alone cannot push it below zero with amplitudes below 1."""
    scenario = altered(SCENARIO, {"segments.2.seasonal_amplitude": 0.999})
    # Value has a period of 7 days; day 5 is near the trough: 1 - 0.999 x 0.9749279122 =
    # 0.0260470157
    trough = Conditions(scenario, 5, 1.0, BALANCED).intensity[VALUE]
    assert trough == pytest.approx(240 * 0.0260470157, rel=1e-8)


def test_opportunities_are_a_poisson_draw_of_the_intensity() -> None:
    """Section 2: the median of Poisson(n) is n for an integer n."""
    scenario = quiet(
        {
            "segments.0.baseline_demand": 30.0,
            "segments.1.baseline_demand": 15.0,
            "segments.2.baseline_demand": 24.0,
        }
    )
    _, record = settle_day(scenario, new_world(scenario))
    assert record.market.opportunities == [30, 15, 24]


def test_opportunities_do_not_depend_on_the_number_of_companies() -> None:
    """Section 2: 690 baseline opportunities for one firm or nine, before and after exits."""

    def opportunities(firms: int, leaving: int) -> list[list[int]]:
        streams = Streams(5)
        state = initial_state(SCENARIO, streams, firms)
        for firm in state.firms[:leaving]:
            firm.active = False
        return [
            day.market.opportunities for day in settle_window(SCENARIO, streams, state, {}).days
        ]

    assert opportunities(1, 0) == opportunities(9, 0) == opportunities(9, 8) == opportunities(3, 3)


@pytest.mark.parametrize(
    ("phase", "price", "quality", "service", "shift"),
    [
        (BALANCED, 1.0, 1.0, 1.0, 0.0),
        (PRICE_PRESSURE, 1.08, 0.90, 1.0, 0.0),
        (QUALITY_GROWTH, 0.95, 1.25, 1.0, 0.035),
        (DELIVERY_PEAK, 0.97, 1.0, 1.35, 0.0),
    ],
)
def test_phase_moves_weights_and_expected_quality(
    phase: int, price: float, quality: float, service: float, shift: float
) -> None:
    """Section 2: w_ht = rho_z w_h for price, quality and service; q* is shifted."""
    day = conditions(phase=phase)
    assert day.price_weight == pytest.approx((4.4 * price, 2.2 * price, 5.8 * price))
    assert day.quality_weight == pytest.approx((2.6 * quality, 2.7 * quality, 1.7 * quality))
    assert day.service_weight == pytest.approx((1.0 * service, 1.6 * service, 0.7 * service))
    assert day.expected_quality == pytest.approx((0.63 + shift, 0.78 + shift, 0.50 + shift))


@pytest.mark.parametrize(
    ("day", "trend"),
    [(0, 0.0), (1, 0.00015), (100, 0.015), (499, 0.07485), (500, 0.075), (900, 0.075)],
)
def test_expected_quality_grows_up_to_a_cap(day: int, trend: float) -> None:
    """Section 2: q* = q*_h + min(0.075, 0.00015 t) + shift."""
    assert conditions(day=day).expected_quality == pytest.approx(
        (0.63 + trend, 0.78 + trend, 0.50 + trend), abs=1e-14
    )


def test_poisson_luck_is_shared_by_the_market() -> None:
    """Section 10: each segment's demand has a market stream of its own."""
    scenario = quiet({"segments.1.baseline_demand": 50.0, "segments.2.baseline_demand": 50.0})
    luck = ChosenLuck({("demand:premium", 0): 0.9, ("demand:value", 0): 0.1})
    _, record = settle_day(scenario, new_world(scenario), luck=luck)
    quantiles = [_poisson_quantile(level, 50.0) for level in (0.9, 0.1)]
    assert record.market.opportunities[PREMIUM:] == quantiles
    assert quantiles[0] > 50 > quantiles[1]


def _poisson_quantile(level: float, mean: float) -> int:
    value, cumulated = 0, 0.0
    while True:
        cumulated += math.exp(value * math.log(mean) - mean - math.lgamma(value + 1))
        if level < cumulated:
            return value
        value += 1
