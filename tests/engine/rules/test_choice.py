"""Filling, switching and backlog (market.md section 3), worked out by hand."""

import pytest

from engine.state import Order, WorldState
from tests.engine.worlds import (
    MAINSTREAM,
    PREMIUM,
    VALUE,
    A,
    B,
    C,
    ChosenLuck,
    altered,
    decision,
    devoted,
    indifferent_market,
    new_world,
    settle_day,
)


def consumer_queue(state: WorldState, seat: int = 1) -> list[tuple[int, int, int | None]]:
    """(product, units, segment) of each waiting order."""
    return [(order.product, order.units, order.segment) for order in state.firms[seat - 1].queue]


# --- filling, switching, backlog ----------------------------------------------------------------


def test_unmet_units_switch_or_wait_and_lost_switchers_leave_no_trace() -> None:
    """Section 3 with 50 customers who want A, then B, then C; Q = 38, stock of A 25.

    The luck is at the medians, which for Binomial(n, 0.76) are 19 of 25, 5 of 6 and 4 of 5.
    Round 1: A is asked for 50, sells 25; of the 25 unmet 19 switch, 6 wait for A.
    Round 2: B is asked for 19 and has stock, but only 38 - 25 = 13 units of capacity are left: it
    sells 13; of the 6 unmet 5 switch, 1 waits for B.
    Round 3: C is in stock, so it is asked for 5 although the company has no capacity left: it sells
             nothing; of the 5 unmet 4 switch, 1 waits for C.
    No offer remains: 4 are lost. 25 + 13 sold, 6 + 1 + 1 waiting, 4 lost: 50.
    """
    scenario = devoted({MAINSTREAM: 50.0}, {"capacity.tiers.0.units_per_day": 38})
    state = new_world(scenario)
    state.firms[0].stock[A] = 25
    after, record = settle_day(scenario, state)
    company = record.companies[0]
    assert [line.orders for line in company.products] == [50, 19, 5]
    assert [line.fulfilled_units for line in company.products] == [25, 13, 0]
    assert [line.stockouts for line in company.products] == [25, 6, 5]
    assert [line.backlogged_units for line in company.products] == [6, 1, 1]
    assert consumer_queue(after) == [(A, 6, MAINSTREAM), (B, 1, MAINSTREAM), (C, 1, MAINSTREAM)]
    assert record.market.lost_switchers == [4, 0, 0]
    assert company.ledger.revenue_cents == 25 * 4000 + 13 * 7500


def test_capacity_is_looked_at_when_a_segment_begins() -> None:
    """Section 3: the next segment no longer sees a company whose capacity is used up.

    Mainstream comes before premium and value (section 1) and takes all 60 units; nobody of the
    later segments is turned away or waits, because they see no offer at all.
    """
    scenario = devoted({MAINSTREAM: 60.0, PREMIUM: 50.0, VALUE: 40.0})
    after, record = settle_day(scenario, new_world(scenario))
    assert record.market.opportunities == [60, 50, 40]
    assert [part.fulfilled_units for part in record.companies[0].segments] == [60, 0, 0]
    assert record.companies[0].products[A].orders == 60
    assert after.firms[0].queue == []
    assert record.market.lost_switchers == [0, 0, 0]


def test_offers_left_for_one_segment_return_for_the_next() -> None:
    """Section 3: an offer with unmet units leaves the set for this segment only.

    Mainstream asks for 30 A; 20 are in stock, 10 unmet: with share 0 nobody switches, 10 wait.
    A is out of stock, so premium (20 customers) asks for B, which mainstream never saw.
    """
    scenario = devoted({MAINSTREAM: 30.0, PREMIUM: 20.0}, {"choice.switching_share": 0.0})
    state = new_world(scenario)
    state.firms[0].stock[A] = 20
    after, record = settle_day(scenario, state)
    company = record.companies[0]
    assert [line.orders for line in company.products] == [30, 20, 0]
    assert [part.fulfilled_units for part in company.segments] == [20, 20, 0]
    assert consumer_queue(after) == [(A, 10, MAINSTREAM)]


def test_segments_share_stock_in_identifier_order() -> None:
    """Section 1: mainstream, then premium, then value get the last units of A."""
    scenario = devoted(
        {MAINSTREAM: 10.0, PREMIUM: 10.0, VALUE: 10.0}, {"choice.switching_share": 0.0}
    )
    state = new_world(scenario)
    state.firms[0].stock = [25, 0, 0]
    after, record = settle_day(scenario, state)
    assert [part.fulfilled_units for part in record.companies[0].segments] == [10, 10, 5]
    assert consumer_queue(after) == [(A, 5, VALUE)]


