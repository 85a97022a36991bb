"""The choice of the best profile in a search (interface.md section 8)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from campaigns.analysis.exact import cents
from campaigns.analysis.matching import Matched, match
from campaigns.definition import Profile, Search
from campaigns.plan import DEVELOPMENT, VALIDATION, CampaignPlan, PlannedRun, resolve
from campaigns.records import CompanyOutcome
from manifests.errors import InputError


@dataclass(frozen=True, slots=True)
class ProfileScores:
    """One profile's Scores in cents by development seed; `total` is None while one is missing."""

    number: int
    candidate: str
    scores: Mapping[int, int]
    total: int | None

    def to_json(self) -> dict[str, Any]:
        """`{"id": .., "scores_cents": {"<seed>": ..}, "mean_cents": ..}`, rounded half to even."""
        mean = None if self.total is None else Fraction(self.total, len(self.scores))
        return {
            "id": self.number,
            "scores_cents": {str(seed): score for seed, score in self.scores.items()},
            "mean_cents": cents(mean),
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The profiles in grid order and the winner, None until every development run is there.

    `validation` holds the winner's Scores in cents by validation seed. `bankrupt` counts exits over
    all companies of the `worlds` that are complete.
    """

    profiles: tuple[ProfileScores, ...]
    winner: ProfileScores | None
    validation: Mapping[int, int]
    bankrupt: int
    worlds: int
    missing: tuple[str, ...]

    def ranked(self) -> tuple[ProfileScores, ...]:
        """The profiles with all their Scores, best first, ties in grid order."""
        return _ranked(self.profiles)


def rule_search(plan: CampaignPlan, outcomes: Iterable[CompanyOutcome]) -> SearchResult:
    """The winner of a search: the highest sum of integer cents, ties by grid order.

    Outcomes of validation runs are read once the winner is known; before that they are missing.

    Raises:
        InputError: the plan holds no search, an outcome contradicts it, or a validation run was
            made with another candidate than the winner.
    """
    search = plan.definition.search
    if search is None:
        raise InputError(
            f'Campaign "{plan.definition.name}" is no search.', "Choose one with a [search] table."
        )
    validated = {run.run_id for run in _stage(plan, VALIDATION)}
    records = list(outcomes)
    development = match(
        _stage(plan, DEVELOPMENT), [record for record in records if record.run_id not in validated]
    )
    profiles = tuple(_scores(profile, search, plan, development) for profile in search.chosen())
    winner = None if development.missing else _ranked(profiles)[0]
    validation = _validation(
        plan, winner, [record for record in records if record.run_id in validated]
    )
    complete = [*development.outcomes.values(), *validation.outcomes.values()]
    return SearchResult(
        profiles=profiles,
        winner=winner,
        validation={
            world[0].seed: world[search.seat - 1].score_cents
            for world in validation.outcomes.values()
        },
        bankrupt=sum(1 for world in complete for company in world if company.exit_day is not None),
        worlds=len(complete),
        missing=(*development.missing, *validation.missing),
    )


def _stage(plan: CampaignPlan, stage: str) -> list[PlannedRun]:
    return [run for run in plan.runs if run.stage == stage]


def _scores(
    profile: Profile, search: Search, plan: CampaignPlan, development: Matched
) -> ProfileScores:
    own = [run for run in _stage(plan, DEVELOPMENT) if profile.candidate in run.lineup]
    scores = {
        run.seed: development.outcomes[run.run_id][search.seat - 1].score_cents
        for run in own
        if run.run_id in development.outcomes
    }
    total = sum(scores.values()) if len(scores) == len(own) else None
    return ProfileScores(profile.number, profile.candidate, scores, total)


def _ranked(profiles: Iterable[ProfileScores]) -> tuple[ProfileScores, ...]:
    # Every profile has the same seeds, so the largest sum of cents is the largest mean.
    scored = [(profile.total, profile) for profile in profiles if profile.total is not None]
    order = sorted(scored, key=lambda entry: (-entry[0], entry[1].number))
    return tuple(profile for _, profile in order)


def _validation(
    plan: CampaignPlan, winner: ProfileScores | None, records: Iterable[CompanyOutcome]
) -> Matched:
    runs = _stage(plan, VALIDATION)
    if winner is None:
        return match(runs, ())
    resolved = [resolve(run, winner.candidate) for run in runs]
    return match(resolved, records)
