"""Small worlds with chosen luck, so that what must happen can be worked out by hand.

Nearly everything is shown through the public door: a state and decisions go in, a settled window
comes out. `calm` takes the noise out of the default scenario, `quiet` also its customers.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, Final

from engine.decision import CompanyDecision, company_name
from engine.records import CompanyDay, DayRecord, Ledger, ProductDay, SegmentDay
from engine.rules.conditions import conditions_of
from engine.rules.today import Company, Today
from engine.scenario import Scenario, default_scenario, parse_scenario
from engine.settle import Settlement, initial_state, settle_window
from engine.state import Order, WorldState
from engine.streams import Streams

# Positions in the identifier order of the default scenario.
A, B, C = 0, 1, 2
MAINSTREAM, PREMIUM, VALUE = 0, 1, 2
AFFILIATE, DISPLAY, SEARCH = 0, 1, 2
BALANCED, PRICE_PRESSURE, QUALITY_GROWTH, DELIVERY_PEAK = 0, 1, 2, 3

SEGMENTS: Final = ("mainstream", "premium", "value")

NO_NOISE: Final[Mapping[str, Any]] = {
    "window_days": 1,
    "macro.volatility": 0.0,
    "phases.mean_days": None,
    "quality_trend.per_day": 0.0,
    **{f"segments.{segment}.seasonal_amplitude": 0.0 for segment in range(3)},
}
NO_CUSTOMERS: Final[Mapping[str, Any]] = {
    # Poisson with this mean is 0 unless the uniform is within 1e-9 of 1.
    f"segments.{segment}.baseline_demand": 1e-9
    for segment in range(3)
}

NO_ORDERS: Final[dict[str, Any]] = {
    f"products.{line}.initial_reorder_target": 0 for line in range(3)
}
PATIENT: Final[dict[str, Any]] = {"service.abandonment": 0.0}

HELD: Final = 600 * 2 + 400 * 3 + 200 * 6
"""A day's holding of the initial stock, cents."""

Luck = float | Sequence[float]


