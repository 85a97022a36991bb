"""What a company may see, and above all what it may not (interface.md sections 1 and 3)."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest

from engine.boundary import Boundary
from engine.observation import (
    CapacityQuote,
    Observation,
    OwnCapacityProject,
    OwnContract,
    OwnInnovation,
    OwnOrder,
    OwnPendingReport,
    OwnShipment,
    PublicOffer,
)
from engine.records import DayRecord
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
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
from engine.streams import Streams
from tests.engine.script import scripted_decisions
from tests.engine.worlds import (
    A,
    B,
    altered,
    consumer_order,
    enterprise_order,
    new_world,
)

SCENARIO = default_scenario()
SEAT = 4


@cache
def _busy() -> tuple[bytes, tuple[bytes, ...]]:
    streams = Streams(11)
    state = initial_state(SCENARIO, streams, 8)
    days: list[DayRecord] = []
    while state.day < 112:
        settled = settle_window(SCENARIO, streams, state, scripted_decisions(SCENARIO, state))
        state, days = settled.state, settled.days
    # Sealed bids of the boundary, as they stand while other companies still think.
    state.tenders[0].bids = [Bid(2, 3900), Bid(SEAT, 4100), Bid(7, 4200)]
    return encode_state(state), tuple(msgspec.msgpack.encode(day) for day in days)


def busy_world() -> tuple[WorldState, list[DayRecord]]:
    """Day 112 of a lively world: a tender is open, one company has left; a fresh copy each time."""
    encoded, days = _busy()
    state = msgspec.msgpack.decode(encoded, type=WorldState)
    firm = state.firms[SEAT - 1]
    firm.innovation_projects = [InnovationProject("innovation-070", 2, 70, 190, 6_543_210)]
    firm.pending_reports = [PendingReport("report-105-1", 1, 5, 105, 119, [5.0, 0.8, -0.2])]
    return state, [msgspec.msgpack.decode(day, type=DayRecord) for day in days]


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


def observed(state: WorldState, seat: int = 1, scenario: Scenario = SCENARIO) -> Observation:
    return Boundary(scenario, state, []).observe(seat)


def test_identity_and_time() -> None:
    state = new_world(SCENARIO, firms=3)
    state.day, state.version = 14, 2
    view = observed(state, 3)
    assert (view.company_id, view.seat) == ("company-3", 3)
    assert (view.world_version, view.day, view.days_remaining) == (2, 14, 486)


def test_offers_of_all_companies_and_exits_are_public() -> None:
    """Every rival's list price, promotion and effective price; exited rivals marked, prices
    kept.
    """
    state = new_world(SCENARIO, firms=2)
    state.firms[1].promotion_cents = [100, 0, 0]
    state.firms[1].active = False
    offers = observed(state).offers
    assert len(offers) == 6
    assert offers[0] == PublicOffer("company-1", 1, True, "A", 4000, 0, 4000)
    assert offers[3] == PublicOffer("company-2", 2, False, "A", 4000, 100, 3900)


def test_departed_companies_see_nothing() -> None:
    state = new_world(SCENARIO, firms=2)
    state.firms[1].active, state.firms[1].exit_day = False, 9
    with pytest.raises(ValueError, match="company-2 left the market on day 9"):
        observed(state, 2)


def test_stock_orders_and_contracts() -> None:
    state = new_world(SCENARIO)
    firm = state.firms[0]
    firm.reserved[B] = 9
    firm.inbound[A] = [Shipment(5, 10), Shipment(6, 20)]
    firm.inbound[B] = [Shipment(7, 1)]
    firm.queue = [
        consumer_order(1, A, 5, 3900, segment=2),
        enterprise_order(2, B, 9, 7000, due=14),
    ]
    view = observed(state)
    product = view.products["A"]
    assert (product.on_hand, product.reserved, product.inbound) == (600, 0, 30)
    assert view.products["B"].reserved == 9
    assert view.inbound == (
        OwnShipment("A", 10, 5),
        OwnShipment("A", 20, 6),
        OwnShipment("B", 1, 7),
    )
    assert view.backlog == (OwnOrder(1, "value", "A", 5, 3900),)
    assert view.contracts == (OwnContract("tender-002", "B", 9, 7000, 2, 14),)


def test_projects_show_only_what_was_known_at_their_start() -> None:
    """Tier, start, median completion and expected gain; the draws stay in the engine."""
    state, _ = busy_world()
    view = observed(state, SEAT)
    assert view.innovation_projects == (OwnInnovation("innovation-070", 2, 70, 160, 7_000_000),)
    assert view.pending_reports == (OwnPendingReport("report-105-1", "premium", 5, 105, 119),)


def test_quality_is_the_realized_one() -> None:
    """market.md section 4: 0.55 + 0.18 ln 2 = 0.6747664925 at K = $50,000."""
    state = new_world(SCENARIO)
    state.firms[0].knowledge_cents[A] = 5_000_000.0
    view = observed(state)
    assert view.products["A"].quality == pytest.approx(0.6747664925, abs=1e-10)
    assert view.products["B"].quality == 0.68


def test_quotes_come_from_the_settlements_code() -> None:
    """market.md section 5: from tier 1: down $1,000 in 7 days, up $18,000 in 35, $48,000 in 49
    days.
    """
    state = new_world(SCENARIO)
    state.day, state.version = 21, 3
    state.firms[0].tier = 1
    assert observed(state).capacity_quotes == (
        CapacityQuote("downsize", 0, None, 100_000, 0, 28),
        CapacityQuote("expand", 2, None, 1_800_000, 0, 56),
        CapacityQuote("expand", 3, None, 4_800_000, 0, 70),
    )
    assert observed(state).units_per_day == 90


def test_a_pending_expansion_is_quoted_for_cancellation_only() -> None:
    """market.md section 5: P = 1,200,000, e = 7 of 21: I = 480,000, refund 660,000 cents."""
    state = new_world(SCENARIO)
    state.day, state.version = 7, 1
    state.firms[0].capacity_projects = [CapacityProject("capacity-000", 0, 1, 0, 21, 1_200_000)]
    view = observed(state)
    assert view.capacity_quotes == (CapacityQuote("cancel", None, "capacity-000", 0, 660_000, 7),)
    pending = OwnCapacityProject("capacity-000", 0, 1, 0, 21, 1_200_000, "pending")
    assert view.capacity_projects == (pending,)
    assert view.pending_capacity == pending
    state.firms[0].capacity_projects[0].status = "canceled"
    assert observed(state).pending_capacity is None
    assert len(observed(state).capacity_quotes) == 3


def test_a_pending_downsizing_has_no_quote() -> None:
    state = new_world(SCENARIO)
    state.firms[0].tier = 1
    state.firms[0].capacity_projects = [CapacityProject("capacity-000", 1, 0, 0, 7, 0)]
    assert observed(state).capacity_quotes == ()


def test_only_the_own_bid_is_shown() -> None:
    state, _ = busy_world()
    bids = [observed(state, seat).tenders[0].own_bid_cents for seat in (1, 2, SEAT, 7)]
    assert bids == [None, 3900, 4100, 4200]


def test_the_signal_is_seven_days_old() -> None:
    """market.md section 8; also at the first boundary, where the sample is day 0."""
    first = observed(initial_state(SCENARIO, Streams(1), 1)).signal
    assert (first.sample_day, first.macro, first.demand_index, first.quality_index) == (0, 1, 1, 1)
    state, days = busy_world()
    signal = Boundary(SCENARIO, state, days).observe(SEAT).signal
    assert signal.sample_day == 105
    assert signal == days[-1].public.signal


def test_the_catalog_is_the_public_frame() -> None:
    """Products, tiers and price lists of the scenario; segments and channels by name."""
    view = observed(new_world(SCENARIO)).catalog
    assert msgspec.to_builtins(view.segments) == {
        name: {"segment_id": name, "label": name.capitalize()}
        for name in ("mainstream", "premium", "value")
    }
    assert view.channels == ("affiliate", "display", "search")
    assert view.products["C"].purchase_cost_cents == 8500
    assert [tier.overhead_cents for tier in view.capacity] == [40_000, 53_000, 73_000, 100_000]
    assert [tier.median_days for tier in view.innovation] == [45, 90, 150]
    assert [level.cost_cents for level in view.research] == [
        100_000,
        250_000,
        600_000,
        1_250_000,
        2_500_000,
    ]
    assert (view.horizon_days, view.window_days, view.initial_value_cents) == (500, 7, 51_600_000)


def test_observing_changes_nothing() -> None:
    state, days = busy_world()
    before = encode_state(state), msgspec.msgpack.encode(days)
    boundary = Boundary(SCENARIO, state, days)
    for seat in range(1, 8):
        boundary.observe(seat)
    assert (encode_state(state), msgspec.msgpack.encode(days)) == before


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
