"""What replies cost by a route's prices (providers.md section 3).

Amounts are exact, as integer micro-dollars: a price in dollars per million tokens is one in
micro-dollars per token. What one request costs is rounded up to whole micro-dollars, sums are
rounded half to even to whole cents where they are shown.
"""

from fractions import Fraction
from typing import Final

from providers.contract import Usage
from providers.routes import Prices

MICRODOLLARS_PER_CENT: Final = 10_000

# A token has about four characters. Where a request cannot be counted it is taken for more.
_BYTES_PER_TOKEN: Final = 3


def cost(prices: Prices, usage: Usage) -> int:
    """What the tokens of one reply, or of many, cost, in micro-dollars."""
    cached, written = usage.cached_input_tokens, usage.cache_written_tokens
    exact = (
        Fraction(prices.input) * (usage.input_tokens - cached - written)
        + Fraction(prices.cached_input or prices.input) * cached
        + Fraction(prices.cache_write or prices.input) * written
        + Fraction(prices.output) * usage.output_tokens
    )
    return -int(-exact // 1)


def most(prices: Prices, request_bytes: int, output_tokens: int) -> int:
    """The most that a request of so many bytes may cost with so many output tokens, in
    micro-dollars: nothing of it in the cache, all of it put there, and the whole output used.
    """
    read = input_tokens(request_bytes)
    plain = cost(prices, Usage(read, 0, output_tokens, 0))
    return max(plain, cost(prices, Usage(read, 0, output_tokens, 0, read)))


def input_tokens(request_bytes: int) -> int:
    """A generous guess of the input tokens of a request that nobody has counted yet."""
    return -(-request_bytes // _BYTES_PER_TOKEN)


def cents(microdollars: int) -> int:
    """Micro-dollars as whole cents, rounded half to even."""
    return round(Fraction(microdollars, MICRODOLLARS_PER_CENT))
