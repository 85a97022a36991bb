"""What a company may not see (interface.md section 1), and that it sees its own."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from engine.boundary import Boundary
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.state import (
    Belief,
    Bid,
    CapacityProject,
    FirmState,
    InnovationProject,
    Maturing,
    PendingReport,
    Shipment,
    Signal,
    WorldState,
    copy_state,
    encode_state,
)
from tests.engine.busy import SCENARIO, SEAT, busy_world
from tests.engine.worlds import (
    A,
    B,
    altered,
    consumer_order,
    enterprise_order,
)


def seen(
    state: WorldState, days: list[DayRecord], scenario: Scenario = SCENARIO, seat: int = SEAT
) -> bytes:
    return msgspec.msgpack.encode(Boundary(scenario, state, days).observe(seat))


def test_the_world_of_these_tests_is_busy() -> None:
    state, days = busy_world()
    assert [firm.active for firm in state.firms] == [True] * 7 + [False]
    assert len(state.tenders[0].bids) == 3
    assert any(firm.inbound_units(A) for firm in state.firms)
    assert len(days) == 7
    assert state.day == 112


# --- hidden -------------------------------------------------------------------------------------

Disturb = Callable[[WorldState, list[DayRecord]], None]

PUBLIC_OF_RIVALS = {"active", "price_cents", "promotion_cents"}
PRIVATE_OF_RIVALS = [name for name in FirmState.__struct_fields__ if name not in PUBLIC_OF_RIVALS]


def disturbed(value: Any) -> Any:
    """Another value of the same shape."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 17
    if isinstance(value, list):
        return [disturbed(member) for member in value]
    return value


def other_projects() -> dict[str, Any]:
    return {
        "exit_day": 3,
        "inbound": [[Shipment(900, 9)]] * 3,
        "queue": [consumer_order(1, A, 5), enterprise_order(2, B, 9)],
        "capacity_projects": [CapacityProject("capacity-105", 0, 3, 105, 154, 6_000_000)],
        "maturing": [Maturing(900, 0, 9)],
        "innovation_projects": [InnovationProject("innovation-007", 3, 7, 99, 1)],
        "pending_reports": [PendingReport("report-007-1", 0, 1, 7, 900, [1.0, 1.0, 1.0])],
        "beliefs": [[Belief(1.0, 1.0)] * 3] * 3,
    }


def rival_field(name: str) -> Disturb:
    def disturb(state: WorldState, _: list[DayRecord]) -> None:
        for seat, firm in enumerate(state.firms, start=1):
            if seat != SEAT:
                other = other_projects()
                before = getattr(firm, name)
                after = other[name] if name in other else disturbed(before)
                assert after != before
                setattr(firm, name, after)

    return disturb


@pytest.mark.parametrize("name", PRIVATE_OF_RIVALS)
def test_rivals_private_state_is_hidden(name: str) -> None:
    """Cash, stock, budgets, targets, capacity, knowledge, beliefs, standing: everything but
    prices.
    """
    assert_hidden(rival_field(name))


def macro(state: WorldState, _: list[DayRecord]) -> None:
    state.macro += 0.1


def phase(state: WorldState, _: list[DayRecord]) -> None:
    state.phase = (state.phase + 1) % 4


def unpublished_signals(state: WorldState, _: list[DayRecord]) -> None:
    state.signals[1:] = [Signal(9.0, 9.0, 9.0)] * (len(state.signals) - 1)


def rivals_bids(state: WorldState, _: list[DayRecord]) -> None:
    state.tenders[0].bids = [Bid(1, 1), Bid(SEAT, 4100)]


def project_luck(state: WorldState, _: list[DayRecord]) -> None:
    (project,) = state.firms[SEAT - 1].innovation_projects
    project.due_day += 5
    project.gain_cents *= 2


def report_readings(state: WorldState, _: list[DayRecord]) -> None:
    (report,) = state.firms[SEAT - 1].pending_reports
    report.log_signals = [9.0, 9.0, 9.0]


def own_goodwill(state: WorldState, _: list[DayRecord]) -> None:
    state.firms[SEAT - 1].goodwill = [3.0, 3.0, 3.0]


def market_records(_: WorldState, days: list[DayRecord]) -> None:
    for day in days:
        day.market.macro, day.market.phase = 9.0, 3
        day.market.opportunities, day.market.lost_switchers = [9, 9, 9], [9, 9, 9]
        day.state_digest = "sha256:0"


def rivals_records(_: WorldState, days: list[DayRecord]) -> None:
    for day in days:
        for company in day.companies:
            if company.seat != SEAT:
                company.opening_cash_cents += 1
                company.ledger.revenue_cents += 1
                company.products[0].orders += 1
                company.segments[0].satisfaction = 0.5
                company.queued_units += 1


@pytest.mark.parametrize(
    "disturb",
    [
        macro,
        phase,
        unpublished_signals,
        rivals_bids,
        project_luck,
        report_readings,
        own_goodwill,
        market_records,
        rivals_records,
    ],
)
def test_what_is_hidden_stays_hidden(disturb: Disturb) -> None:
    """Phase, today's conditions, sealed bids, project draws, readings, rivals' days."""
    assert_hidden(disturb)


