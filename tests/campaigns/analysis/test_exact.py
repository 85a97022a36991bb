"""Means of cents and their rounding."""

from fractions import Fraction

import pytest

from campaigns.analysis.exact import cents, mean


def test_a_mean_is_exact() -> None:
    assert mean([1, 2, 2]) == Fraction(5, 3)
    assert mean([2**60, 2**60 + 1]) == 2**60 + Fraction(1, 2)
    assert mean([Fraction(1, 3), 1]) == Fraction(2, 3)
    assert mean([]) is None


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (Fraction(1, 2), 0),
        (Fraction(3, 2), 2),
        (Fraction(-15, 2), -8),
        (Fraction(-5, 2), -2),
        (Fraction(2, 3), 1),
        (2**60 + Fraction(1, 2), 2**60),
        (None, None),
    ],
)
def test_rounding_is_half_to_even(value: Fraction | None, rounded: int | None) -> None:
    assert cents(value) == rounded
