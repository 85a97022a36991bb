"""Identities are bound in manifests: they may change only with a policy's version or parameters."""

from typing import Any

import pytest

from engine.policies.base import Policy
from manifests.fingerprints import source_fingerprint
from tests.engine.policies.boundaries import POLICIES

DEFAULT_IDENTITIES = {
    "balanced": "balanced-v1-83c8da79dffc",
    "discounter": "discounter-v1-a13abc21cc4c",
    "growth": "growth-v1-64662ecd24ff",
    "harvester": "harvester-v1-9e617bb7c2b4",
    "no-action": "rule-ceo-noop-v1",
    "overspender": "overspender-v1-d0c344025955",
    "price-follower": "price-follower-v1-a9d64dfc2d6b",
    "quality-leader": "quality-leader-v1-810257b2dcb8",
    "rule": "rule-ceo-fixed-v3-a44297a98e08",
    "tender-hunter": "tender-hunter-v1-df1498bbf8f5",
}

OTHER_PARAMETERS: dict[str, dict[str, Any]] = {
    "balanced": {"step_percent": 3},
    "discounter": {"focus_segment": "mainstream"},
    "growth": {"busy_percent": 86},
    "harvester": {"harvest_days": 36},
    "overspender": {"marketing_cents": 45_001},
    "price-follower": {"follow_percent": 97},
    "quality-leader": {"largest_tier": 2},
    "rule": {"reorder_targets": {"A": 151, "B": 100, "C": 50}},
    "tender-hunter": {"bid_percent": 95},
}


def policy(name: str, **parameters: Any) -> Policy:
    kind = POLICIES[name]
    return kind(kind.parameters_type(**parameters))


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_identities_are_stable(name: str) -> None:
    assert policy(name).identity == DEFAULT_IDENTITIES[name]


@pytest.mark.parametrize("name", sorted(OTHER_PARAMETERS))
def test_identities_change_with_the_parameters(name: str) -> None:
    other = policy(name, **OTHER_PARAMETERS[name])
    assert other.identity != DEFAULT_IDENTITIES[name]
    assert other.identity[:-12] == DEFAULT_IDENTITIES[name][:-12]


def test_each_parameter_of_the_rule_is_in_its_identity() -> None:
    changes: dict[str, Any] = {
        "price_multiplier_percent": 90,
        "focus_segment": "value",
        "reorder_targets": {"A": 150, "B": 100, "C": 51},
        "development_cents": 5_001,
        "marketing_cents": 5_001,
        "reliability_cents": 2_501,
        "support_cents": 5_001,
        "cash_floor_cents": 5_000_001,
    }
    assert set(changes) == set(POLICIES["rule"].parameters_type.model_fields)
    identities = {policy("rule", **{name: value}).identity for name, value in changes.items()}
    assert len(identities | {policy("rule").identity}) == len(changes) + 1


def test_the_order_in_which_targets_are_written_does_not_matter() -> None:
    turned = policy("rule", reorder_targets={"C": 50, "B": 100, "A": 150})
    assert turned.identity == policy("rule").identity


def test_the_code_of_a_policy_is_all_the_source_of_its_package() -> None:
    code = source_fingerprint(["engine"]).overall
    assert {policy(name).code_digest for name in POLICIES} == {code}