def test_switchers_reach_other_companies_the_same_day() -> None:
    """Section 3: 40 want A and both companies are alike; the luck sends 20 to each.

    Company 1 has 10 A and nothing else: 10 unmet, all switch (share 1). Company 2 still has A and
    takes them: 20 + 10 units.
    """
    scenario = devoted({MAINSTREAM: 40.0}, {"choice.switching_share": 1.0})
    state = new_world(scenario, firms=2)
    state.firms[0].stock = [10, 0, 0]
    after, record = settle_day(scenario, state)
    assert [company.products[A].fulfilled_units for company in record.companies] == [10, 30]
    assert [company.products[A].orders for company in record.companies] == [20, 30]
    assert after.firms[0].queue == []
    assert record.market.lost_switchers == [0, 0, 0]


def test_switchers_of_all_offers_go_on_together() -> None:
    """Section 3: two companies turn 10 of 20 customers away, all 20 switch and find nothing."""
    scenario = devoted({MAINSTREAM: 40.0}, {"choice.switching_share": 1.0})
    state = new_world(scenario, firms=2)
    for firm in state.firms:
        firm.stock = [10, 0, 0]
    _, record = settle_day(scenario, state)
    assert record.market.lost_switchers == [20, 0, 0]


def test_every_round_has_luck_of_its_own() -> None:
    """Sections 3 and 10: an offer that is asked again in a later round draws anew."""

    class Rounds(ChosenLuck):
        parts: list[int]

        def open(self, stream: str, seat: int, day: int, count: int, part: int = 0) -> list[float]:
            if stream == "choice:mainstream":
                self.parts.append(part)
            return super().open(stream, seat, day, count, part)

    scenario = devoted({MAINSTREAM: 50.0}, {"choice.switching_share": 1.0})
    state = new_world(scenario)
    state.firms[0].stock = [5, 5, 5]
    luck = Rounds()
    luck.parts = []
    settle_day(scenario, state, luck=luck)
    assert luck.parts == [1, 2]


def test_switchers_may_choose_the_outside_option() -> None:
    """Section 3: later rounds are drawn over the remaining offers and the outside option.

    90 customers, a third each for A, B and outside. A has 10: 20 unmet, all switch. Round 2 offers
    B or outside, a half each: 10 more for B, 10 leave. Nobody is lost as a switcher.
    """
    scenario = altered(indifferent_market(units=90.0, products=2), {"choice.switching_share": 1.0})
    state = new_world(scenario)
    state.firms[0].stock[A] = 10
    _, record = settle_day(scenario, state)
    assert [line.orders for line in record.companies[0].products] == [30, 40, 0]
    assert [line.fulfilled_units for line in record.companies[0].products] == [10, 40, 0]
    assert record.market.lost_switchers == [0, 0, 0]


@pytest.mark.parametrize(
    ("reserved", "asked", "lost"),
    [
        # All of B is sold in round 1, nothing is on hand: B leaves, the 5 switchers find no offer.
        (0, 10, 5),
        # 3 units are on hand but reserved: B stays in the set and is asked for the 5 in vain.
        (3, 15, 5),
    ],
)
def test_later_rounds_look_at_stock_on_hand(reserved: int, asked: int, lost: int) -> None:
    """Section 3: later rounds leave out products with zero on-hand stock, not zero unreserved
    stock.

    20 customers, half for A, half for B (no outside option). A has 5: 5 unmet, all switch (share
    1). B has exactly 10 unreserved units for the 10 who chose it.
    """
    scenario = altered(
        indifferent_market(units=20.0, products=2, stock=(5, 10)),
        {"choice.switching_share": 1.0, "segments.0.outside_utility": -600.0},
    )
    state = new_world(scenario)
    firm = state.firms[0]
    firm.stock[B] += reserved
    firm.reserved[B] = reserved
    after, record = settle_day(scenario, state)
    line = record.companies[0].products[B]
    assert (line.orders, line.fulfilled_units) == (asked, 10)
    assert record.market.lost_switchers[MAINSTREAM] == lost
    assert after.firms[0].stock[B] == reserved


def test_a_set_needs_unreserved_stock_when_it_is_built() -> None:
    """Section 3: a product whose stock is all reserved is no offer; customers go to B."""
    scenario = devoted({MAINSTREAM: 10.0})
    state = new_world(scenario)
    state.firms[0].reserved[A] = state.firms[0].stock[A]
    _, record = settle_day(scenario, state)
    assert [line.orders for line in record.companies[0].products] == [0, 10, 0]