def assert_hidden(disturb: Disturb) -> None:
    state, days = busy_world()
    before = seen(state, days)
    encoded = encode_state(state), msgspec.msgpack.encode(days)
    disturb(state, days)
    assert (encode_state(state), msgspec.msgpack.encode(days)) != encoded, "nothing was disturbed"
    assert seen(state, days) == before


HIDDEN_PARAMETERS = {
    "macro.volatility": 0.5,
    "phases.mean_days": 2.0,
    "phases.states.1.price_weight": 3.0,
    "quality_trend.per_day": 0.01,
    "segments.0.baseline_demand": 77.0,
    "segments.0.reference_price_cents": 77,
    "segments.1.price_weight": 7.0,
    "segments.1.quality_weight": 7.0,
    "segments.1.service_weight": 7.0,
    "segments.1.awareness_weight": 7.0,
    "segments.1.loyalty_weight": 7.0,
    "segments.2.outside_utility": 7.0,
    "segments.2.expected_quality": 0.7,
    "segments.2.service_target_days": 7.0,
    "segments.2.seasonal_amplitude": 0.7,
    "segments.2.seasonal_period_days": 77.0,
    "segments.2.macro_sensitivity": 7.0,
    "segments.2.product_match.A": 7.0,
    "segments.2.channel_effect.search": 7.0,
    "advertising.exponent": 0.7,
    "choice.switching_share": 0.1,
    "tenders.minimum_share": 0.2,
    "service.failure_base": 0.3,
    "innovation.gain_log_sd": 0.7,
}


@pytest.mark.parametrize("path", HIDDEN_PARAMETERS)
def test_parameters_of_customers_and_chance_are_hidden(path: str) -> None:
    """Segments by name only: no preference and no effectiveness of a channel leaves the engine."""
    state, days = busy_world()
    before = seen(state, days)
    scenario = altered(SCENARIO, {path: HIDDEN_PARAMETERS[path]})
    assert seen(state, days, scenario) == before


# --- shown --------------------------------------------------------------------------------------


UNSEEN_BY_ITSELF = {
    # Exit and tier need more than one field to change; the rest is told by the day's records.
    "active",
    "exit_day",
    "tier",
    "maturing",
    "goodwill",
    "satisfaction",
    "loyalty",
}


def own_field(name: str) -> Disturb:
    def disturb(state: WorldState, _: list[DayRecord]) -> None:
        firm = state.firms[SEAT - 1]
        other = other_projects()
        setattr(firm, name, other[name] if name in other else disturbed(getattr(firm, name)))

    return disturb


def rival_price(state: WorldState, _: list[DayRecord]) -> None:
    state.firms[0].price_cents[A] += 1


def rival_promotion(state: WorldState, _: list[DayRecord]) -> None:
    state.firms[0].promotion_cents[B] += 1


def rival_exit(state: WorldState, _: list[DayRecord]) -> None:
    state.firms[0].active = False


def own_bid(state: WorldState, _: list[DayRecord]) -> None:
    state.tenders[0].bids[1].unit_price_cents += 1


def tender_terms(state: WorldState, _: list[DayRecord]) -> None:
    state.tenders[0].units += 1


def own_records(_: WorldState, days: list[DayRecord]) -> None:
    for company in days[-1].companies:
        if company.seat == SEAT:
            company.segments[0].satisfaction += 0.1


def published_signal(state: WorldState, _: list[DayRecord]) -> None:
    state.signals[0].macro += 1.0


def public_records(_: WorldState, days: list[DayRecord]) -> None:
    days[0].public.exited_seats.append(5)


@pytest.mark.parametrize(
    "name", [name for name in FirmState.__struct_fields__ if name not in UNSEEN_BY_ITSELF]
)
def test_the_companys_own_books_are_shown(name: str) -> None:
    assert_shown(own_field(name))


@pytest.mark.parametrize(
    "disturb",
    [
        rival_price,
        rival_promotion,
        rival_exit,
        own_bid,
        tender_terms,
        own_records,
        published_signal,
        public_records,
    ],
)
def test_public_information_and_own_records_are_shown(disturb: Disturb) -> None:
    assert_shown(disturb)


def assert_shown(disturb: Disturb) -> None:
    """The counterpart of what is hidden."""
    state, days = busy_world()
    before = seen(state, days)
    disturb(state, days)
    assert seen(state, days) != before


def test_an_observation_does_not_follow_the_state() -> None:
    """It is a value of its own: what happens to the state later does not show in it."""
    state, days = busy_world()
    view = Boundary(SCENARIO, state, days).observe(SEAT)
    before = msgspec.msgpack.encode(view)
    reference = copy_state(state)
    for name in PRIVATE_OF_RIVALS:
        rival_field(name)(state, days)
    firm = state.firms[SEAT - 1]
    firm.stock[A] += 5
    firm.inbound[A].append(Shipment(900, 3))
    firm.queue.append(consumer_order(1, A, 5))
    firm.beliefs[0][0].mean = 1.0
    state.signals[0].macro = 5.0
    assert msgspec.msgpack.encode(view) == before
    assert encode_state(reference) != encode_state(state)
