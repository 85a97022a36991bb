"""The same entrants against two baselines at one seed (evaluation.md section 2).

Controls Y0_r are the references of the blocks r that have the first baseline's replacements. For an
endpoint Y: Delta of the first baseline = mean(Y0_r) - mean(Y_r), Delta of the other = mean(Y0_r) -
mean of its own blocks' Y. Private takes the baseline's Score in the entrant's seat.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from campaigns.analysis.blocks import Block
from campaigns.analysis.contrasts import World
from campaigns.analysis.exact import sign

Endpoint: TypeAlias = str
"""`private`, `others`, `market`, or the id of a rival for a directed externality."""

SUMMED: Sequence[Endpoint] = ("private", "others", "market")


@dataclass(frozen=True, slots=True)
class BaselineContrast:
    """One endpoint of one entrant under the first baseline and the other, exact cents."""

    entrant: str
    endpoint: Endpoint
    first: Fraction
    other: Fraction

    @property
    def has_same_sign(self) -> bool:
        return sign(self.first) == sign(self.other)


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """All entrants and pairs at one seed; `controls` and `others` label the blocks of either side.

    `missing` says what keeps a comparison from being made; it then has no contrasts.
    """

    seed: int
    first: str
    other: str
    controls: tuple[str, ...]
    others: tuple[str, ...]
    contrasts: tuple[BaselineContrast, ...]
    missing: tuple[str, ...]

    def of(self, endpoint: Endpoint) -> tuple[BaselineContrast, ...]:
        """One of the three summed endpoints, by entrant."""
        return tuple(found for found in self.contrasts if found.endpoint == endpoint)

    @property
    def pairs(self) -> tuple[BaselineContrast, ...]:
        """The directed pairs."""
        return tuple(found for found in self.contrasts if found.endpoint not in SUMMED)


def compare_baselines(blocks: Sequence[Block], first: str, other: str) -> list[BaselineComparison]:
    """A comparison for every seed at which both baselines have blocks; all blocks are of one
    panel.
    """
    found: list[BaselineComparison] = []
    for seed in dict.fromkeys(block.seed for block in blocks):
        controls = [each for each in blocks if (each.seed, each.baseline) == (seed, first)]
        others = [each for each in blocks if (each.seed, each.baseline) == (seed, other)]
        if controls and others:
            found.append(_comparison(seed, first, other, controls, others))
    return found


def _comparison(
    seed: int, first: str, other: str, controls: Sequence[Block], others: Sequence[Block]
) -> BaselineComparison:
    complete = [block for block in controls if block.is_complete]
    replacing = [block for block in others if block.has_replacements]
    return BaselineComparison(
        seed=seed,
        first=first,
        other=other,
        controls=tuple(block.label for block in complete),
        others=tuple(block.label for block in replacing),
        contrasts=tuple(_contrasts(complete, replacing)) if complete and replacing else (),
        missing=tuple(
            block.label for block in (*controls, *others) if block not in (*complete, *replacing)
        ),
    )


def _contrasts(controls: Sequence[Block], others: Sequence[Block]) -> list[BaselineContrast]:
    panel = controls[0].panel
    references = [block.reference for block in controls if block.reference is not None]
    found: list[BaselineContrast] = []
    for entrant in panel:
        first = _differences(entrant, references, [each.replacements[entrant] for each in controls])
        other = _differences(entrant, references, [each.replacements[entrant] for each in others])
        found += [
            BaselineContrast(entrant, endpoint, first[endpoint], other[endpoint])
            for endpoint in first
        ]
    return found


def _differences(
    entrant: str, references: Sequence[World], replacements: Sequence[World]
) -> Mapping[Endpoint, Fraction]:
    panel = [outcome.candidate for outcome in references[0]]
    present, absent = _mean_scores(references), _mean_scores(replacements)
    directed = {
        rival: present[seat] - absent[seat] for seat, rival in enumerate(panel) if rival != entrant
    }
    own = panel.index(entrant)
    private, others = present[own] - absent[own], sum(directed.values(), Fraction(0))
    return {"private": private, "others": others, "market": private + others, **directed}


def _mean_scores(worlds: Sequence[World]) -> list[Fraction]:
    """The mean Score of each seat."""
    return [
        Fraction(sum(outcome.score_cents for outcome in of_seat), len(worlds))
        for of_seat in zip(*worlds, strict=True)
    ]
