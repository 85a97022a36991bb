"""From candidates to CEOs."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from campaigns.plan import plan
from engine.boundary import Boundary
from engine.policies.base import Policy, make_policy
from engine.scenario import default_scenario
from engine.settle import initial_state
from engine.streams import Streams
from manifests.errors import InputError
from manifests.model import ModelCandidate, SearchWinner
from orchestrator.binding import frozen
from orchestrator.ceos import PolicyCeo, ceo_of, seated
from orchestrator.lifecycle import CompanyWindowStatus
from tests.orchestrator.trial import definition


def observation() -> Any:
    scenario = default_scenario()
    return Boundary(scenario, initial_state(scenario, Streams(11), 2), []).observe(2)


def test_a_lineup_is_seated_by_seat_under_the_identities_of_the_manifest() -> None:
    manifest = frozen(plan(definition()))
    ceos = seated(manifest, ("ada", "rule", "cy"))
    assert list(ceos) == [1, 2, 3]
    known = {
        candidate.id: candidate.identity
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines)
        if candidate.kind == "policy"
    }
    assert [ceo.identity for ceo in ceos.values()] == [known["ada"], known["rule"], known["cy"]]


def test_a_policy_seals_what_it_decides() -> None:
    policy = make_policy("rule", {})
    closed = asyncio.run(PolicyCeo(policy).decide(observation()))
    assert closed.status is CompanyWindowStatus.SEALED
    assert closed.decision == policy.decide(observation())


def test_a_policy_that_decides_something_else_is_a_failure() -> None:
    wrong = cast("Policy", SimpleNamespace(identity="wrong", decide=lambda _: {"price": 3}))
    with pytest.raises(TypeError, match="a dict, not a CompanyDecision"):
        asyncio.run(PolicyCeo(wrong).decide(observation()))


@pytest.mark.parametrize(
    "candidate",
    [
        ModelCandidate(
            id="talker", seat=1, route={"model": "m"}, route_identity="sha256:" + "0" * 64
        ),
        SearchWinner(id="search-winner", among=("talker",)),
    ],
)
def test_a_candidate_without_a_ceo_is_named(candidate: ModelCandidate | SearchWinner) -> None:
    with pytest.raises(InputError, match=candidate.id):
        ceo_of(candidate)
