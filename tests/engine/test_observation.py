"""What a company sees, and in which form (interface.md section 3)."""

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
from engine.scenario import Scenario
from engine.settle import initial_state
from engine.state import (
    CapacityProject,
    Shipment,
    WorldState,
    encode_state,
)
from engine.streams import Streams
from tests.engine.busy import SCENARIO, SEAT, busy_world
from tests.engine.worlds import (
    A,
    B,
    consumer_order,
    enterprise_order,
    new_world,
)


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
