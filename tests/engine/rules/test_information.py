"""Research, beliefs, the late public signal (market.md section 8)."""

import math
from typing import Any

import pytest

from engine.records import ResearchReport
from engine.rules.information import initial_beliefs, updated_belief
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
from engine.state import Belief
from engine.streams import Streams
from tests.engine.worlds import (
    MAINSTREAM,
    NO_ORDERS,
    PREMIUM,
    PRICE_PRESSURE,
    QUALITY_GROWTH,
    ChosenLuck,
    days_later,
    decision,
    new_world,
    quiet,
    settle_day,
    settle_days,
    sigmas,
)

SCENARIO = default_scenario()


def request(segment: str, level: int) -> dict[str, Any]:
    return {"segment_id": segment, "level": level}


def marketable(changes: dict[str, Any] | None = None) -> Scenario:
    """A quiet scenario with real demand to be researched, and companies that cannot sell."""
    demand = {"segments.0.baseline_demand": 300.0, "segments.1.baseline_demand": 150.0}
    stock = {f"products.{line}.initial_stock": 0 for line in range(3)}
    value = {"segments.2.baseline_demand": 240.0}
    return quiet(demand | value | stock | NO_ORDERS | (changes or {}))


# --- beliefs ------------------------------------------------------------------------------------


def test_initial_beliefs() -> None:
    """Section 8: geometric means (240 x 300 x 150)^(1/3) = 221.04189 and (5.8 x 4.4 x 2.2)^(1/3).

    Variances (0.8 x 221.04189)^2 = 31,270.091 and (0.8 x 3.8291389)^2 = 9.3838749; quality 0.7,
    0.16.
    """
    beliefs = initial_beliefs(SCENARIO)
    assert len(beliefs) == 3
    for demand, price_weight, quality in beliefs:
        assert demand.mean == pytest.approx(221.0418899184, rel=1e-11)
        assert demand.variance == pytest.approx(31_270.0909431733, rel=1e-11)
        assert price_weight.mean == pytest.approx(3.8291388693, rel=1e-10)
        assert price_weight.variance == pytest.approx(9.3838748675, rel=1e-10)
        assert (quality.mean, quality.variance) == (0.7, 0.16)


def test_belief_update() -> None:
    """Section 8: mean 100, variance 2,500, reading 120 with log-SD 0.5.

    v_L = ln 1.25 = 0.2231435513, mu_L = ln 100 - v_L / 2 = 4.4935984103
    v_L' = 1 / (1/0.2231435513 + 4) = 0.1179047832
    mu_L' = v_L' (4.4935984103/0.2231435513 + ln(120)/0.25) = 4.6322041289
    mean = exp(mu_L' + v_L'/2) = 108.9791435646
    variance = (e^v_L' - 1) e^(2 mu_L' + v_L') = 1486.1834854072
    """
    after = updated_belief(SCENARIO, Belief(100.0, 2500.0), math.log(120.0), 0.5)
    assert after.mean == pytest.approx(108.9791435646, rel=1e-11)
    assert after.variance == pytest.approx(1486.1834854072, rel=1e-11)


def test_certain_beliefs_do_not_divide_by_zero() -> None:
    """Section 8: denominators are floored at 1e-12: a belief without variance stays where it is."""
    after = updated_belief(SCENARIO, Belief(2.0, 0.0), math.log(3.0), 0.08)
    assert after.mean == pytest.approx(2.0, abs=1e-9)
    assert after.variance == pytest.approx(0.0, abs=1e-10)


def test_a_reading_counts_more_the_surer_it_is() -> None:
    """Section 8: level 5 moves the belief nearer to the reading than level 1."""
    prior = Belief(100.0, 6400.0)
    means = [updated_belief(SCENARIO, prior, math.log(300.0), sd).mean for sd in (0.65, 0.08)]
    assert 100.0 < means[0] < means[1] < 310.0


