"""Named random streams: every draw is a pure function of (seed, stream, seat, day, position)
(market.md section 10).

The words come from Philox-4x64, a counter-based generator. Its key is derived from the seed, the
stream's name and the seat; its counter from the day. No generator lives in the world's state, no
draw depends on how many draws anyone made before it, and two runs share their luck wherever their
paths agree. Only raw words are taken from NumPy: it promises that the words of a bit generator
never change, which it does not promise of its distributions.

A *bounded* stream takes a fixed number of uniforms a day; its days lie back to back, so that many
are read at once. An *open* stream may take any number; each part of each of its days has 2**64
counter blocks of its own.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.random import Philox

from engine.distributions import binomial, multinomial, normal, poisson

STREAMS_VERSION: Final = "ceos-streams-v1"

MARKET: Final = 0
"""The seat of the shared market streams; companies have seats 1..n."""

_WORDS_PER_BLOCK: Final = 4
_READ_AHEAD_DAYS: Final = 64


class Streams:
    """The random streams of one economic seed. Holds only a cache: two instances of one seed
    draw the same.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generator = Philox(key=0)
        self._state = self._generator.state
        self._keys: dict[tuple[str, int], tuple[int, int]] = {}
        self._pages: dict[tuple[str, int, int], tuple[int, int, list[float]]] = {}

    def bounded(self, stream: str, seat: int, day: int, width: int) -> list[float]:
        """The ``width`` uniforms in (0, 1) of a stream that always takes ``width`` a day."""
        identity = (stream, seat, width)
        page = self._pages.get(identity)
        if page is None or not 0 <= day - page[0] < _READ_AHEAD_DAYS:
            page = self._pages[identity] = self._read_page(stream, seat, day, width)
        first_day, stride, uniforms = page
        start = (day - first_day) * stride
        return uniforms[start : start + width]

    def open(self, stream: str, seat: int, day: int, count: int, part: int = 0) -> list[float]:
        """The first ``count`` uniforms in (0, 1) of one part of a stream that takes any number
        a day.
        """
        return self._uniforms(stream, seat, (0, 1 + day, part), count)

    def _read_page(
        self, stream: str, seat: int, first_day: int, width: int
    ) -> tuple[int, int, list[float]]:
        """Uniforms of some days of a bounded stream; each day begins on a block of its own."""
        blocks = -(-width // _WORDS_PER_BLOCK)
        stride = blocks * _WORDS_PER_BLOCK
        counter = (first_day * blocks, 0, 0)
        return first_day, stride, self._uniforms(stream, seat, counter, _READ_AHEAD_DAYS * stride)

    def tie_break(self, name: str, seat: int) -> bytes:
        """A hash keyed by the seed that orders equals, e.g. equal bids on one tender (section
        6).
        """
        return hashlib.sha256(f"{STREAMS_VERSION}|{self.seed}|tie|{name}|{seat}".encode()).digest()

    def _uniforms(
        self, stream: str, seat: int, counter: tuple[int, int, int], count: int
    ) -> list[float]:
        """Read words from a counter position: the top 52 bits, centred, so that 0 and 1 never
        occur.
        """
        key = self._keys.get((stream, seat))
        if key is None:
            key = self._keys[stream, seat] = self._key(stream, seat)
        state = self._state
        state["state"]["counter"][:] = (*counter, 0)
        state["state"]["key"][:] = key
        state["buffer_pos"] = _WORDS_PER_BLOCK
        self._generator.state = state
        words = self._generator.random_raw(count)
        fractions = (words >> np.uint64(12)).astype(np.float64)
        uniforms: list[float] = (fractions * 2.0**-52 + 2.0**-53).tolist()
        return uniforms

    def _key(self, stream: str, seat: int) -> tuple[int, int]:
        material = hashlib.sha256(
            f"{STREAMS_VERSION}|{self.seed}|{stream}|{seat}".encode()
        ).digest()
        return int.from_bytes(material[:8], "little"), int.from_bytes(material[8:16], "little")


def stream_fingerprint() -> str:
    """``sha256:<hex>`` over a few draws of every distribution.

    Bound in the manifest, so that a library that changes its streams is noticed before a replay
    disagrees.
    """
    streams = Streams(20)
    uniforms = streams.bounded("fingerprint", 3, 100, 6) + streams.open("fingerprint", MARKET, 7, 9)
    draws = [
        *(uniform.hex() for uniform in uniforms),
        *(normal(uniform).hex() for uniform in uniforms),
        *(poisson(uniform, mean) for uniform in uniforms for mean in (0.3, 240.0, 5_000.0)),
        *(binomial(uniform, 60, 0.03) for uniform in uniforms),
        *(binomial(uniform, 9_000, 0.76) for uniform in uniforms),
        *multinomial(uniforms[:4], 300, [0.1, 0.4, 0.2, 0.05], 0.25),
    ]
    text = "\n".join(str(draw) for draw in draws)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
