"""Enterprise tenders: opening, qualification, award, delivery, penalty (market.md section 6)."""

from typing import Any

import pytest

from engine.records import Award
from engine.rules.tenders import open_tender
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
from engine.state import Bid, CapacityProject, FirmState, Tender, WorldState
from engine.streams import Streams
from tests.engine.worlds import (
    MEDIANS,
    A,
    B,
    C,
    ChosenLuck,
    consumer_order,
    decision,
    devoted,
    enterprise_order,
    new_world,
    quiet,
    settle_day,
    settle_days,
)

SCENARIO = default_scenario()
NO_ORDERS: dict[str, Any] = {f"products.{line}.initial_reorder_target": 0 for line in range(3)}
PATIENT = {"service.abandonment": 0.0}
UNITS, RESERVATION_PRICE, MINIMUM_QUALITY = 207, 9375, 0.68


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


def closing_world(
    scenario: Scenario, bids: list[Bid], firms: int = 1, product: int = B
) -> WorldState:
    """The evening before a tender for 207 units closes on day 7; delivery is due on day 14."""
    state = new_world(scenario, firms)
    state.day = state.version = 6
    state.tenders = [
        Tender("tender-000", product, UNITS, MINIMUM_QUALITY, RESERVATION_PRICE, 0, 7, 14, bids)
    ]
    return state


def award_of(scenario: Scenario, state: WorldState, luck: Streams = MEDIANS) -> Award:
    _, record = settle_day(scenario, state, luck=luck)
    (award,) = record.public.awards
    return award


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


# --- award --------------------------------------------------------------------------------------


def test_the_lowest_qualifying_bid_wins_at_its_own_price() -> None:
    """Section 6: company 3 asks less but lacks stock; company 2 wins at $80.01, not at $85."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [Bid(1, 8500), Bid(2, 8001), Bid(3, 8000)], firms=3)
    state.firms[2].stock[B] = 206
    award = award_of(scenario, state)
    assert award == Award("tender-000", B, UNITS, 7, 14, 2, 8001)


def test_without_a_qualifying_bid_nobody_wins() -> None:
    """Section 6: the tender closes, public, without a winner."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [Bid(1, 9999)])
    after, record = settle_day(scenario, state)
    assert record.public.awards == [Award("tender-000", B, UNITS, 7, 14, None, None)]
    assert after.tenders == []
    assert after.firms[0].queue == []


def test_ties_are_settled_by_the_seed_alone() -> None:
    """Section 6: equal bids go by a hash keyed by the seed: every seat wins under some seed.

    The order in which the bids came in does not matter.
    """
    scenario = quiet(NO_ORDERS)
    winners = []
    for seed in range(40):
        forward = closing_world(scenario, [Bid(seat, 9000) for seat in (1, 2, 3)], firms=3)
        backward = closing_world(scenario, [Bid(seat, 9000) for seat in (3, 2, 1)], firms=3)
        winner = award_of(scenario, forward, Streams(seed)).winner_seat
        assert award_of(scenario, backward, Streams(seed)).winner_seat == winner
        winners.append(winner)
    assert {winners.count(seat) > 4 for seat in (1, 2, 3)} == {True}


def test_ties_differ_between_tenders_of_one_seed() -> None:
    """Section 6: the hash knows the tender, so that no seat is favoured for a whole world."""
    scenario = quiet(NO_ORDERS)
    winners = set()
    for number in range(12):
        state = closing_world(scenario, [Bid(1, 9000), Bid(2, 9000)], firms=2)
        state.tenders[0].tender_id = f"tender-{number}"
        winners.add(award_of(scenario, state, Streams(4)).winner_seat)
    assert winners == {1, 2}