def test_reserved_units_are_not_sold_to_consumers() -> None:
    """Section 3: filled up to unreserved stock: 600 on hand, 590 reserved, 30 asked, 10 sold."""
    scenario = devoted({MAINSTREAM: 30.0}, {"choice.switching_share": 0.0})
    state = new_world(scenario)
    state.firms[0].reserved[A] = 590
    after, record = settle_day(scenario, state)
    assert record.companies[0].products[A].fulfilled_units == 10
    assert after.firms[0].stock[A] == 590
    assert consumer_queue(after) == [(A, 20, MAINSTREAM)]


def test_inactive_companies_offer_nothing() -> None:
    """Section 3: the set holds active firms; the other company takes all 30."""
    scenario = devoted({MAINSTREAM: 30.0})
    state = new_world(scenario, firms=2)
    state.firms[0].active = False
    after, record = settle_day(scenario, state)
    (company,) = record.companies
    assert company.seat == 2
    assert company.products[A].fulfilled_units == 30
    assert after.firms[0].stock == [600, 400, 200]


def test_without_any_offer_nothing_happens() -> None:
    """Section 3: opportunities without an offer take the outside option; nobody is a lost
    switcher.
    """
    scenario = devoted({MAINSTREAM: 30.0})
    state = new_world(scenario)
    state.firms[0].stock = [0, 0, 0]
    after, record = settle_day(scenario, state)
    assert record.market.opportunities[MAINSTREAM] == 30
    assert record.market.lost_switchers == [0, 0, 0]
    assert after.firms[0].queue == []


def test_sales_are_at_the_effective_price_and_so_is_the_backlog() -> None:
    """Section 3: list price 50 less promotion 8 is $42; a later price does not change the order."""
    scenario = devoted({MAINSTREAM: 30.0}, {"choice.switching_share": 0.0})
    state = new_world(scenario)
    state.firms[0].stock = [20, 0, 0]
    state.firms[0].reorder_target = [0, 0, 0]
    change = decision(state, products={"A": {"price_cents": 5000, "promotion_cents": 800}})
    state, record = settle_day(scenario, state, {1: change})
    assert record.companies[0].ledger.revenue_cents == 20 * 4200
    assert [order.price_cents for order in state.firms[0].queue] == [4200]
    dearer = decision(state, products={"A": {"price_cents": 9000, "promotion_cents": 0}})
    state.firms[0].stock[A] = 10
    state, record = settle_day(scenario, state, {1: dearer})
    # Abandonment before service: the median of Binomial(10, 0.05) is 0, so all 10 are delivered.
    assert record.companies[0].ledger.revenue_cents == 10 * 4200


def test_rounds_go_by_seat_then_product() -> None:
    """Section 1: inside a round companies by seat number, then products A, B, C.

    A half each for A and B of one company whose capacity is 15: A's ten units come first.
    """
    scenario = altered(
        indifferent_market(units=20.0, products=2),
        {
            "segments.0.outside_utility": -600.0,
            "capacity.tiers.0.units_per_day": 15,
            "choice.switching_share": 0.0,
        },
    )
    after, record = settle_day(scenario, new_world(scenario))
    assert [line.fulfilled_units for line in record.companies[0].products] == [10, 5, 0]
    assert consumer_queue(after) == [(B, 5, MAINSTREAM)]


def test_switching_draws_belong_to_the_company() -> None:
    """Section 10: how many of a company's unmet units switch is drawn from its own stream.

    Both companies have 10 of 20 units asked for; company 1 is lucky (nobody switches), company 2
    is not.
    """
    scenario = devoted({MAINSTREAM: 40.0})
    state = new_world(scenario, firms=2)
    for firm in state.firms:
        firm.stock = [10, 0, 0]
    luck = ChosenLuck({("switching", 1): 1e-12, ("switching", 2): 1 - 1e-12})
    after, record = settle_day(scenario, state, luck=luck)
    assert consumer_queue(after, 1) == [(A, 10, MAINSTREAM)]
    assert consumer_queue(after, 2) == []
    assert record.market.lost_switchers[MAINSTREAM] == 10


def test_one_order_for_each_offer_that_left_people_waiting() -> None:
    """Section 3: the backlog keeps segment, product, day of entry and agreed price."""
    scenario = devoted({MAINSTREAM: 30.0}, {"choice.switching_share": 0.0})
    state = new_world(scenario)
    state.firms[0].stock = [25, 0, 0]
    after, _ = settle_day(scenario, state)
    assert after.firms[0].queue == [Order(1, A, 5, 4000, segment=MAINSTREAM)]
