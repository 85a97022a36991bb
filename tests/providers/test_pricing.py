"""What replies cost (providers.md section 3)."""

from hypothesis import given
from hypothesis import strategies as st

from providers.contract import Usage
from providers.pricing import cents, cost, most
from providers.routes import Prices

PRICES = Prices(input="1.25", cached_input="0.125", output="10")


def test_a_reply_costs_what_its_tokens_cost() -> None:
    # 600 fresh x $1.25 + 400 cached x $0.125 + 50 x $10, in dollars per million tokens.
    assert cost(PRICES, Usage(1_000, 400, 50, 20)) == 750 + 50 + 500


def test_without_a_price_of_its_own_cached_input_costs_as_much_as_other() -> None:
    assert cost(Prices(input="2", output="0"), Usage(1_000, 900, 7, 0)) == 2_000


def test_writing_into_the_cache_has_a_price_of_its_own() -> None:
    prices = Prices(input="2", cached_input="0.2", cache_write="2.5", output="0")
    usage = Usage(1_000, 300, 0, 0, 500)
    assert cost(prices, usage) == 200 * 2 + 60 + 500 * 2.5
    assert most(prices, 3_000, 0) == 2_500
    assert cost(Prices(input="2", output="0"), usage) == 2_000


def test_fractions_of_a_microdollar_are_rounded_up() -> None:
    assert cost(Prices(input="0.000000001", output="0"), Usage(1, 0, 0, 0)) == 1
    assert cost(Prices(input="0.5", output="0"), Usage(3, 0, 0, 0)) == 2
    assert cost(Prices(input="0.5", output="0"), Usage(0, 0, 9, 0)) == 0


def test_cents_are_rounded_half_to_even() -> None:
    assert [cents(each) for each in (4_999, 5_000, 15_000, 15_001, 25_000)] == [0, 0, 2, 2, 2]


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.data())
def test_no_reply_costs_more_than_what_was_set_aside(
    request_tokens: int, output: int, data: st.DataObject
) -> None:
    cached = data.draw(st.integers(0, request_tokens))
    used = data.draw(st.integers(0, output))
    # A token has three bytes at least where this bound is to hold.
    assert cost(PRICES, Usage(request_tokens, cached, used, 0)) <= most(
        PRICES, 3 * request_tokens, output
    )
