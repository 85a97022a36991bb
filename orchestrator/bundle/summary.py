"""The summary of a campaign's results that the statement of a bundle repeats."""

from typing import Any

from campaigns.analysis.evidence import Evidence
from campaigns.analysis.rule_search import rule_search
from campaigns.analysis.study import Study
from manifests.canonical import canonical_json, parse_json
from manifests.rows import exact
from orchestrator.binding import bound_plan
from orchestrator.search import search_json


def results(evidence: Evidence, found: Study) -> dict[str, Any]:
    """What `analyze` finds, as canonical JSON has it, and in a campaign that searches, what the
    search found; integers beyond 2**53 - 1 are strings of digits.
    """
    assert evidence.manifest is not None
    planned = bound_plan(evidence.manifest)
    searched = planned.definition.search is not None
    search = search_json(rule_search(planned, evidence.outcomes)) if searched else None
    told = canonical_json(exact({**found.to_json(), "search": search}))
    summary = parse_json(told, "The results")
    assert isinstance(summary, dict)
    return summary
