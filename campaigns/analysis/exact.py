"""Exact means of cents, and their only rounding."""

import math
from collections.abc import Sequence
from fractions import Fraction


def mean(values: Sequence[int | Fraction]) -> Fraction | None:
    """The exact mean, None of nothing."""
    return sum((Fraction(value) for value in values), Fraction(0)) / len(values) if values else None


def cents(value: Fraction | None) -> int | None:
    """An exact amount rounded half to even to a cent; None stays None."""
    return None if value is None else round(value)


def variance(values: Sequence[int | Fraction]) -> Fraction | None:
    """The exact sample variance (n - 1), None of fewer than two values."""
    middle = mean(values)
    if middle is None or len(values) < 2:
        return None
    return sum(((value - middle) ** 2 for value in values), Fraction(0)) / (len(values) - 1)


def root(value: Fraction | None) -> float | None:
    """The square root of an exact value, correctly rounded to a float; None stays None."""
    return None if value is None else math.sqrt(value)


def sign(value: int | Fraction) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)