def test_an_award_reserves_and_joins_the_queue_without_revenue_or_fee() -> None:
    """Section 6: reserved on day 7, not delivered that day although all 60 units are free."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [Bid(1, 9000)])
    after, record = settle_day(scenario, state)
    firm, company = after.firms[0], record.companies[0]
    assert firm.reserved == [0, UNITS, 0]
    assert firm.stock == [600, 400, 200]
    (order,) = firm.queue
    assert (order.tender_id, order.units, order.price_cents) == ("tender-000", UNITS, 9000)
    assert (order.entered_day, order.due_day, order.segment) == (7, 14, None)
    assert company.ledger.revenue_cents == 0
    assert company.ledger.outlays_cents == 40_000 + 3600  # overhead and holding
    _, next_record = settle_day(scenario, after)
    assert next_record.companies[0].ledger.revenue_cents == 60 * 9000


def test_stock_of_an_earlier_award_is_not_available_to_a_later_one() -> None:
    """Section 6: 300 B on hand serve one tender for 207, not two that close on the same day.

    Capacity for both is there (tier 3: 7 x 200).
    """
    scenario = quiet(NO_ORDERS | {"initial_capacity_tier": 3})
    state = closing_world(scenario, [Bid(1, 9000)])
    state.firms[0].stock[B] = 300
    state.tenders.append(
        Tender("tender-001", B, UNITS, MINIMUM_QUALITY, 9375, 0, 7, 14, [Bid(1, 9000)])
    )
    after, record = settle_day(scenario, state)
    assert [award.winner_seat for award in record.public.awards] == [1, None]
    assert after.firms[0].reserved[B] == UNITS
    state.firms[0].stock[B] = 2 * UNITS
    _, record = settle_day(scenario, state)
    assert [award.winner_seat for award in record.public.awards] == [1, 1]


def test_an_earlier_awards_units_count_as_queued_for_a_later_one() -> None:
    """Section 6: capacity 7 x 60 = 420 less 207 just awarded leaves 213: enough for 207, not for
    214.
    """
    scenario = quiet(NO_ORDERS)
    for units, second in ((213, 1), (214, None)):
        state = closing_world(scenario, [Bid(1, 9000)])
        state.firms[0].stock[B] = 1000
        state.tenders.append(Tender("later", B, units, 0.5, 9375, 0, 7, 14, [Bid(1, 9000)]))
        _, record = settle_day(scenario, state)
        assert [award.winner_seat for award in record.public.awards] == [1, second]


def test_tenders_that_close_later_stay_open() -> None:
    """Section 6: bids are taken for seven days, also when tenders overlap."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [])
    state.tenders.append(Tender("later", B, 10, 0.5, 9375, 3, 10, 17, []))
    after, record = settle_day(scenario, state)
    assert [tender.tender_id for tender in after.tenders] == ["later"]
    assert [award.tender_id for award in record.public.awards] == ["tender-000"]


def test_a_bid_of_the_closing_boundary_comes_too_late() -> None:
    """Sections 1 and 6: the tender of day 0 is settled on day 7, so the boundary of day 0
    decides.
    """
    streams = Streams(8)
    scenario = SCENARIO
    state = initial_state(scenario, streams, 1)
    tender = state.tenders[0]
    price = tender.reservation_price_cents
    bid = decision(state, bids={tender.tender_id: price})
    settled = settle_window(scenario, streams, state, {1: bid})
    assert [award.tender_id for award in settled.days[6].public.awards] == [tender.tender_id]
    assert settled.state.tenders == []