# --- research -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "cost", "delay", "log_sd"),
    [
        (1, 100_000, 2, 0.65),
        (2, 250_000, 4, 0.40),
        (3, 600_000, 7, 0.25),
        (4, 1_250_000, 10, 0.15),
        (5, 2_500_000, 14, 0.08),
    ],
)
def test_a_report_is_paid_at_once_and_arrives_later(
    level: int, cost: int, delay: int, log_sd: float
) -> None:
    """Section 8: without noise it shows the segment's 150 opportunities, weight 2.2, quality
    0.78.
    """
    scenario = marketable()
    state = new_world(scenario)
    change = decision(state, research=(request("premium", level),))
    state, record = settle_day(scenario, state, {1: change})
    assert record.companies[0].ledger.research_cents == cost
    before = initial_beliefs(scenario)[PREMIUM]
    for after, record in settle_days(scenario, state, delay - 1):
        reports = record.companies[0].reports
        if record.day < delay:
            assert reports == []
            assert after.firms[0].beliefs[PREMIUM][0].mean == before[0].mean
            continue
        (report,) = reports
        assert (report.sample_day, report.delivery_day) == (0, delay)
        assert (report.segment, report.level, report.log_sd) == (PREMIUM, level, log_sd)
        readings = [report.demand, report.price_weight, report.expected_quality]
        assert readings == pytest.approx([150.0, 2.2, 0.78], rel=1e-12)
        assert after.firms[0].pending_reports == []
    assert record.day == delay


def test_delivery_updates_the_segments_three_beliefs() -> None:
    """Section 8, level 3 (0.25) without noise, no drift yet; premium's truths 150, 2.2, 0.78.

    Demand: v_L = ln 1.64 = 0.4946962418, mu_L = 5.1510041098, v_L' = 1/(1/v_L + 16) = 0.0554894538,
    mu_L' = 5.0263802872: mean 156.6673886, variance 1400.4666041; price weight 2.3410963,
    0.3127189; quality (v_L = ln(1 + 0.16/0.49)): 0.7648607677, 0.0307201780.
    """
    scenario = marketable({"information.belief_drift": 0.0})
    state = new_world(scenario)
    change = decision(state, research=(request("premium", 3),))
    state, _ = settle_day(scenario, state, {1: change})
    state = days_later(scenario, state, 6)
    means = [belief.mean for belief in state.firms[0].beliefs[PREMIUM]]
    variances = [belief.variance for belief in state.firms[0].beliefs[PREMIUM]]
    assert means == pytest.approx([156.6673885964, 2.3410962946, 0.7648607677], rel=1e-9)
    assert variances == pytest.approx([1400.4666041, 0.3127188809, 0.0307201780], rel=1e-8)
    assert state.firms[0].beliefs[MAINSTREAM] == initial_beliefs(scenario)[MAINSTREAM]


def test_noise_is_independent_for_each_quantity_and_request() -> None:
    """Section 8: y = ln theta + N(0, sd^2): +1, 0, -1 deviations for one request, -1, +2, 0 for
    the next.

    Level 1 multiplies by e^0.65, 1, e^-0.65; level 2 by e^-0.4, e^0.8, 1.
    """
    scenario = marketable()
    state = new_world(scenario)
    luck = ChosenLuck({"research": [sigmas(z) for z in (1.0, 0.0, -1.0, -1.0, 2.0, 0.0)]})
    change = decision(state, research=(request("premium", 1), request("mainstream", 2)))
    state, record = settle_day(scenario, state, {1: change}, luck)
    assert record.companies[0].ledger.research_cents == 350_000
    reports: list[ResearchReport] = []
    for _, record in settle_days(scenario, state, 3):
        reports += record.companies[0].reports
    first, second = reports
    assert [first.demand, first.price_weight, first.expected_quality] == pytest.approx(
        [150 * math.exp(0.65), 2.2, 0.78 * math.exp(-0.65)], rel=1e-9
    )
    assert [second.demand, second.price_weight, second.expected_quality] == pytest.approx(
        [300 * math.exp(-0.4), 4.4 * math.exp(0.8), 0.63], rel=1e-9
    )


def test_the_sample_is_of_the_day_of_the_request() -> None:
    """Section 8: sampled at boundary 100 in the quality growth phase, delivered after it has ended.

    Demand 759 x 210/702 = 227.0512821, price weight 0.95 x 2.2 = 2.09, quality 0.78 + 0.015 +
    0.035. Season and macro are no part of the phase-adjusted demand.
    """
    scenario = marketable({"quality_trend.per_day": 0.00015, "segments.1.seasonal_amplitude": 0.12})
    state = new_world(scenario)
    state.day = state.version = 100
    state.phase, state.macro = QUALITY_GROWTH, 1.3
    change = decision(state, research=(request("premium", 1),))
    state, _ = settle_day(scenario, state, {1: change})
    state.phase = PRICE_PRESSURE
    _, record = settle_day(scenario, state)
    (report,) = record.companies[0].reports
    assert (report.sample_day, report.delivery_day) == (100, 102)
    assert [report.demand, report.price_weight, report.expected_quality] == pytest.approx(
        [227.0512820513, 2.09, 0.83], rel=1e-11
    )


