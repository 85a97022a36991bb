"""The ranking by Mean Score (evaluation.md section 2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from campaigns.analysis.exact import cents
from campaigns.analysis.matching import match
from campaigns.analysis.measures import SCORE, Measure
from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """One candidate's place. `mean_score` is in cents, exact, over `outcomes` company outcomes.

    `lineups` counts the different lineups among them, `bankruptcies` the cash-negative exits.
    """

    rank: int
    candidate: str
    mean_score: Fraction
    outcomes: int
    lineups: int
    bankruptcies: int

    def to_json(self) -> dict[str, Any]:
        """The row with `mean_score_cents` rounded half to even."""
        return {
            "rank": self.rank,
            "candidate": self.candidate,
            "mean_score_cents": cents(self.mean_score),
            "outcomes": self.outcomes,
            "lineups": self.lineups,
            "bankruptcies": self.bankruptcies,
        }


@dataclass(frozen=True, slots=True)
class Ranking:
    """All candidates over the seeds of which every planned run is there, best first.

    `equal_sets` is false when the plan itself gives candidates different numbers of outcomes, as in
    replacement lineups without their reference.
    """

    rows: tuple[RankedCandidate, ...]
    seeds: tuple[int, ...]
    left_out_seeds: tuple[int, ...]
    worlds: int
    equal_sets: bool


def ranking(
    runs: Sequence[PlannedRun], outcomes: Iterable[CompanyOutcome], measure: Measure = SCORE
) -> Ranking:
    """Candidates of `runs` by Mean Score, or the mean of another measure; exact ties stand in the
    order of their ids.

    Raises:
        InputError: an outcome contradicts the plan (`matching.match`).
    """
    matched = match(runs, outcomes)
    used = [run for run in runs if run.seed in matched.complete_seeds]
    by_candidate: dict[str, list[CompanyOutcome]] = {}
    for run in used:
        for outcome in matched.outcomes[run.run_id]:
            by_candidate.setdefault(outcome.candidate, []).append(outcome)
    lineups = {run.run_id: run.lineup for run in used}
    means = {
        candidate: Fraction(sum(map(measure, own)), len(own))
        for candidate, own in by_candidate.items()
    }
    order = sorted(means, key=lambda candidate: (-means[candidate], candidate))
    rows = tuple(
        RankedCandidate(
            rank=rank,
            candidate=candidate,
            mean_score=means[candidate],
            outcomes=len(by_candidate[candidate]),
            lineups=len({lineups[outcome.run_id] for outcome in by_candidate[candidate]}),
            bankruptcies=sum(
                1 for outcome in by_candidate[candidate] if outcome.exit_day is not None
            ),
        )
        for rank, candidate in enumerate(order, start=1)
    )
    return Ranking(
        rows=rows,
        seeds=matched.complete_seeds,
        left_out_seeds=matched.incomplete_seeds,
        worlds=len(used),
        equal_sets=len({row.outcomes for row in rows}) <= 1,
    )
