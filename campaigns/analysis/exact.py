"""Exact means of cents, and their only rounding."""

from collections.abc import Sequence
from fractions import Fraction


def mean(values: Sequence[int | Fraction]) -> Fraction | None:
    """The exact mean, None of nothing."""
    return sum((Fraction(value) for value in values), Fraction(0)) / len(values) if values else None


def cents(value: Fraction | None) -> int | None:
    """An exact amount rounded half to even to a cent; None stays None."""
    return None if value is None else round(value)