def test_a_new_bid_replaces_the_old_one() -> None:
    """Interface section 2, here in two windows of one tender: the later price counts."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [Bid(1, 9000), Bid(2, 8900)], firms=2)
    change = decision(state, 1, bids={"tender-000": 8800})
    _, record = settle_day(scenario, state, {1: change})
    assert [(award.winner_seat, award.unit_price_cents) for award in record.public.awards] == [
        (1, 8800)
    ]


# --- delivery and expiry ------------------------------------------------------------------------


def due_world(units: int, price: int, capacity: int = 60) -> tuple[Scenario, WorldState]:
    """Day 13 of an award of B that is due on day 14."""
    scenario = quiet(NO_ORDERS | {"capacity.tiers.0.units_per_day": capacity})
    state = new_world(scenario)
    state.day = state.version = 13
    firm = state.firms[0]
    firm.reserved[B] = units
    firm.queue = [enterprise_order(7, B, units, price, due=14)]
    return scenario, state


def test_delivery_on_the_due_day_comes_before_expiry() -> None:
    """Section 6: the last 60 units are delivered on day 14, no penalty."""
    scenario, state = due_world(60, 9000)
    after, record = settle_day(scenario, state)
    assert record.companies[0].ledger.revenue_cents == 540_000
    assert record.companies[0].ledger.penalties_cents == 0
    assert after.firms[0].queue == []
    assert after.firms[0].reserved == [0, 0, 0]


def test_what_is_left_pays_the_penalty_once_and_frees_its_reservation() -> None:
    """Section 6: of 71 units 60 are delivered; floor(0.10 x 11 x 9,999) = floor(10,998.9) cents.

    The 11 units stay on the shelf, unreserved, and the next day charges nothing.
    """
    scenario, state = due_world(71, 9999)
    after, record = settle_day(scenario, state)
    assert record.companies[0].ledger.penalties_cents == 10_998
    assert after.firms[0].queue == []
    assert after.firms[0].reserved == [0, 0, 0]
    assert after.firms[0].stock[B] == 340
    _, record = settle_day(scenario, after)
    assert record.companies[0].ledger.penalties_cents == 0


def test_the_penalty_is_floored_for_each_order() -> None:
    """Section 6: two orders of one unit at 19 cents pay floor(1.9) = 1 cent each, not
    floor(3.8).
    """
    scenario, state = due_world(1, 19, capacity=0)
    state.firms[0].reserved[B] = 2
    state.firms[0].queue.append(enterprise_order(7, B, 1, 19, due=14))
    _, record = settle_day(scenario, state)
    assert record.companies[0].ledger.penalties_cents == 2


def test_an_order_due_later_does_not_expire() -> None:
    """Section 6: nothing happens to it before its due day."""
    scenario, state = due_world(100, 9000, capacity=0)
    state.firms[0].queue.append(enterprise_order(7, B, 5, 9000, due=15))
    state.firms[0].reserved[B] = 105
    state.firms[0].queue.append(consumer_order(1, C, 4))
    after, record = settle_day(scenario, state)
    assert record.companies[0].ledger.penalties_cents == 90_000
    assert [(order.due_day, order.units) for order in after.firms[0].queue] == [(15, 5), (None, 4)]
    assert after.firms[0].reserved[B] == 5


def test_awards_of_the_last_tender_are_due_on_the_last_day() -> None:
    """Section 6: cut at day 500: what day 500 cannot deliver pays its penalty that day."""
    scenario = quiet(NO_ORDERS | {"capacity.tiers.0.units_per_day": 10})
    state = new_world(scenario)
    state.day = state.version = 499
    firm = state.firms[0]
    firm.reserved[B] = 30
    firm.queue = [enterprise_order(497, B, 30, 1000, due=500)]
    after, record = settle_day(scenario, state)
    assert record.day == 500
    assert record.companies[0].ledger.penalties_cents == 2000
    assert after.firms[0].queue == []


def test_a_won_tender_is_delivered_day_by_day() -> None:
    """Section 6, the whole life: bid at 0, award on 7, 60 units on each of the days 8, 9, 10, 27
    on 11.
    """
    scenario = quiet(NO_ORDERS | {"tenders.quality_margin": 0.0})
    state = new_world(scenario, tenders=True)
    assert state.tenders[0].units == UNITS
    bid = decision(state, bids={"tender-000": 9375})
    state, record = settle_day(scenario, state, {1: bid})
    delivered = {1: record.companies[0].products[B].enterprise_units}
    for _, record in settle_days(scenario, state, 11):
        delivered[record.day] = record.companies[0].products[B].enterprise_units
    assert delivered == dict.fromkeys(range(1, 13), 0) | {8: 60, 9: 60, 10: 60, 11: 27}


def test_losing_bids_never_reach_the_public() -> None:
    """Section 6: the record of an award names the winner and the price, nothing of the losers."""
    scenario = quiet(NO_ORDERS)
    state = closing_world(scenario, [Bid(1, 8765), Bid(2, 8000)], firms=2)
    _, with_loser = settle_day(scenario, state)
    state.tenders[0].bids = [Bid(2, 8000)]
    _, without = settle_day(scenario, state)
    assert with_loser.public == without.public


def test_consumers_of_the_closing_day_come_before_the_award() -> None:
    """Section 6: the award joins after the day's consumer service: 30 sold, so 206 are too few."""
    scenario = devoted(
        {0: 30.0}, NO_ORDERS | {"segments.0.product_match": {"A": 0.0, "B": 300.0, "C": 0.0}}
    )
    for stock, winner in ((UNITS + 30, 1), (UNITS + 29, None)):
        state = closing_world(scenario, [Bid(1, 9000)])
        state.firms[0].stock = [0, stock, 0]
        assert award_of(scenario, state).winner_seat == winner
