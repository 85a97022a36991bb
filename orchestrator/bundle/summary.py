"""The summary of a campaign's results that the statement of a bundle repeats."""

from typing import Any, TypeAlias

import msgspec

from campaigns.analysis.evidence import Evidence
from campaigns.analysis.rule_search import rule_search
from campaigns.analysis.study import Study
from manifests.canonical import canonical_json, parse_json
from manifests.rows import exact
from orchestrator.bound import bound_plan
from orchestrator.search import search_json

Cents: TypeAlias = int | str | None
"""Integer US cents; digits where the integer is beyond 2**53 - 1, null where there is no mean."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the summary; what an estimator adds to it is allowed."""


class MissingRun(_Part, frozen=True, kw_only=True):
    """A planned run without outcomes."""

    campaign: str
    run: str


class Group(_Part, frozen=True, kw_only=True):
    """What the means of one group of runs are taken over."""

    campaign: str
    group: str
    seeds: list[int]
    left_out_seeds: list[int]
    worlds: int
    equal_sets: bool


class RankedCandidate(_Part, frozen=True, kw_only=True):
    """A candidate's place by Mean Score."""

    campaign: str
    group: str
    rank: int
    candidate: str
    mean_score_cents: Cents
    outcomes: int
    lineups: int
    bankruptcies: int


class Entrant(_Part, frozen=True, kw_only=True):
    """What an entrant changes for itself, for its rivals and for the market."""

    campaign: str
    group: str
    candidate: str
    private_cents: Cents
    others_cents: Cents
    market_cents: Cents
    mean_externality_per_rival_cents: Cents
    positive_market_seeds: int


class DirectedPair(_Part, frozen=True, kw_only=True):
    """The mean externality of an entrant on one rival."""

    campaign: str
    group: str
    entrant: str
    rival: str
    mean_cents: Cents


class Results(_Part, frozen=True, kw_only=True):
    """What `analyze` finds in a campaign. `search` is null unless the campaign searches; `notices`
    say in sentences what is not there.
    """

    complete: bool
    missing: list[MissingRun]
    groups: list[Group]
    ranking: list[RankedCandidate]
    entrants: list[Entrant]
    directed: list[DirectedPair]
    stability: dict[str, Any]
    notices: list[str]
    search: dict[str, Any] | None


def results(evidence: Evidence, found: Study) -> dict[str, Any]:
    """The summary as canonical JSON has it, of the form of `Results`."""
    assert evidence.manifest is not None
    planned = bound_plan(evidence.manifest)
    searched = planned.definition.search is not None
    search = search_json(rule_search(planned, evidence.outcomes)) if searched else None
    told = canonical_json(exact({**found.to_json(), "search": search}))
    summary = parse_json(told, "The results")
    assert isinstance(summary, dict)
    return summary