def test_two_reports_of_one_day_update_one_after_the_other() -> None:
    """Section 8: two equal readings halve the noise variance: as one reading with sd / sqrt 2."""
    scenario = marketable({"information.belief_drift": 0.0})
    state = new_world(scenario)
    change = decision(state, research=(request("premium", 1), request("premium", 1)))
    state, _ = settle_day(scenario, state, {1: change})
    state, _ = settle_day(scenario, state)
    prior = initial_beliefs(scenario)[PREMIUM][0]
    once = updated_belief(scenario, prior, math.log(150.0), 0.65 / math.sqrt(2.0))
    assert state.firms[0].beliefs[PREMIUM][0].mean == pytest.approx(once.mean, rel=1e-12)
    assert state.firms[0].beliefs[PREMIUM][0].variance == pytest.approx(once.variance, rel=1e-12)


def test_research_noise_is_the_companys_own() -> None:
    """Section 10: keyed by seat."""
    scenario = marketable()
    state = new_world(scenario, firms=2)
    both = {seat: decision(state, seat, research=(request("premium", 1),)) for seat in (1, 2)}
    luck = ChosenLuck({("research", 2): sigmas(1.0)})
    state, _ = settle_day(scenario, state, both, luck)
    _, record = settle_day(scenario, state)
    demands = [company.reports[0].demand for company in record.companies]
    assert demands == pytest.approx([150.0, 150.0 * math.exp(0.65)], rel=1e-9)


# --- drift --------------------------------------------------------------------------------------


def test_beliefs_drift_after_each_full_window() -> None:
    """Section 8: v += (0.03 mu)^2 for all nine beliefs after days 7 and 14, not inside a window.

    Quality: 0.16 + (0.03 x 0.7)^2 = 0.160441.
    """
    scenario = quiet({"window_days": 7})
    state = new_world(scenario)
    before = [belief for beliefs in state.firms[0].beliefs for belief in beliefs]
    for windows in (1, 2):
        state = settle_window(scenario, Streams(1), state, {}).state
        after = [belief for beliefs in state.firms[0].beliefs for belief in beliefs]
        assert [belief.mean for belief in after] == [belief.mean for belief in before]
        assert [belief.variance for belief in after] == pytest.approx(
            [belief.variance + windows * (0.03 * belief.mean) ** 2 for belief in before], rel=1e-12
        )
    assert state.firms[0].beliefs[0][2].variance == pytest.approx(0.160882, abs=1e-12)


@pytest.mark.parametrize(("horizon", "windows"), [(6, 0), (7, 1), (10, 1), (14, 2)])
def test_a_shortened_last_window_does_not_drift(horizon: int, windows: int) -> None:
    """Section 8: only full windows do: the last of 500 days has three days and no drift."""
    scenario = quiet({"window_days": 7}).with_horizon(horizon)
    state = new_world(scenario)
    while state.day < horizon:
        state = settle_window(scenario, Streams(1), state, {}).state
    assert state.firms[0].beliefs[0][2].variance == pytest.approx(0.16 + windows * 0.000441)


# --- the public signal --------------------------------------------------------------------------


def test_the_signal_is_published_seven_days_late() -> None:
    """Section 8: sample of max(0, t - 7): macro, nu m, 1 + min(0.075, 0.00015 t) + shift."""
    streams = Streams(11)
    state = initial_state(SCENARIO, streams, 1)
    # Day 0: balanced, m = 1.
    truth = {0: (1.0, 1.0, 1.0)}
    published = {}
    phases = {0: (1.0, 0.0), 1: (0.90, 0.0), 2: (1.10, 0.035), 3: (1.35, 0.0)}
    while state.day < 500:
        settled = settle_window(SCENARIO, streams, state, {})
        state = settled.state
        for day in settled.days:
            demand, shift = phases[day.market.phase]
            quality = 1.0 + min(0.075, 0.00015 * day.day) + shift
            truth[day.day] = (day.market.macro, demand * day.market.macro, quality)
            published[day.day] = day.public.signal
    assert sorted(published) == list(range(1, 501))
    for number, signal in published.items():
        sample = max(0, number - 7)
        assert signal.sample_day == sample
        assert (signal.macro, signal.demand_index, signal.quality_index) == pytest.approx(
            truth[sample], rel=1e-13
        )
    assert len(set(truth.values())) > 400


def test_the_state_keeps_only_unpublished_signals() -> None:
    """Section 8: what has been published is history and lives in the records."""
    scenario = quiet()
    state = new_world(scenario)
    assert len(state.signals) == 1
    kept = [len(after.signals) for after, _ in settle_days(scenario, state, 10)]
    assert kept == [2, 3, 4, 5, 6, 7, 8, 8, 8, 8]
