"""Enterprise tenders: opening and qualification (market.md section 6)."""

from typing import Any

import pytest

from engine.rules.tenders import open_tender
from engine.settle import initial_state, settle_window
from engine.state import Bid, CapacityProject, FirmState, Tender
from engine.streams import Streams
from tests.engine.rules.closing import (
    SCENARIO,
    UNITS,
    award_of,
    closing_world,
)
from tests.engine.worlds import (
    MEDIANS,
    NO_ORDERS,
    PATIENT,
    A,
    B,
    C,
    ChosenLuck,
    consumer_order,
    new_world,
    quiet,
)

# --- opening ------------------------------------------------------------------------------------


def test_tenders_open_every_14th_day() -> None:
    """Section 6: on day 0, then 14, 28, .. 490; seven days of bids, seven of delivery, cut at
    500.
    """
    opened = [tender for day in range(501) if (tender := open_tender(SCENARIO, MEDIANS, day))]
    assert [tender.opened_day for tender in opened] == list(range(0, 491, 14))
    assert all(tender.close_day == tender.opened_day + 7 for tender in opened)
    assert [tender.due_day for tender in opened] == [*range(14, 491, 14), 500]
    assert len({tender.tender_id for tender in opened}) == 36


@pytest.mark.parametrize(
    ("horizon", "due"),
    [(28, 28), (27, 27), (22, 22), (21, None), (20, None), (14, None)],
)
def test_no_tender_opens_without_a_day_of_delivery(horizon: int, due: int | None) -> None:
    """Section 6: the tender of day 14 closes on day 21; delivery needs a day 22 at least."""
    tender = open_tender(SCENARIO.with_horizon(horizon), MEDIANS, 14)
    assert (tender.due_day if tender else None) == due


def test_terms_at_the_medians_of_luck() -> None:
    """Section 6: B; round(690 x 0.30) = 207; 0.68 + 0.025; max($48.01, 1.25 x $75 = $93.75)."""
    tender = open_tender(SCENARIO, MEDIANS, 28)
    assert tender is not None
    assert tender.minimum_quality == pytest.approx(0.705, abs=1e-12)
    tender.minimum_quality = 0.0
    assert tender == Tender("tender-028", B, 207, 0.0, 9375, 28, 35, 42, [])


@pytest.mark.parametrize(
    ("luck", "units", "margin"),
    [(1e-12, 104, 0.0), (1 - 1e-12, 310, 0.05), (0.25, 155, 0.0125)],
)
def test_size_and_quality_ranges(luck: float, units: int, margin: float) -> None:
    """Section 6: 690 x 0.15 = 103.5, x 0.45 = 310.5, x 0.225 = 155.25, rounded; quality q0 +
    0..0.05.
    """
    tender = open_tender(SCENARIO, ChosenLuck({"tender": [0.5, luck, luck]}), 0)
    assert tender is not None
    assert tender.units == units
    assert tender.minimum_quality == pytest.approx(0.68 + margin, abs=1e-9)


def test_products_are_uniform() -> None:
    """Section 6: a third of luck for each of A, B, C; reservation prices 1.25 x $40, $75, $135."""
    drawn = [
        open_tender(SCENARIO, ChosenLuck({"tender": [(step + 0.5) / 30, 0.5, 0.5]}), 0)
        for step in range(30)
    ]
    terms = [(tender.product, tender.reservation_price_cents) for tender in drawn if tender]
    assert terms == [(A, 5000)] * 10 + [(B, 9375)] * 10 + [(C, 16_875)] * 10


def test_reservation_price_exceeds_the_purchase_cost() -> None:
    """Section 6: max(c + 1 cent, round(1.25 initial price))."""
    scenario = quiet({"products.1.purchase_cost_cents": 9375})
    tender = open_tender(scenario, MEDIANS, 0)
    assert tender is not None
    assert tender.reservation_price_cents == 9376


def test_first_tender_is_there_at_day_0_and_later_ones_are_announced() -> None:
    """Sections 1 and 6: a tender opens at the end of step 6, so the boundary of its day sees it."""
    streams = Streams(8)
    state = initial_state(SCENARIO, streams, 1)
    assert [tender.tender_id for tender in state.tenders] == ["tender-000"]
    first = settle_window(SCENARIO, streams, state, {})
    assert first.state.tenders == []
    assert [award.tender_id for award in first.days[-1].public.awards] == ["tender-000"]
    second = settle_window(SCENARIO, streams, first.state, {})
    assert [tender.opened_day for tender in second.state.tenders] == [14]
    (notice,) = second.days[-1].public.opened
    assert notice.tender_id == "tender-014"
    assert [len(day.public.opened) for day in second.days] == [0] * 6 + [1]


def test_terms_do_not_depend_on_companies() -> None:
    """Section 10: tenders are a market stream."""

    def opened(firms: int) -> list[Tender]:
        streams = Streams(21)
        state = initial_state(SCENARIO, streams, firms)
        found = list(state.tenders)
        while state.day < 70:
            state = settle_window(SCENARIO, streams, state, {}).state
            found += [tender for tender in state.tenders if tender.opened_day == state.day]
        return found

    assert opened(1) == opened(5)
    assert len({(tender.product, tender.units) for tender in opened(1)}) > 1