def altered(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The scenario with values set at dotted paths, such as `segments.0.price_weight`."""
    data = json.loads(scenario.to_json())
    for path, value in changes.items():
        place, key = find(data, path)
        assert isinstance(place, list) or key in place, path
        place[key] = value
    return parse_scenario(data, "the altered scenario")


def find(data: Any, path: str) -> tuple[Any, Any]:
    """The list or dict that holds what a dotted path names, and its index or key there."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        data = data[part]
    return data, last


def calm(changes: Mapping[str, Any] | None = None) -> Scenario:
    """Balanced for ever, no season, trend or macro noise, and windows of one day."""
    return altered(default_scenario(), {**NO_NOISE, **(changes or {})})


def quiet(changes: Mapping[str, Any] | None = None) -> Scenario:
    """A calm scenario without consumers."""
    return calm({**NO_CUSTOMERS, **(changes or {})})


def devoted(demand: Mapping[int, float], changes: Mapping[str, Any] | None = None) -> Scenario:
    """A calm scenario in which the named segments buy whatever is offered, A first, then B, then C.

    Utilities lie so far apart that the choice probabilities are 1 and 0 in double precision.
    """
    settings: dict[str, Any] = dict(NO_CUSTOMERS)
    for segment in range(3):
        settings[f"segments.{segment}.product_match"] = {"A": 500.0, "B": 300.0, "C": 100.0}
        settings[f"segments.{segment}.outside_utility"] = -200.0
    for segment, units in demand.items():
        settings[f"segments.{segment}.baseline_demand"] = units
    return calm({**settings, **(changes or {})})


def indifferent_market(
    units: float, products: int, stock: tuple[int, int] = (600, 400)
) -> Scenario:
    """Mainstream customers to whom A, B and the outside option are worth the same; others absent.

    Without awareness, quality and price weights (1e-300 is the smallest that counts as positive)
    every utility is the product match.
    """
    changes = {
        "segments.0.price_weight": 1e-300,
        "segments.0.quality_weight": 0.0,
        "segments.0.awareness_weight": 0.0,
        "segments.0.product_match": {"A": 0.0, "B": 0.0, "C": 0.0},
        "segments.0.outside_utility": 0.0,
    }
    for product, initial in enumerate([*stock[:products], 0, 0][:3]):
        changes[f"products.{product}.initial_stock"] = initial
        changes[f"products.{product}.initial_reorder_target"] = 0
    return altered(devoted({MAINSTREAM: units}), changes)


class ChosenLuck(Streams):
    """Streams whose uniforms the test chooses, by stream name or by (name, seat); all others are
    medians.

    A single number stands for every position of its stream.
    """

    def __init__(self, luck: Mapping[Any, Luck] | None = None) -> None:
        super().__init__(0)
        self._luck = luck or {}

    def bounded(self, stream: str, seat: int, day: int, width: int) -> list[float]:
        del day
        return self._chosen(stream, seat, width)

    def open(self, stream: str, seat: int, day: int, count: int, part: int = 0) -> list[float]:
        del day, part
        return self._chosen(stream, seat, count)

    def _chosen(self, stream: str, seat: int, count: int) -> list[float]:
        luck = self._luck.get((stream, seat), self._luck.get(stream, 0.5))
        if isinstance(luck, float):
            return [luck] * count
        return list(luck[:count])


def sigmas(deviations: float) -> float:
    """The uniform at which a standard normal draw is so many standard deviations from its mean."""
    return NormalDist().cdf(deviations)


MEDIANS: Final = ChosenLuck()


def new_world(scenario: Scenario, firms: int = 1, *, tenders: bool = False) -> WorldState:
    """Day 0. Without tenders unless asked for, so that a test sees only what it is about."""
    state = initial_state(scenario, MEDIANS, firms)
    if not tenders:
        state.tenders = []
    return state


def decision(state: WorldState, seat: int = 1, **changes: Any) -> CompanyDecision:
    """A decision of the company in a seat for the state's boundary."""
    return CompanyDecision.model_validate(
        {"company_id": company_name(seat), "world_version": state.version, **changes}
    )


def settle(
    scenario: Scenario,
    state: WorldState,
    decisions: Mapping[int, CompanyDecision | None] | None = None,
    luck: Streams = MEDIANS,
) -> Settlement:
    return settle_window(scenario, luck, state, decisions or {})


def settle_day(
    scenario: Scenario,
    state: WorldState,
    decisions: Mapping[int, CompanyDecision | None] | None = None,
    luck: Streams = MEDIANS,
) -> tuple[WorldState, DayRecord]:
    """One day of a scenario with windows of one day."""
    settlement = settle(scenario, state, decisions, luck)
    (record,) = settlement.days
    return settlement.state, record


def settle_days(
    scenario: Scenario, state: WorldState, days: int, luck: Streams = MEDIANS
) -> Iterator[tuple[WorldState, DayRecord]]:
    """The following days of a scenario with windows of one day, without decisions."""
    for _ in range(days):
        state, record = settle_day(scenario, state, luck=luck)
        yield state, record


def days_later(scenario: Scenario, state: WorldState, days: int) -> WorldState:
    """The state some days later, without decisions."""
    for after, _ in settle_days(scenario, state, days):
        state = after
    return state


def consumer_order(
    day: int, product: int, units: int, price: int = 5000, segment: int = 0
) -> Order:
    return Order(day, product, units, price, segment=segment)


def enterprise_order(
    day: int, product: int, units: int, price: int = 5000, due: int = 400
) -> Order:
    return Order(day, product, units, price, tender_id=f"tender-{day:03d}", due_day=due)


def books(scenario: Scenario, seat: int) -> CompanyDay:
    """An empty record of a company-day."""
    return CompanyDay(
        seat=seat,
        opening_cash_cents=0,
        closing_cash_cents=0,
        ledger=Ledger(),
        products=[ProductDay() for _ in scenario.products],
        segments=[SegmentDay() for _ in scenario.segments],
        capacity_units=0,
        support_queue=0,
        queued_units=0,
        exited=False,
        reports=[],
        completions=[],
    )


def before_sales(scenario: Scenario, state: WorldState, luck: Streams = MEDIANS) -> Today:
    """The state's own day, when every company is ready to sell."""
    companies = [
        Company(seat, firm) for seat, firm in enumerate(state.firms, start=1) if firm.active
    ]
    for company in companies:
        company.record = books(scenario, company.seat)
        company.prepare_to_sell(scenario)
    return Today(scenario, luck, state, conditions_of(scenario, state), companies)
