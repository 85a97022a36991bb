"""Named, keyed random streams (market.md section 10)."""

import hashlib
import itertools
import math
from typing import Final

import pytest

from engine.streams import MARKET, Streams, stream_fingerprint

# Changes only with the version of the streams, and then every recorded run becomes another one.
FINGERPRINT: Final = "sha256:037baa815844b4694e9fbe607e208564f59f8ca09bae527f62484ca441eb81c0"


def philox_block(key: tuple[int, int], counter: int) -> list[int]:
    """Philox-4x64 with ten rounds, written from its definition (Salmon and others, 2011)."""
    mask = 2**64 - 1
    words = [counter >> 64 * position & mask for position in range(4)]
    first, second = key
    for _ in range(10):
        low = 0xD2E7470EE14C6C93 * words[0]
        high = 0xCA5A826395121157 * words[2]
        words = [
            (high >> 64) ^ words[1] ^ first,
            high & mask,
            (low >> 64) ^ words[3] ^ second,
            low & mask,
        ]
        first = first + 0x9E3779B97F4A7C15 & mask
        second = second + 0xBB67AE8584CAA73B & mask
    return words


def words_at(seed: int, stream: str, seat: int, counter: int, count: int) -> list[float]:
    """Uniforms worked out without NumPy: the generator counts up before it makes a block."""
    material = hashlib.sha256(f"ceos-streams-v1|{seed}|{stream}|{seat}".encode()).digest()
    key = int.from_bytes(material[:8], "little"), int.from_bytes(material[8:16], "little")
    words: list[int] = []
    while len(words) < count:
        counter += 1
        words += philox_block(key, counter)
    return [(word >> 12) * 2.0**-52 + 2.0**-53 for word in words[:count]]


def test_philox_known_answer() -> None:
    """The published test vectors of Philox-4x64-10 for all zeros and all ones."""
    assert philox_block((0, 0), 0) == [
        0x16554D9ECA36314C,
        0xDB20FE9D672D0FDC,
        0xD7E772CEE186176B,
        0x7E68B68AEC7BA23B,
    ]
    ones = 2**64 - 1
    assert philox_block((ones, ones), 2**256 - 1) == [
        0x87B092C3013FE90B,
        0x438C3C67BE8D0224,
        0x9CC7D7C69CD777B6,
        0xA09CAEBF594F0BA0,
    ]


@pytest.mark.parametrize("seed", [0, 11, 2**63])
@pytest.mark.parametrize(("seat", "day"), [(MARKET, 0), (3, 1), (8, 499), (1, 70)])
def test_words_are_philox_keyed_by_seed_stream_seat_and_day(seed: int, seat: int, day: int) -> None:
    """A bounded stream of 6 takes two blocks a day; an open part has a counter space of its own."""
    streams = Streams(seed)
    assert streams.bounded("failures", seat, day, 6) == words_at(seed, "failures", seat, 2 * day, 6)
    part_counter = (2 << 128) + (1 + day << 64)
    assert streams.open("failures", seat, day, 9, part=2) == words_at(
        seed, "failures", seat, part_counter, 9
    )


def test_random_access_equals_sequential_access() -> None:
    """A draw does not depend on how many draws anyone made before it."""
    sequential = Streams(7)
    days = {day: sequential.bounded("macro", MARKET, day, 3) for day in range(400)}
    for day in (399, 0, 64, 63, 65, 128, 1, 398):
        assert Streams(7).bounded("macro", MARKET, day, 3) == days[day]
    jumping = Streams(7)
    for day in (300, 5, 301, 4, 299, 6, 64, 63):
        assert jumping.bounded("macro", MARKET, day, 3) == days[day]


def test_order_of_calls_is_irrelevant() -> None:
    calls = [("bounded", "support", seat, day, 1) for seat in (1, 2) for day in (1, 2, 90)] + [
        ("open", "research", seat, day, 5) for seat in (1, 2) for day in (1, 2, 90)
    ]

    def values(order: list[tuple[str, str, int, int, int]]) -> dict[object, list[float]]:
        streams = Streams(3)
        return {call: getattr(streams, call[0])(*call[1:]) for call in order}

    assert values(calls) == values(calls[::-1]) == values(sorted(calls, key=lambda call: call[3]))


def test_callers_cannot_change_a_stream() -> None:
    """What is handed out is a copy: the cache stays as it is."""
    streams = Streams(3)
    first = streams.bounded("phase", MARKET, 1, 4)
    kept = list(first)
    first[0] = 9.0
    assert streams.bounded("phase", MARKET, 1, 4) == kept


def test_an_open_stream_may_take_any_number() -> None:
    """The first draws are the same however many are taken."""
    streams = Streams(5)
    many = streams.open("abandonment", 4, 17, 1000)
    for count in (0, 1, 3, 4, 5, 999):
        assert streams.open("abandonment", 4, 17, count) == many[:count]


def test_all_parts_of_the_key_matter() -> None:
    """Seed, stream, seat, day, part, and bounded or open: no two of them share a word."""
    streams = [
        Streams(seed).open(name, seat, day, 8, part=part)
        for seed in (1, 2)
        for name in ("demand:value", "choice:value")
        for seat in (MARKET, 1, 2)
        for day in (0, 1, 2)
        for part in (0, 1)
    ] + [
        Streams(seed).bounded(name, seat, day, 8)
        for seed in (1, 2)
        for name in ("demand:value", "choice:value")
        for seat in (MARKET, 1, 2)
        for day in (0, 1, 2)
    ]
    words = list(itertools.chain.from_iterable(streams))
    assert len(set(words)) == len(words)


def test_days_do_not_overlap() -> None:
    """Every day of a bounded stream begins on a block of its own, also past the read-ahead."""
    streams = Streams(1)
    words = [word for day in range(200) for word in streams.bounded("tickets", 1, day, 5)]
    assert len(set(words)) == len(words)


def test_uniforms_are_inside_the_unit_interval_and_even() -> None:
    """40,000 uniforms over 20 cells: chi-square with 19 degrees of freedom below 43.8 (p =
    0.001).
    """
    uniforms = Streams(99).open("even", 1, 1, 40_000)
    assert all(0.0 < uniform < 1.0 for uniform in uniforms)
    cells = [0] * 20
    for uniform in uniforms:
        cells[int(20 * uniform)] += 1
    assert sum((cell - 2000) ** 2 / 2000 for cell in cells) < 43.8


def test_streams_are_uncorrelated() -> None:
    """Neighbouring seats and days: correlation within four standard errors of zero."""
    streams = Streams(4)
    length = 2000
    first = [streams.bounded("failures", 1, day, 1)[0] for day in range(length + 1)]
    second = [streams.bounded("failures", 2, day, 1)[0] for day in range(length)]

    def correlation(left: list[float], right: list[float]) -> float:
        return (
            12
            * math.fsum((a - 0.5) * (b - 0.5) for a, b in zip(left, right, strict=True))
            / len(left)
        )

    assert abs(correlation(first[:-1], second)) < 4 / math.sqrt(length)
    assert abs(correlation(first[:-1], first[1:])) < 4 / math.sqrt(length)


def test_tie_break_depends_on_seed_name_and_seat() -> None:
    keys = {
        Streams(seed).tie_break(name, seat)
        for seed in (1, 2)
        for name in ("tender-000", "tender-014")
        for seat in (1, 2)
    }
    assert len(keys) == 8
    assert Streams(1).tie_break("tender-000", 1) == Streams(1).tie_break("tender-000", 1)


def test_fingerprint() -> None:
    assert stream_fingerprint() == FINGERPRINT
