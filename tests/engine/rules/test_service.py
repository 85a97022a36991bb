"""Failures, tickets, support queue, satisfaction and loyalty (market.md section 7)."""

import math
from typing import Any

import pytest

from engine.records import DayRecord
from engine.rules.service import failure_probability
from engine.scenario import Scenario, default_scenario
from engine.state import FirmState, WorldState
from tests.engine.worlds import (
    MAINSTREAM,
    NO_ORDERS,
    PATIENT,
    PREMIUM,
    VALUE,
    A,
    B,
    C,
    ChosenLuck,
    altered,
    consumer_order,
    enterprise_order,
    new_world,
    quiet,
    settle_day,
)

SCENARIO = default_scenario()

# Service without failures, tickets and abandonment, and nothing bought.
SMOOTH: dict[str, Any] = {
    "service.failure_floor": 0.0,
    "service.failure_base": 0.0,
    "service.ticket_rate": 0.0,
    **PATIENT,
    **NO_ORDERS,
}


def served(
    scenario: Scenario, *orders: tuple[int, int, int, int], day: int = 1, **settings: Any
) -> tuple[FirmState, DayRecord]:
    """The company after a day on which consumer orders (segment, product, units, price) were
    served.

    They entered on that day's eve less their `age`, so that they wait `age` days.
    """
    age = settings.pop("age", 0)
    state = new_world(scenario)
    state.day = state.version = day - 1
    for name, value in settings.items():
        setattr(state.firms[0], name, value)
    state.firms[0].queue += [
        consumer_order(day - age, product, units, price, segment)
        for segment, product, units, price in orders
    ]
    after, record = settle_day(scenario, state)
    return after.firms[0], record


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reliability", "utilization", "probability"),
    [
        # no spend, calm: f0
        (0, 0.0, 0.03),
        (0, 0.75, 0.03),
        # r = r0: 0.001 + 0.029 / e = 0.0116685038
        (6_000, 0.5, 0.0116685038),
        # u = 1.25: 0.03 (1 + 2 x 0.25) = 0.045
        (0, 1.25, 0.045),
        # u = 50/60: 0.03 (1 + 2 x 0.0069444) = 0.0304166667
        (0, 50 / 60, 0.0304166667),
        # both: 0.0116685038 x (1 + 2 x 1.5625)
        (6_000, 2.0, 0.0481325781),
        # much spend: the floor; overload still multiplies it: 0.001 x 1.5
        (10_000_000, 0.0, 0.001),
        (10_000_000, 1.25, 0.0015),
        # u = 10: 0.03 (1 + 2 x 85.5625) > 1
        (0, 10.0, 1.0),
    ],
)
def test_failure_probability(reliability: int, utilization: float, probability: float) -> None:
    """Section 7: f = clip([f_min + (f0 - f_min) e^(-r/r0)] (1 + 2 [u - 0.75]+^2), f_min, 1)."""
    assert failure_probability(SCENARIO, reliability, utilization) == pytest.approx(
        probability, rel=1e-8
    )


def failing(share: float, **more: Any) -> Scenario:
    """A scenario in which a fixed share of the consumer units fails, whatever the load."""
    return quiet(
        SMOOTH
        | {"service.failure_base": share, "service.utilization_factor": 0.0}
        | {f"service.{name}": value for name, value in more.items()}
    )


def test_failures_are_drawn_for_each_segment_and_paid() -> None:
    """Section 7: the medians of Binomial(n, 0.2) are 8 of 40 and 2 of 10; 10 x $12 of
    remediation.
    """
    _, record = served(failing(0.2), (MAINSTREAM, B, 40, 7500), (VALUE, A, 10, 4000))
    company = record.companies[0]
    assert [part.failures for part in company.segments] == [8, 0, 2]
    assert company.ledger.remediation_cents == 12_000


def test_one_probability_for_all_segments_from_the_whole_load() -> None:
    """Section 7: u = (F + B) / Q counts all units: 30 served and 30 that wait for goods of 60.

    u = 1: f = 0.4 (1 + 2 x 0.0625) = 0.45; the median of Binomial(20, 0.45) is 9.
    Without the queue u = 0.5 and f = 0.4: 8.
    """
    scenario = quiet(SMOOTH | {"service.failure_base": 0.4})
    orders = ((MAINSTREAM, B, 20, 7500), (VALUE, A, 10, 4000))
    _, calm = served(scenario, *orders)
    waiting = [consumer_order(0, C, 30)]
    _, loaded = served(scenario, *orders, queue=waiting, stock=[600, 400, 0])
    assert calm.companies[0].segments[MAINSTREAM].failures == 8
    assert loaded.companies[0].segments[MAINSTREAM].failures == 9