# --- qualification ------------------------------------------------------------------------------


def qualifies(price: int = 9000, change: Any = None, firm_change: Any = None) -> bool:
    scenario = quiet(PATIENT | NO_ORDERS | (change or {}))
    state = closing_world(scenario, [Bid(1, price)])
    firm = state.firms[0]
    if firm_change is not None:
        firm_change(firm)
    award = award_of(scenario, state)
    assert (award.winner_seat, award.unit_price_cents) in ((1, price), (None, None))
    return award.winner_seat == 1


@pytest.mark.parametrize(("price", "expected"), [(0, True), (9375, True), (9376, False)])
def test_a_bid_may_not_exceed_the_reservation_price(price: int, expected: bool) -> None:
    """Section 6: price <= reservation price."""
    assert qualifies(price) is expected


@pytest.mark.parametrize(
    ("base_quality", "expected"), [(0.68, True), (0.6799999, False), (0.7, True)]
)
def test_quality_must_reach_the_minimum(base_quality: float, expected: bool) -> None:
    """Section 6: quality >= minimum."""
    assert qualifies(change={"products.1.base_quality": base_quality}) is expected


def test_quality_is_todays_realized_quality() -> None:
    """Sections 1 and 6: knowledge that matures on the closing day counts at its step 6."""

    def learn(firm: FirmState) -> None:
        firm.knowledge_cents[B] = 300_000.0  # 0.18 ln(1.06) = 0.0105

    assert not qualifies(change={"products.1.base_quality": 0.67})
    assert qualifies(change={"products.1.base_quality": 0.67}, firm_change=learn)


@pytest.mark.parametrize(
    ("stock", "reserved", "expected"),
    [(207, 0, True), (206, 0, False), (250, 43, True), (250, 44, False)],
)
def test_unreserved_stock_must_cover_the_quantity(
    stock: int, reserved: int, expected: bool
) -> None:
    """Section 6: unreserved stock >= quantity."""

    def change(firm: FirmState) -> None:
        firm.stock[B], firm.reserved[B] = stock, reserved

    assert qualifies(firm_change=change) is expected


@pytest.mark.parametrize(("queued", "expected"), [(213, True), (214, False)])
def test_capacity_must_cover_queue_and_quantity(queued: int, expected: bool) -> None:
    """Section 6: days 8..14 have 7 x 60 = 420 units; 420 - 207 = 213 may be queued."""

    def change(firm: FirmState) -> None:
        firm.stock[A] = 0
        firm.queue = [consumer_order(5, A, queued - 10), consumer_order(6, A, 10)]

    assert qualifies(firm_change=change) is expected


@pytest.mark.parametrize(
    ("tier", "target", "due", "capacity"),
    [
        # up to 90 a day from day 8, 10, 14, 15 on
        (0, 1, 8, 630),
        (0, 1, 10, 570),
        (0, 1, 14, 450),
        (0, 1, 15, 420),
        # down to 60 a day from day 9 on: 90 + 6 x 60
        (1, 0, 9, 450),
    ],
)
@pytest.mark.parametrize("spare", [0, -1])
def test_scheduled_capacity_changes_count(
    tier: int, target: int, due: int, capacity: int, spare: int
) -> None:
    """Section 6: the capacity of the days close + 1 .. due, scheduled changes included."""

    def change(firm: FirmState) -> None:
        firm.tier = tier
        firm.capacity_projects = [CapacityProject("p", tier, target, 0, due, 1)]
        firm.stock[A] = 0
        firm.queue = [consumer_order(5, A, capacity - UNITS - spare)]

    assert qualifies(firm_change=change) is (spare == 0)


def test_queued_units_are_those_after_the_days_service() -> None:
    """Sections 1 and 6: the award of step 6 comes after step 5, which delivers 60 of 273 units."""

    def change(firm: FirmState) -> None:
        firm.queue = [consumer_order(5, A, 273)]

    assert qualifies(firm_change=change)


def test_an_award_cut_at_the_horizon_has_fewer_days_of_capacity() -> None:
    """Section 6: the tender of day 490 closes on day 497; days 498..500 hold 3 x 60 = 180 units."""
    scenario = quiet(PATIENT | NO_ORDERS)
    for units, expected in ((180, 1), (181, None)):
        state = new_world(scenario)
        state.day = state.version = 496
        state.tenders = [Tender("tender-490", B, units, 0.5, 9375, 490, 497, 500, [Bid(1, 9000)])]
        assert award_of(scenario, state).winner_seat == expected


def test_bids_of_departed_companies_do_not_count() -> None:
    """Section 6: only active firms' bids count; company 1 left before, so the dearer bid wins."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [Bid(1, 8000), Bid(2, 9000)], firms=2)
    state.firms[0].active = False
    assert award_of(scenario, state).winner_seat == 2
