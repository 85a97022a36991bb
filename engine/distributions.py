"""Integer and normal draws by inversion: one uniform in, one value out.

Only IEEE arithmetic and Python's ``math`` are used, in a fixed order, so that a draw has the same
value wherever it is made. One uniform a draw also means that no draw depends on how often another
one was rejected. Up to a mean of 100 a draw is monotone: more expected, never less drawn from the
same luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Final

_LARGE: Final = 100.0
"""Above this mean the search starts at the mode: it is shorter, and the probability of zero cannot
underflow."""

_HUGE: Final = 1e8
"""Above this mean no search is short: a budget may be any integer, and so may what it pays for. The
normal law is then exact to a few parts in a million."""

normal: Callable[[float], float] = NormalDist().inv_cdf
"""Standard normal value at a uniform in (0, 1)."""


def poisson(uniform: float, mean: float) -> int:
    """Poisson(mean) at a uniform in (0, 1); ``mean`` >= 0."""
    if mean > _HUGE:
        return round(mean + math.sqrt(mean) * normal(uniform))
    if mean > _LARGE:
        return _poisson_from_mode(uniform, mean)
    if mean <= 0.0:
        return 0
    probability = math.exp(-mean)
    value = 0
    while uniform >= probability:
        uniform -= probability
        value += 1
        probability *= mean / value
        if probability == 0.0:  # the uniform lies beyond what doubles resolve
            break
    return value


def binomial(uniform: float, trials: int, share: float) -> int:
    """Binomial(trials, share) at a uniform in (0, 1); ``share`` is clipped to [0, 1]."""
    if trials <= 0 or share <= 0.0:
        return 0
    if share >= 1.0:
        return trials
    if share > 0.5:
        return trials - binomial(1.0 - uniform, trials, 1.0 - share)
    if trials * share > _LARGE:
        return _binomial_from_mode(uniform, trials, share)
    rest = 1.0 - share
    probability = rest**trials
    odds = share / rest
    value = 0
    while uniform >= probability and value < trials:
        uniform -= probability
        value += 1
        probability *= odds * (trials - value + 1) / value
    return value


def multinomial(
    uniforms: Sequence[float], trials: int, weights: Sequence[float], rest: float
) -> list[int]:
    """Joint counts of ``trials`` over ``weights`` and a remaining category of weight ``rest``.

    One uniform for each weight, by conditional binomials in the given order. Weights need not be
    normalized. Returns the counts of ``weights``; what is missing to ``trials`` fell into the
    remaining category.
    """
    remaining_weight = rest
    for weight in reversed(weights):
        remaining_weight += weight
    counts = [0] * len(weights)
    for index, weight in enumerate(weights):
        if trials == 0:
            break
        count = binomial(uniforms[index], trials, weight / remaining_weight)
        counts[index] = count
        trials -= count
        remaining_weight -= weight
        if remaining_weight <= 0.0:
            break
    return counts


def _poisson_from_mode(uniform: float, mean: float) -> int:
    mode = math.floor(mean)
    at_mode = math.exp(mode * math.log(mean) - mean - math.lgamma(mode + 1))
    return _outward(
        uniform,
        mode,
        at_mode,
        lambda value: mean / (value + 1),
        lambda value: value / mean,
    )


def _binomial_from_mode(uniform: float, trials: int, share: float) -> int:
    mode = math.floor((trials + 1) * share)
    odds = share / (1.0 - share)
    log_choose = math.lgamma(trials + 1) - math.lgamma(mode + 1) - math.lgamma(trials - mode + 1)
    at_mode = math.exp(log_choose + mode * math.log(share) + (trials - mode) * math.log1p(-share))
    return _outward(
        uniform,
        mode,
        at_mode,
        lambda value: odds * (trials - value) / (value + 1),
        lambda value: value / (odds * (trials - value + 1)),
    )


def _outward(
    uniform: float,
    mode: int,
    at_mode: float,
    up: Callable[[int], float],
    down: Callable[[int], float],
) -> int:
    """Invert over the order mode, mode+1, mode-1, ...; ``up`` and ``down`` give the ratios."""
    uniform -= at_mode
    if uniform < 0.0:
        return mode
    high, high_probability = mode, at_mode
    low, low_probability = mode, at_mode
    while high_probability > 0.0 or low_probability > 0.0:
        high_probability *= up(high)
        high += 1
        uniform -= high_probability
        if uniform < 0.0:
            return high
        if low > 0:
            low_probability *= down(low)
            low -= 1
            uniform -= low_probability
            if uniform < 0.0:
                return low
        else:
            low_probability = 0.0
    return mode