def test_awards_of_the_day_count_as_queued_and_are_counted_before_expiry() -> None:
    """Section 7: B includes what expires today: 30 units due today with no capacity for them.

    Q = 20, F = 20 consumers, B = 30: u = 2.5, f = 0.1 (1 + 2 x 1.75^2) = 0.7125; the median of
    Binomial(20, 0.7125) is 14. Without B: u = 1, f = 0.1125, the median is 2.
    """
    scenario = quiet(SMOOTH | {"service.failure_base": 0.1, "capacity.tiers.0.units_per_day": 20})
    state = new_world(scenario)
    firm = state.firms[0]
    firm.queue = [consumer_order(0, A, 20)]
    _, without = settle_day(scenario, state)
    firm.queue.append(enterprise_order(0, B, 30, due=1))
    firm.reserved[B] = 30
    after, overdue = settle_day(scenario, state)
    assert after.firms[0].queue == []
    assert without.companies[0].segments[MAINSTREAM].failures == 2
    assert overdue.companies[0].segments[MAINSTREAM].failures == 14


def test_enterprise_units_have_no_failures_or_tickets_but_count_as_fulfilled() -> None:
    """Section 7: 45 award units and 15 consumer units: only the 15 can fail (share 1).

    Pressure: 7 open tickets, none new, F = 60: 7 / (7 + 60).
    """
    scenario = failing(1.0, tickets_per_failure=0.0)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.queue = [enterprise_order(0, B, 45), consumer_order(1, A, 15, segment=VALUE)]
    firm.reserved[B] = 45
    firm.support_queue = 7
    after, record = settle_day(scenario, state)
    company = record.companies[0]
    assert [part.failures for part in company.segments] == [0, 0, 15]
    assert company.ledger.remediation_cents == 15 * 1200
    # Premium has no units: e = -0.15 ln(1 + 0) - 7/67, s = 0.04 x 1.8 e
    expected = -0.04 * 1.8 * 7 / 67
    assert after.firms[0].satisfaction[PREMIUM] == pytest.approx(expected, rel=1e-9)


# --- tickets and support ------------------------------------------------------------------------


def test_tickets_come_from_units_and_failures() -> None:
    """Section 7: 50 units with 10 failures: the median of Poisson(0.015 x 50 + 0.2 x 10 = 2.75) is
    3.
    """
    _, record = served(failing(0.2, ticket_rate=0.015), (MAINSTREAM, B, 50, 7500))
    assert record.companies[0].segments[MAINSTREAM].failures == 10
    assert record.companies[0].segments[MAINSTREAM].tickets == 3
    assert record.companies[0].support_queue == 3


@pytest.mark.parametrize(
    ("support", "queue", "left"),
    [
        (30_000, 20, 8),  # the median of Poisson(12) is 12
        (30_000, 5, 0),  # no more than there are
        (15_000, 20, 14),  # Poisson(6): 6
        (0, 20, 20),
    ],
)
def test_support_closes_tickets(support: int, queue: int, left: int) -> None:
    """Section 7: Z = min(U + T, Poisson(12 b / $300)), U' = U + T - Z."""
    firm, record = served(quiet(SMOOTH), support_queue=queue, support_cents=support)
    assert firm.support_queue == left
    assert record.companies[0].support_queue == left
    assert record.companies[0].ledger.support_cents == support


def test_support_can_close_todays_tickets() -> None:
    """Section 7: U + T: 2 old, 3 new, 12 can be closed: none is left."""
    scenario = failing(0.2, ticket_rate=0.015)
    firm, _ = served(scenario, (MAINSTREAM, B, 50, 7500), support_queue=2, support_cents=30_000)
    assert firm.support_queue == 0


def test_support_luck_is_the_companys_own() -> None:
    """Section 10: support, ticket and failure draws are keyed by seat."""
    scenario = failing(0.2, ticket_rate=0.015)
    state = new_world(scenario, firms=2)
    for firm in state.firms:
        firm.queue = [consumer_order(1, B, 50)]
        firm.support_queue, firm.support_cents = 40, 30_000
    unlucky = {("failures", 2): 0.99, ("tickets", 2): 0.99, ("support", 2): 0.01}
    _, record = settle_day(scenario, state, luck=ChosenLuck(unlucky))
    first, second = record.companies
    assert (first.segments[0].failures, first.segments[0].tickets) == (10, 3)
    assert first.support_queue == 40 + 3 - 12
    assert second.segments[0].failures > 10
    assert second.segments[0].tickets > 3
    assert second.support_queue > 40


# --- experience and satisfaction ----------------------------------------------------------------


