"""Colours that keep apart for every sight and on both papers, one per candidate."""

import itertools

import pytest

from campaigns.report.palette import COLOURS, MARKS, looks

# Machado, Oliveira and Fernandes 2009, full severity, on linear light.
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
PAPERS = ("#fdfdfe", "#17191d")


def linear(colour: str) -> tuple[float, ...]:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return tuple(
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def seen(colour: str, sight: str) -> tuple[float, float, float]:
    """The colour in CIELAB as a sight has it."""
    light = linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, light, strict=True))))
        for row in SIGHTS[sight]
    )

    def scaled(value: float) -> float:
        return value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116

    x = scaled((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = scaled(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = scaled((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_colours_are_told_apart(sight: str) -> None:
    for one, two in itertools.combinations(COLOURS, 2):
        distance = sum(
            (here - there) ** 2
            for here, there in zip(seen(one, sight), seen(two, sight), strict=True)
        )
        assert distance >= 23**2, (one, two)


@pytest.mark.parametrize("paper", PAPERS)
def test_colours_stand_out_from_the_paper(paper: str) -> None:
    for colour in COLOURS:
        low, high = sorted((luminance(colour), luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 2.9, colour


def test_looks_are_by_seat_and_differ_also_for_a_large_panel() -> None:
    panel = [f"c{number}" for number in range(20)]
    found = looks(panel, [*panel, "rule", "idle"], {"c0": "Ada"})
    assert found["c0"] == ("Ada", COLOURS[0], MARKS[0])
    assert len({(look.colour, look.mark) for look in found.values()}) == 22
    assert {found["rule"].colour, found["idle"].colour}.isdisjoint(COLOURS)
