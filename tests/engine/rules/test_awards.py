"""Enterprise tenders: award, delivery, penalty (market.md section 6)."""

from engine.records import Award
from engine.scenario import Scenario
from engine.settle import initial_state, settle_window
from engine.state import Bid, Tender, WorldState
from engine.streams import Streams
from tests.engine.rules.closing import (
    MINIMUM_QUALITY,
    SCENARIO,
    UNITS,
    award_of,
    closing_world,
)
from tests.engine.worlds import (
    NO_ORDERS,
    B,
    C,
    consumer_order,
    decision,
    devoted,
    enterprise_order,
    new_world,
    quiet,
    settle_day,
    settle_days,
)

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