def test_a_whole_day_of_service() -> None:
    """Section 7, mainstream, 50 units of B at $75, q* = 0.63, everything at its median.

    10 failures (share 0.2), 3 tickets (mean 2.75), support closes 12 of 20 + 3: U = 11.
    pi = 11 / (20 + 3 + 50) = 0.1506849315; e = 0.68 - 0.63 - 0 - 0 - 10/50 - pi = -0.3006849315
    mainstream: s = 0.96 x 0.5 + 0.04 x 1.8 e = 0.48 - 0.0216493151 = 0.4583506849
    others: e = -pi, s = 0.48 - 0.0108493151 = 0.4691506849
    loyalty of mainstream: 0.9 x 0.25 + 0.1 x 0.4583506849 = 0.2708350685; others stay.
    """
    firm, record = served(
        failing(0.2, ticket_rate=0.015),
        (MAINSTREAM, B, 50, 7500),
        support_queue=20,
        support_cents=30_000,
        satisfaction=[0.5, 0.5, 0.5],
        loyalty=[0.25, 0.25, 0.25],
    )
    assert firm.support_queue == 11
    assert firm.satisfaction == pytest.approx([0.4583506849, 0.4691506849, 0.4691506849], abs=1e-10)
    assert firm.loyalty == pytest.approx([0.2708350685, 0.25, 0.25], abs=1e-10)
    seen = record.companies[0].segments
    assert [part.satisfaction for part in seen] == firm.satisfaction
    assert [part.loyalty for part in seen] == firm.loyalty


def experience(
    orders: list[tuple[int, int, int, int]], changes: dict[str, Any] | None = None, **settings: Any
) -> list[float]:
    """The experience after loss aversion, by segment: s = 0.04 e from a satisfaction of 0."""
    firm, _ = served(quiet(SMOOTH | (changes or {})), *orders, **settings)
    return [value / 0.04 for value in firm.satisfaction]


@pytest.mark.parametrize(
    ("segment", "product", "price", "expected"),
    [
        # quality only: 0.68 - 0.63; 0.82 - 0.78; 0.55 - 0.50
        (MAINSTREAM, B, 8000, 0.05),
        (PREMIUM, C, 14_000, 0.04),
        (VALUE, A, 4500, 0.05),
        # a price 25 % above the reference costs 0.12 x 0.25 = 0.03; below it gains nothing
        (MAINSTREAM, B, 10_000, 0.02),
        (MAINSTREAM, B, 1, 0.05),
        (PREMIUM, C, 17_500, 0.01),
        # losses weigh 1.8 times: 1.8 (0.55 - 0.63) and 1.8 (0.05 - 0.12 x 1)
        (MAINSTREAM, A, 4000, -0.144),
        (VALUE, A, 9000, -0.126),
        # clipped: 0.05 - 0.12 (100,000/4,500 - 1) = -2.497 -> -1
        (VALUE, A, 100_000, -1.0),
    ],
)
def test_experience_of_quality_and_price(
    segment: int, product: int, price: int, expected: float
) -> None:
    """Section 7: e = q^ - q* - 0.12 [p^/p_ref - 1]+ and e < 0 times 1.8, clipped to [-1, 1]."""
    values = experience([(segment, product, 10, price)])
    assert values[segment] == pytest.approx(expected, abs=1e-12)
    assert [value for other, value in enumerate(values) if other != segment] == [0.0, 0.0]


def test_means_are_weighted_by_units() -> None:
    """Section 7, mainstream: 10 A at $100 and 30 B at $80.

    q^ = (10 x 0.55 + 30 x 0.68) / 40 = 0.6475; p^ = $85: 0.12 x 0.0625 = 0.0075
    e = 0.6475 - 0.63 - 0.0075 = 0.01
    """
    values = experience([(MAINSTREAM, A, 10, 10_000), (MAINSTREAM, B, 30, 8000)])
    assert values[MAINSTREAM] == pytest.approx(0.01, abs=1e-12)


def test_expected_quality_is_todays() -> None:
    """Sections 2 and 7: on day 100 with the trend q* = 0.63 + 0.015: e = 0.68 - 0.645 = 0.035."""
    values = experience([(MAINSTREAM, B, 10, 8000)], {"quality_trend.per_day": 0.00015}, day=100)
    assert values[MAINSTREAM] == pytest.approx(0.035, abs=1e-12)


def test_quality_is_that_of_the_day_of_fulfilment() -> None:
    """Section 7: an old order gets today's quality: K = $50,000 adds 0.18 ln 2 = 0.1247664925.

    Waiting two days of a target of 1.5 costs 0.15 ln(1 + 2/1.5) = 0.1270946791.
    """
    values = experience(
        [(MAINSTREAM, B, 10, 8000)],
        {"knowledge.depreciation": 0.0},
        day=10,
        age=2,
        knowledge_cents=[0.0, 5_000_000.0, 0.0],
    )
    assert values[MAINSTREAM] == pytest.approx(0.05 + 0.1247664925 - 0.1270946791, abs=1e-9)


