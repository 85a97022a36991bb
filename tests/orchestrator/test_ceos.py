"""From candidates to CEOs."""

import asyncio
from types import SimpleNamespace
from typing import cast

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
from orchestrator.ceos import Ceo, PolicyCeo, Window, ceo_of, seated
from orchestrator.lifecycle import CompanyWindowStatus
from tests.orchestrator.trial import definition, no_model


def window() -> Window:
    scenario = default_scenario()
    state = initial_state(scenario, Streams(11), 2)
    return Window(
        Boundary(scenario, state, []).observe(2), state, (), lambda: False, lambda _: False
    )


def test_a_lineup_is_seated_by_seat_under_the_identities_of_the_manifest() -> None:
    manifest = frozen(plan(definition()))
    ceos = seated(manifest, ("ada", "rule", "cy"), no_model)
    assert list(ceos) == [1, 2, 3]
    known = {
        candidate.id: candidate.identity
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines)
        if candidate.kind == "policy"
    }
    assert [ceo.identity for ceo in ceos.values()] == [known["ada"], known["rule"], known["cy"]]


def test_a_policy_seals_what_it_decides() -> None:
    policy = make_policy("rule", {})
    closed = asyncio.run(PolicyCeo(policy).decide(window()))
    assert closed.status is CompanyWindowStatus.SEALED
    assert closed.decision == policy.decide(window().observation)


def test_a_policy_that_decides_something_else_is_a_failure() -> None:
    wrong = cast("Policy", SimpleNamespace(identity="wrong", decide=lambda _: {"price": 3}))
    with pytest.raises(TypeError, match="a dict, not a CompanyDecision"):
        asyncio.run(PolicyCeo(wrong).decide(window()))


def test_a_policy_cannot_end_its_host() -> None:
    def leave(_observation: object) -> None:
        raise SystemExit(4)

    wrong = cast("Policy", SimpleNamespace(identity="wrong", decide=leave))
    with pytest.raises(RuntimeError, match=r"SystemExit\(4\)"):
        asyncio.run(PolicyCeo(wrong).decide(window()))


def test_a_model_is_seated_by_whoever_owns_the_run() -> None:
    talker = ModelCandidate(
        id="talker", seat=1, route={"model": "m"}, route_identity="sha256:" + "0" * 64
    )
    seat = PolicyCeo(make_policy("no-action", {}))
    asked: list[tuple[str, int]] = []

    def seat_model(candidate: ModelCandidate, number: int) -> Ceo:
        asked.append((candidate.id, number))
        return seat

    assert ceo_of(talker, 3, seat_model) is seat
    assert asked == [("talker", 3)]


def test_a_candidate_without_a_ceo_is_named() -> None:
    with pytest.raises(InputError, match="search-winner"):
        ceo_of(SearchWinner(id="search-winner", among=("talker",)), 1, no_model)
