"""Advertising: impact, shared attention, goodwill, awareness (market.md section 4)."""

import math

import pytest

from engine.rules.advertising import advertising_impact
from engine.scenario import default_scenario
from tests.engine.worlds import (
    AFFILIATE,
    DISPLAY,
    MAINSTREAM,
    PREMIUM,
    SEARCH,
    VALUE,
    A,
    calm,
    decision,
    devoted,
    new_world,
    quiet,
    settle_day,
)

SCENARIO = default_scenario()
INITIAL = 0.22314355131420976  # -ln(1 - 0.20)


@pytest.mark.parametrize(
    ("segment", "budgets", "impact"),
    [
        # search $100: (1.25 x 1) ** 0.45 = exp(0.45 x 0.2231435513) = 1.1056292148
        (VALUE, {SEARCH: 10_000}, 1.1056292148),
        # affiliate 100, display 100, search 200: (1.05 + 0.70 + 2.50) ** 0.45 = 4.25 ** 0.45
        (VALUE, {AFFILIATE: 10_000, DISPLAY: 10_000, SEARCH: 20_000}, 1.9176750528),
        # one effect each: 0.9 ** 0.45, 1.1 ** 0.45, 1.0, then premium 1.15, 1.2, 0.85
        (MAINSTREAM, {AFFILIATE: 10_000}, math.exp(0.45 * math.log(0.9))),
        (MAINSTREAM, {DISPLAY: 10_000}, math.exp(0.45 * math.log(1.1))),
        (MAINSTREAM, {SEARCH: 10_000}, 1.0),
        (PREMIUM, {AFFILIATE: 10_000}, math.exp(0.45 * math.log(1.15))),
        (PREMIUM, {DISPLAY: 10_000}, math.exp(0.45 * math.log(1.2))),
        (PREMIUM, {SEARCH: 10_000}, math.exp(0.45 * math.log(0.85))),
        (VALUE, {AFFILIATE: 10_000}, math.exp(0.45 * math.log(1.05))),
        (VALUE, {DISPLAY: 10_000}, math.exp(0.45 * math.log(0.7))),
        # $0.01 still counts; no spend, no impact
        (MAINSTREAM, {SEARCH: 1}, math.exp(0.45 * math.log(1e-4))),
        (VALUE, {}, 0.0),
    ],
)
def test_impact(segment: int, budgets: dict[int, int], impact: float) -> None:
    """Section 4: I = (sum over channels of e b / $100) ** 0.45, the exponent outside the sum."""
    line = [budgets.get(channel, 0) for channel in (AFFILIATE, DISPLAY, SEARCH)]
    assert advertising_impact(SCENARIO, segment, line) == pytest.approx(impact, rel=1e-9)


def test_goodwill_shares_one_pool_of_attention() -> None:
    """Section 4, value segment: I = 1.1056292 and 1.9176751, pool 1 + 1.1056292 + 1.9176751.

    A = 0.2748062640 and 0.4766418161; G = 0.975 x 0.2231435513 + 0.08 A
    = 0.2395494637 and 0.2556963078. Companies without spend only decay: 0.2175649625.
    """
    scenario = quiet()
    state = new_world(scenario, firms=3)
    first = decision(state, 1, marketing={"value": {"search": 10_000}})
    second = decision(
        state, 2, marketing={"value": {"affiliate": 10_000, "display": 10_000, "search": 20_000}}
    )
    after, _ = settle_day(scenario, state, {1: first, 2: second})
    goodwill = [firm.goodwill for firm in after.firms]
    assert goodwill[0][VALUE] == pytest.approx(0.2395494637, abs=1e-10)
    assert goodwill[1][VALUE] == pytest.approx(0.2556963078, abs=1e-10)
    decayed = pytest.approx(0.975 * INITIAL, rel=1e-14)
    assert goodwill[2] == [decayed] * 3
    assert goodwill[0][:VALUE] == [decayed] * 2


def test_inactive_companies_take_no_attention() -> None:
    """Section 4: they count zero, so company 1 alone has A = 1.1056292 / 2.1056292.

    G = 0.2175649625 + 0.08 x 0.5250826311 = 0.2595715687
    """
    scenario = quiet()
    state = new_world(scenario, firms=2)
    state.firms[1].marketing_cents = [[9_000_000] * 3 for _ in range(3)]
    state.firms[1].active = False
    before = list(state.firms[1].goodwill)
    change = decision(state, marketing={"value": {"search": 10_000}})
    after, _ = settle_day(scenario, state, {1: change})
    assert after.firms[0].goodwill[VALUE] == pytest.approx(0.2595715687, abs=1e-10)
    assert after.firms[1].goodwill == before


def test_goodwill_decays_geometrically() -> None:
    """Section 4: two days without spend leave 0.975 squared of it."""
    scenario = quiet()
    state = new_world(scenario)
    for _ in range(2):
        state, _ = settle_day(scenario, state)
    assert state.firms[0].goodwill == [pytest.approx(0.950625 * INITIAL, rel=1e-14)] * 3


def test_goodwill_is_never_negative() -> None:
    """Section 4: [..]+ ; even a decay of everything leaves zero."""
    scenario = quiet({"advertising.goodwill_decay": 1.0})
    after, _ = settle_day(scenario, new_world(scenario))
    assert after.firms[0].goodwill == [0.0, 0.0, 0.0]


def test_initial_awareness() -> None:
    """Section 2: awareness 0.20 in every segment, G_0 = -ln(1 - 0.20) = 0.2231435513."""
    state = new_world(SCENARIO)
    assert state.firms[0].goodwill == [pytest.approx(INITIAL, abs=1e-15)] * 3


def test_todays_awareness_enters_todays_choice() -> None:
    """Section 4: with a huge awareness weight, the company that advertises first sells all on day
    1.

    Without advertising the two companies are alike and share the 40 customers.
    """
    scenario = devoted(
        {MAINSTREAM: 40.0},
        {"segments.0.awareness_weight": 10_000.0, "segments.0.outside_utility": -1e6},
    )
    state = new_world(scenario, firms=2)
    _, alike = settle_day(scenario, state)
    change = decision(state, 2, marketing={"mainstream": {"display": 1_000_000}})
    _, told = settle_day(scenario, state, {2: change})
    assert [company.products[A].orders for company in alike.companies] == [20, 20]
    assert [company.products[A].orders for company in told.companies] == [0, 40]


def test_marketing_is_charged_daily_until_changed() -> None:
    """Sections 1 and 9: recurring budgets are charged in step 4 of every day; 0 stops one."""
    scenario = calm()
    state = new_world(scenario)
    start = decision(
        state, marketing={"value": {"search": 300, "display": 20}, "premium": {"affiliate": 1}}
    )
    state, record = settle_day(scenario, state, {1: start})
    assert record.companies[0].ledger.marketing_cents == 321
    state, record = settle_day(scenario, state)
    assert record.companies[0].ledger.marketing_cents == 321
    stop = decision(state, marketing={"value": {"search": 0}})
    state, record = settle_day(scenario, state, {1: stop})
    assert record.companies[0].ledger.marketing_cents == 21
