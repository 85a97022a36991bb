"""Cash-only sensitivity: the Score without terminal salvage (evaluation.md section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from campaigns.analysis.contrasts import Contrasts, EntrantContrast, contrasts
from campaigns.analysis.exact import mean, sign
from campaigns.analysis.measures import cash_only
from campaigns.analysis.ranking import ranking
from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome


@dataclass(frozen=True, slots=True)
class SignsKept:
    """What keeps its sign without salvage: an entrant's market mean, its market contrast at how
    many of the `seeds`, and its directed mean for how many of the `pairs`.
    """

    market: bool
    by_seed: int
    seeds: int
    directed: int
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageRow:
    """One candidate with and without salvage; exact cents over the seeds of the ranking. `signs` is
    None where there are no contrasts.
    """

    candidate: str
    official: Fraction
    salvage: Fraction
    cash_only: Fraction
    official_rank: int
    cash_only_rank: int
    signs: SignsKept | None


def salvage_sensitivity(
    runs: Sequence[PlannedRun], outcomes: Sequence[CompanyOutcome]
) -> list[SalvageRow]:
    """The candidates of one group's runs in the order of the official ranking."""
    official, cash = ranking(runs, outcomes), ranking(runs, outcomes, cash_only)
    by_candidate = {row.candidate: row for row in cash.rows}
    compares = any(run.replaced is not None for run in runs)
    kept = (
        _kept(contrasts(runs, outcomes), contrasts(runs, outcomes, cash_only)) if compares else {}
    )
    return [
        SalvageRow(
            candidate=row.candidate,
            official=row.mean_score,
            salvage=row.mean_score - by_candidate[row.candidate].mean_score,
            cash_only=by_candidate[row.candidate].mean_score,
            official_rank=row.rank,
            cash_only_rank=by_candidate[row.candidate].rank,
            signs=kept.get(row.candidate),
        )
        for row in official.rows
    ]


def _kept(official: Contrasts, cash: Contrasts) -> dict[str, SignsKept]:
    if not official.seeds:
        return {}
    kept: dict[str, SignsKept] = {}
    for here, there in zip(official.entrants, cash.entrants, strict=True):
        seeds = [sign(_market(here, seed)) == sign(_market(there, seed)) for seed in official.seeds]
        pairs = [
            sign(one.mean) == sign(two.mean)
            for one, two in zip(official.directed, cash.directed, strict=True)
            if one.entrant == here.entrant and one.mean is not None and two.mean is not None
        ]
        assert here.market is not None
        assert there.market is not None
        same = sign(here.market) == sign(there.market)
        kept[here.entrant] = SignsKept(same, sum(seeds), len(seeds), sum(pairs), len(pairs))
    return kept


def _market(entrant: EntrantContrast, seed: int) -> Fraction:
    """The market contrast at a seed, averaged over repeats."""
    found = mean([contrast.market for contrast in entrant.matched if contrast.seed == seed])
    assert found is not None
    return found
