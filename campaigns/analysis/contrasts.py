"""What an entrant changes for itself, for each rival and for the market (evaluation.md section 2).

Entrant B in the reference lineup is compared with the baseline in B's seat, at the same seed and
repeat: private = S_B - S_baseline, the directed externality on rival A = S_A(reference) -
S_A(without B), others = its sum over rivals, market = the difference of the two Market Scores =
private + others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from campaigns.analysis.exact import cents, mean
from campaigns.analysis.matching import Matched, match
from campaigns.analysis.measures import SCORE, Measure
from campaigns.plan import REFERENCE, PlannedRun
from campaigns.records import CompanyOutcome
from manifests.errors import InputError


@dataclass(frozen=True, slots=True)
class MatchedContrast:
    """One entrant at one seed and repeat, in cents; `directed` maps rivals to externalities."""

    entrant: str
    seed: int
    repeat: int
    private: int
    directed: Mapping[str, int]
    market: int

    @property
    def others(self) -> int:
        """The externality on all rivals together."""
        return sum(self.directed.values())

    def to_json(self) -> dict[str, Any]:
        """The contrast without its pairs, which `Contrasts` lists by pair."""
        return {
            "seed": self.seed,
            "repeat": self.repeat,
            "private_cents": self.private,
            "others_cents": self.others,
            "market_cents": self.market,
        }


@dataclass(frozen=True, slots=True)
class EntrantContrast:
    """One entrant's means over seeds, which weigh the same; exact cents, None without a seed.

    `per_rival` is None also in a market without rivals. `positive_market_seeds` counts seeds whose
    market contrast, averaged over repeats, is above zero. `matched` holds every contrast whose two
    runs exist, also of seeds that are left out of the means.
    """

    entrant: str
    private: Fraction | None
    per_rival: Fraction | None
    others: Fraction | None
    market: Fraction | None
    positive_market_seeds: int
    matched: tuple[MatchedContrast, ...]

    def to_json(self) -> dict[str, Any]:
        """The entrant as plain JSON, means rounded half to even to a cent."""
        return {
            "candidate": self.entrant,
            "private_cents": cents(self.private),
            "mean_externality_per_rival_cents": cents(self.per_rival),
            "others_cents": cents(self.others),
            "market_cents": cents(self.market),
            "positive_market_seeds": self.positive_market_seeds,
            "matched": [contrast.to_json() for contrast in self.matched],
        }


@dataclass(frozen=True, slots=True)
class DirectedPair:
    """The externality of an entrant on one rival: its mean over seeds, and what it is made of.

    `matched` holds (seed, repeat, cents).
    """

    entrant: str
    rival: str
    mean: Fraction | None
    matched: tuple[tuple[int, int, int], ...]

    def to_json(self) -> dict[str, Any]:
        """The pair as plain JSON, the mean rounded half to even to a cent."""
        return {
            "entrant": self.entrant,
            "rival": self.rival,
            "mean_cents": cents(self.mean),
            "matched": [
                {"seed": seed, "repeat": repeat, "cents": value}
                for seed, repeat, value in self.matched
            ],
        }


@dataclass(frozen=True, slots=True)
class Contrasts:
    """All entrants and all n(n-1) directed pairs, in seat order.

    Means are over `seeds`: those at which every contrast of every entrant exists. `unplanned` names
    lineups that the contrasts need and the plan does not have.
    """

    entrants: tuple[EntrantContrast, ...]
    directed: tuple[DirectedPair, ...]
    seeds: tuple[int, ...]
    left_out_seeds: tuple[int, ...]
    unplanned: tuple[str, ...]


World: TypeAlias = tuple[CompanyOutcome, ...]
"""The outcomes of one complete run, by seat."""

# A run's place in the matrix: seed, repeat, and the candidate left out (None: nobody).
_Cell = tuple[int, int, str | None]


def contrasts(
    runs: Sequence[PlannedRun], outcomes: Iterable[CompanyOutcome], measure: Measure = SCORE
) -> Contrasts:
    """The contrasts of one group's runs, in the Score or another measure of outcomes.

    A group of replacements alone takes its references from elsewhere: pass their planned runs and
    outcomes along with its own.

    Raises:
        InputError: an outcome contradicts the plan, or two runs have the same seed, repeat and
            lineup.
    """
    matched = match(runs, outcomes)
    cells = _cells(runs)
    panel = panel_of(runs)
    blocks = list(dict.fromkeys((run.seed, run.repeat) for run in runs))
    unplanned = [
        f"lineup {REFERENCE if left_out is None else f'without-{left_out}'} "
        f"at seed {seed}, repeat {repeat}"
        for seed, repeat in blocks
        for left_out in (None, *panel)
        if (seed, repeat, left_out) not in cells
    ]
    found = [
        contrast
        for entrant in panel
        for seed, repeat in blocks
        if (contrast := _contrast(entrant, seed, repeat, cells, matched, measure)) is not None
    ]
    seeds = _whole_seeds(blocks, panel, found)
    return Contrasts(
        entrants=tuple(_entrant(entrant, found, seeds, len(panel) - 1) for entrant in panel),
        directed=tuple(
            _pair(entrant, rival, found, seeds)
            for entrant in panel
            for rival in panel
            if rival != entrant
        ),
        seeds=seeds,
        left_out_seeds=tuple(dict.fromkeys(seed for seed, _ in blocks if seed not in seeds)),
        unplanned=tuple(unplanned),
    )


def _cells(runs: Sequence[PlannedRun]) -> dict[_Cell, PlannedRun]:
    cells: dict[_Cell, PlannedRun] = {}
    for run in runs:
        other = cells.setdefault((run.seed, run.repeat, run.replaced), run)
        if other is not run:
            raise InputError(
                f"Runs {other.run_id} and {run.run_id} have the same seed, repeat and lineup.",
                "Analyse one group at a time.",
            )
    return cells


def panel_of(runs: Sequence[PlannedRun]) -> tuple[str, ...]:
    """The candidates by seat, read off any run by putting the one left out back into its seat."""
    panels = {
        tuple(
            run.replaced if run.replaced is not None and candidate == run.baseline else candidate
            for candidate in run.lineup
        )
        for run in runs
    }
    if len(panels) > 1:
        raise InputError(
            "The runs have different candidates in the same seats.", "Analyse one group at a time."
        )
    return next(iter(panels), ())


def _contrast(
    entrant: str,
    seed: int,
    repeat: int,
    cells: Mapping[_Cell, PlannedRun],
    matched: Matched,
    measure: Measure,
) -> MatchedContrast | None:
    reference = _outcomes((seed, repeat, None), cells, matched)
    without = _outcomes((seed, repeat, entrant), cells, matched)
    if reference is None or without is None:
        return None
    return matched_contrast(entrant, reference, without, measure)


def matched_contrast(
    entrant: str, reference: World, without: World, measure: Measure = SCORE
) -> MatchedContrast:
    """What an entrant changes between two worlds of the same seed and repeat."""
    private = 0
    directed: dict[str, int] = {}
    for here, there in zip(reference, without, strict=True):
        difference = measure(here) - measure(there)
        if here.candidate == entrant:
            private = difference
        else:
            directed[here.candidate] = difference
    return MatchedContrast(
        entrant=entrant,
        seed=reference[0].seed,
        repeat=reference[0].repeat,
        private=private,
        directed=directed,
        market=sum(map(measure, reference)) - sum(map(measure, without)),
    )


def _outcomes(cell: _Cell, cells: Mapping[_Cell, PlannedRun], matched: Matched) -> World | None:
    run = cells.get(cell)
    return None if run is None else matched.outcomes.get(run.run_id)


def _whole_seeds(
    blocks: Sequence[tuple[int, int]], panel: Sequence[str], found: Sequence[MatchedContrast]
) -> tuple[int, ...]:
    existing = {(contrast.seed, contrast.repeat, contrast.entrant) for contrast in found}
    return tuple(
        seed
        for seed in dict.fromkeys(seed for seed, _ in blocks)
        if all(
            (seed, repeat, entrant) in existing
            for own_seed, repeat in blocks
            if own_seed == seed
            for entrant in panel
        )
    )


def _entrant(
    entrant: str, found: Sequence[MatchedContrast], seeds: Sequence[int], rivals: int
) -> EntrantContrast:
    own = tuple(contrast for contrast in found if contrast.entrant == entrant)
    markets = _seed_means([(contrast.seed, contrast.market) for contrast in own], seeds)
    others = mean(_seed_means([(contrast.seed, contrast.others) for contrast in own], seeds))
    return EntrantContrast(
        entrant=entrant,
        private=mean(_seed_means([(contrast.seed, contrast.private) for contrast in own], seeds)),
        per_rival=None if others is None or rivals == 0 else others / rivals,
        others=others,
        market=mean(markets),
        positive_market_seeds=sum(1 for market in markets if market > 0),
        matched=own,
    )


def _pair(
    entrant: str, rival: str, found: Sequence[MatchedContrast], seeds: Sequence[int]
) -> DirectedPair:
    own = tuple(
        (contrast.seed, contrast.repeat, contrast.directed[rival])
        for contrast in found
        if contrast.entrant == entrant
    )
    return DirectedPair(
        entrant=entrant,
        rival=rival,
        mean=mean(_seed_means([(seed, value) for seed, _, value in own], seeds)),
        matched=own,
    )


def _seed_means(values: Sequence[tuple[int, int]], seeds: Sequence[int]) -> list[Fraction]:
    """The mean over repeats at each seed, so that seeds weigh the same whatever their repeats."""
    return [
        Fraction(sum(own), len(own))
        for seed in seeds
        if (own := [value for own_seed, value in values if own_seed == seed])
    ]
