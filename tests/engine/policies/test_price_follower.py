from typing import Any

import pytest

from engine.observation import PublicOffer
from engine.policies.price_follower import PriceFollower, PriceFollowerParameters
from tests.engine.policies.boundaries import observed, segment_budgets, settings


def follower(**parameters: Any) -> PriceFollower:
    return PriceFollower(PriceFollowerParameters(**parameters))


def offer(seat: int, price: int, promotion: int = 0, *, active: bool = True) -> PublicOffer:
    name = f"company-{seat}"
    return PublicOffer(name, seat, active, "A", price, promotion, price - promotion)


def price_of_a(*offers: PublicOffer) -> int:
    decision = follower().decide(observed(offers=offers))
    price: int = settings(decision, "price_cents")["A"]
    return price


def test_it_asks_a_little_less_than_the_middle_of_its_rivals() -> None:
    # 98% of the middle effective price, 4,500.
    assert price_of_a(offer(2, 9_000), offer(3, 4_600, 100), offer(4, 4_000)) == 4_410


def test_of_a_middle_pair_the_lower_one_counts() -> None:
    assert price_of_a(offer(2, 5_000), offer(3, 4_000)) == 3_920


def test_it_does_not_follow_itself_or_those_who_left() -> None:
    own, exited = offer(1, 100), offer(3, 100, active=False)
    assert price_of_a(own, exited, offer(2, 5_000)) == 4_900


def test_alone_it_follows_the_initial_price() -> None:
    assert price_of_a(offer(1, 9_999)) == 3_920


def test_it_never_asks_less_than_its_margin() -> None:
    # 26.00 and 25%.
    assert price_of_a(offer(2, 0)) == 3_250


@pytest.mark.parametrize(("cash", "budget"), [(5_000_001, 3_000), (5_000_000, 0)])
def test_marketing_stops_at_the_cash_floor(cash: int, budget: int) -> None:
    decision = follower().decide(observed(cash_cents=cash))
    assert segment_budgets(decision) == dict.fromkeys(("mainstream", "premium", "value"), budget)
