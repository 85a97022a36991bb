"""Draws by inversion against exact probabilities (market.md section 10).

An inversion gives each value one interval of uniforms as long as its probability. So over an even
grid of N uniforms a value must occur N times its probability, within one: no statistics needed.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist

import pytest

from engine.distributions import binomial, multinomial, normal, poisson
from engine.streams import Streams


def grid(size: int) -> list[float]:
    return [(step + 0.5) / size for step in range(size)]


def poisson_probability(mean: float, value: int) -> float:
    return math.exp(value * math.log(mean) - mean - math.lgamma(value + 1))


def binomial_probability(trials: int, share: float, value: int) -> float:
    exact = Fraction(share)
    ways = math.comb(trials, value)
    return float(ways * exact**value * (1 - exact) ** (trials - value))


def assert_law(counts: Counter[int], probability: Callable[[int], float], size: int) -> None:
    assert counts.total() == size
    for value in range(max(0, min(counts) - 2), max(counts) + 3):
        assert abs(counts[value] - size * probability(value)) <= 1.001, value


# --- worked out by hand -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uniform", "value"),
    # e^-1 = 0.3679, then cumulated 0.7358, 0.9197, 0.9810
    [
        (0.0001, 0),
        (0.36, 0),
        (0.37, 1),
        (0.73, 1),
        (0.74, 2),
        (0.91, 2),
        (0.92, 3),
        (0.98, 3),
        (0.982, 4),
    ],
)
def test_poisson_by_hand(uniform: float, value: int) -> None:
    assert poisson(uniform, 1.0) == value


@pytest.mark.parametrize(
    ("uniform", "value"),
    # Binomial(4, 3/4): 1, 12, 54, 108, 81 of 256; cumulated 0.0039, 0.0508, 0.2617, 0.6836
    [(0.003, 0), (0.004, 1), (0.05, 1), (0.051, 2), (0.26, 2), (0.27, 3), (0.68, 3), (0.69, 4)],
)
def test_binomial_by_hand(uniform: float, value: int) -> None:
    assert binomial(uniform, 4, 0.75) == value


def test_multinomial_by_hand() -> None:
    """Four trials over weights 1, 1 and a rest of 2, by conditional binomials.

    Binomial(4, 1/4) at 0.5: 81, 108, .. of 256: 0.3164, 0.7383: 1. Of the other three Binomial(3,
    1/3) at 0.9: 8, 12, 6, 1 of 27: 0.2963, 0.7407, 0.9630: 2. One falls into the rest.
    """
    assert multinomial([0.5, 0.9], 4, [1.0, 1.0], 2.0) == [1, 2]
    assert multinomial([0.5, 0.9], 4, [0.25, 0.25], 0.5) == [1, 2]


@pytest.mark.parametrize(
    ("uniform", "value"),
    [
        (0.5, 0.0),
        (0.8413447460685429, 1.0),
        (0.15865525393145707, -1.0),
        (0.975, 1.959963984540054),
        (0.001, -3.090232306167813),
    ],
)
def test_normal_quantiles(uniform: float, value: float) -> None:
    assert normal(uniform) == pytest.approx(value, abs=1e-9)


# --- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("uniform", [2.0**-53, 0.5, 1 - 2.0**-53])
def test_certain_cases(uniform: float) -> None:
    assert poisson(uniform, 0.0) == 0
    assert binomial(uniform, 0, 0.5) == 0
    assert binomial(uniform, 7, 0.0) == 0
    assert binomial(uniform, 7, 1.0) == 7
    assert binomial(uniform, 7, 1.0 + 1e-15) == 7
    assert binomial(uniform, 7, -1e-15) == 0
    assert multinomial([uniform] * 2, 0, [1.0, 1.0], 1.0) == [0, 0]
    assert multinomial([uniform] * 2, 9, [1.0, 0.0], 0.0) == [9, 0]
    assert multinomial([uniform] * 2, 9, [0.0, 1.0], 0.0) == [0, 9]
    assert multinomial([], 9, [], 1.0) == []


@pytest.mark.parametrize("uniform", [2.0**-53, 1e-12, 0.5, 1 - 1e-12, 1 - 2.0**-53])
@pytest.mark.parametrize("trials", [1, 60, 300, 9_000])
@pytest.mark.parametrize("share", [1e-300, 1e-9, 0.05, 0.5, 0.76, 1 - 1e-9])
def test_binomial_stays_in_range(uniform: float, trials: int, share: float) -> None:
    assert 0 <= binomial(uniform, trials, share) <= trials


@pytest.mark.parametrize("mean", [1e-300, 1e-9, 0.3, 99.0, 101.0, 399.0, 401.0, 5_000.0, 1e6])
def test_poisson_reaches_its_tails_and_not_beyond(mean: float) -> None:
    """Twelve standard deviations contain all that a uniform of 53 bits can reach."""
    reach = 40 + 12 * math.sqrt(mean)
    for uniform in (2.0**-53, 1e-9, 0.5, 1 - 1e-9):
        assert abs(poisson(uniform, mean) - mean) <= reach


@pytest.mark.parametrize("mean", [1.1e8, 1e12, 12 * (2.0**53 - 1) / 30_000, 1e300])
def test_poisson_of_a_huge_mean_is_normal_and_quick(mean: float) -> None:
    """The largest legal support budget has a mean of 3.6e12: no search could walk through that."""
    deviations = {2.0**-53: -8.21, 0.5: 0.0, NormalDist().cdf(2.0): 2.0, 1 - 2.0**-53: 8.21}
    for uniform, deviation in deviations.items():
        expected = mean + math.sqrt(mean) * deviation
        assert poisson(uniform, mean) == pytest.approx(expected, abs=0.01 * math.sqrt(mean) + 1)


# --- exact laws ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.01, 0.75, 2.75, 12.0, 60.0, 99.5, 100.5, 240.0, 437.4, 5_000.0])
def test_poisson_law(mean: float) -> None:
    size = 20_000
    counts = Counter(poisson(uniform, mean) for uniform in grid(size))
    assert_law(counts, lambda value: poisson_probability(mean, value), size)


@pytest.mark.parametrize(
    ("trials", "share"),
    [
        (1, 0.5),
        (3, 0.05),
        (20, 0.05),
        (25, 0.76),
        (60, 0.03),
        (300, 0.3),
        (300, 0.4),
        (437, 0.76),
        (900, 0.5),
    ],
)
def test_binomial_law(trials: int, share: float) -> None:
    size = 20_000
    counts = Counter(binomial(uniform, trials, share) for uniform in grid(size))
    assert_law(counts, lambda value: binomial_probability(trials, share, value), size)


def test_multinomial_law() -> None:
    """Three trials over weights 1, 2 and a rest of 3: all ten joint counts, on a grid of 300 x
    300.
    """
    size = 300
    counts: Counter[tuple[int, ...]] = Counter(
        tuple(multinomial((first, second), 3, (1.0, 2.0), 3.0))
        for first in grid(size)
        for second in grid(size)
    )
    assert len(counts) == 10
    for (one, two), count in counts.items():
        rest = 3 - one - two
        ways = (
            math.factorial(3) // math.factorial(one) // math.factorial(two) // math.factorial(rest)
        )
        probability = ways * (1 / 6) ** one * (1 / 3) ** two * (1 / 2) ** rest
        assert count / size**2 == pytest.approx(probability, abs=2 / size)


def chi_square(observed: Sequence[int], probabilities: Sequence[float]) -> tuple[float, int]:
    """Statistic and degrees of freedom; what the values leave out is one cell more."""
    size = 20_000
    expected = [size * probability for probability in probabilities]
    cells = [*zip(observed, expected, strict=True)]
    cells.append((size - sum(observed), size - math.fsum(expected)))
    statistic = math.fsum((seen - mean) ** 2 / mean for seen, mean in cells)
    return statistic, len(cells) - 1


@pytest.mark.parametrize(("mean", "values"), [(12.0, range(4, 21)), (300.0, range(268, 333))])
def test_poisson_chi_square_with_real_luck(mean: float, values: Sequence[int]) -> None:
    """20,000 draws of the keyed generator: below the mean plus four standard deviations."""
    counts = Counter(poisson(uniform, mean) for uniform in Streams(12).open("law", 0, 1, 20_000))
    statistic, freedom = chi_square(
        [counts[value] for value in values], [poisson_probability(mean, value) for value in values]
    )
    assert statistic < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize(
    ("trials", "share", "values"), [(60, 0.76, range(36, 54)), (400, 0.4, range(138, 183))]
)
def test_binomial_chi_square_with_real_luck(
    trials: int, share: float, values: Sequence[int]
) -> None:
    """The same for the binomial law."""
    counts = Counter(
        binomial(uniform, trials, share) for uniform in Streams(13).open("law", 0, 1, 20_000)
    )
    statistic, freedom = chi_square(
        [counts[value] for value in values],
        [binomial_probability(trials, share, value) for value in values],
    )
    assert statistic < freedom + 4 * math.sqrt(2 * freedom)


# --- closeness ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.5, 5.0, 60.0])
def test_poisson_rises_with_luck_and_mean(mean: float) -> None:
    values = [poisson(uniform, mean) for uniform in grid(2_000)]
    assert values == sorted(values)
    higher = [poisson(uniform, 1.02 * mean) for uniform in grid(2_000)]
    assert all(0 <= up - value <= 3 for value, up in zip(values, higher, strict=True))


@pytest.mark.parametrize(("trials", "share"), [(10, 0.05), (60, 0.3), (60, 0.499), (60, 0.76)])
def test_binomial_rises_with_luck_share_and_trials(trials: int, share: float) -> None:
    values = [binomial(uniform, trials, share) for uniform in grid(2_000)]
    assert values == sorted(values)
    for other in (
        [binomial(uniform, trials, share + 0.02) for uniform in grid(2_000)],
        [binomial(uniform, trials + 1, share) for uniform in grid(2_000)],
    ):
        assert all(0 <= up - value <= 3 for value, up in zip(values, other, strict=True))