@pytest.mark.parametrize(
    ("age", "queued", "delay"),
    [
        # the wait of three days counts, the queue of one day does not: ln(1 + 3/1.5)
        (3, 60, 1.0986122887),
        # the queue of three days counts, the wait of one does not
        (1, 180, 1.0986122887),
        (0, 0, 0.0),
    ],
)
def test_waiting_or_congestion_whichever_is_longer(age: int, queued: int, delay: float) -> None:
    """Section 7: 0.15 ln(1 + max(w^, B / max(1, Q)) / w*), mainstream target 1.5 days, Q = 60."""
    waiting = [consumer_order(9, C, queued)] if queued else []
    values = experience(
        [(MAINSTREAM, B, 10, 8000)], day=10, age=age, queue=waiting, stock=[600, 400, 0]
    )
    loss = 0.05 - 0.15 * delay
    assert values[MAINSTREAM] == pytest.approx(loss * (1.8 if loss < 0 else 1.0), abs=1e-9)


def test_congestion_touches_segments_that_bought_nothing() -> None:
    """Section 7: none fulfilled: e = -0.15 ln(1 + 2 / w*), w* = 1.5, 1.0, 2.0 days; 120 units
    wait.
    """
    values = experience([], queue=[consumer_order(0, C, 120)], stock=[600, 400, 0])
    assert values == pytest.approx(
        [-0.27 * math.log(1 + 2 / target) for target in (1.5, 1.0, 2.0)], abs=1e-12
    )


def test_a_company_without_capacity_divides_by_one() -> None:
    """Section 7: max(1, Q): 3 units wait at Q = 0: e = -0.15 ln(1 + 3/1.5)."""
    values = experience([], {"capacity.tiers.0.units_per_day": 0}, queue=[consumer_order(0, A, 3)])
    assert values[MAINSTREAM] == pytest.approx(-0.27 * math.log(3), abs=1e-12)


def test_satisfaction_remembers_and_is_clipped() -> None:
    """Section 7: s = clip(0.96 s + 0.04 e, -1, 1) every day, loyalty without units stays."""
    firm, _ = served(quiet(SMOOTH), satisfaction=[1.0, -1.0, 0.25], loyalty=[0.3, 0.2, 0.1])
    assert firm.satisfaction == pytest.approx([0.96, -0.96, 0.24], abs=1e-15)
    assert firm.loyalty == [0.3, 0.2, 0.1]


def test_loyalty_moves_only_with_consumer_units_and_never_on_displeasure() -> None:
    """Section 7: F_h > 0: l = clip(0.9 l + 0.1 [s]+, 0, 1).

    Mainstream: s = 0.96 x 0.5 + 0.04 x 0.05 = 0.482, l = 0.9 x 0.2 + 0.0482 = 0.2282.
    Value: s stays negative: l = 0.9 x 0.2 = 0.18. Premium bought nothing: 0.2.
    """
    firm, _ = served(
        quiet(SMOOTH),
        (MAINSTREAM, B, 5, 8000),
        (VALUE, A, 5, 4500),
        satisfaction=[0.5, 0.5, -0.5],
        loyalty=[0.2, 0.2, 0.2],
    )
    assert firm.loyalty == pytest.approx([0.2282, 0.2, 0.18], abs=1e-12)


def test_enterprise_deliveries_are_no_experience() -> None:
    """Section 7: no experience, no loyalty from award units, whatever their price and wait."""
    scenario = quiet(SMOOTH)
    state = new_world(scenario)
    firm = state.firms[0]
    firm.queue, firm.reserved[B] = [enterprise_order(-20, B, 10, 99_999)], 10
    firm.loyalty = [0.4, 0.4, 0.4]
    after, record = settle_day(scenario, state)
    assert record.companies[0].products[B].enterprise_units == 10
    assert after.firms[0].satisfaction == [0.0, 0.0, 0.0]
    assert after.firms[0].loyalty == [0.4, 0.4, 0.4]


def test_yesterdays_standing_enters_todays_choice() -> None:
    """Section 3: s_{t-1} and l_{t-1}: the same day's bad service does not change the day's demand.

    With a service weight of 1e6, the company whose satisfaction was higher yesterday sells all.
    """
    scenario = altered(
        failing(1.0, tickets_per_failure=0.0),
        {
            "segments.0.baseline_demand": 10.0,
            "segments.0.service_weight": 1e6,
            "segments.0.outside_utility": -1e6,
        },
    )
    state: WorldState = new_world(scenario, firms=2)
    state.firms[1].satisfaction[MAINSTREAM] = 0.001
    after, record = settle_day(scenario, state)
    assert [company.fulfilled_units for company in record.companies] == [0, 10]
    assert after.firms[1].satisfaction[MAINSTREAM] < 0.0
    _, record = settle_day(scenario, after)
    assert [company.fulfilled_units for company in record.companies] == [10, 0]
