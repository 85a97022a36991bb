"""A small campaign as manifest parts, for tests that change one thing in it."""

from datetime import UTC, datetime
from typing import Any

from manifests.canonical import digest, digest_bytes
from manifests.fingerprints import SourceFingerprint
from manifests.model import (
    CampaignManifest,
    Decisive,
    Harness,
    ModelCandidate,
    PlannedRun,
    PolicyCandidate,
    Provenance,
    Versions,
    freeze,
)

SCENARIO = {
    "horizon_days": 500,
    "label": "Grundfall, Größe A",
    "segments": {"premium": {"price_weight": 0.9}, "value": {"price_weight": 3.1}},
    "phases": ["balanced", "boom"],
}

FILES = {"engine/settle.py": digest_bytes(b"settle"), "engine/state.py": digest_bytes(b"state")}

HARNESS = Harness(
    interface="ceos-decision-v9",
    prompt="prompt-v1",
    prompt_digest=digest_bytes(b"You are the CEO."),
    tools={"seal": digest("seal")},
    tools_digest=digest(["seal"]),
    memory_characters=40_000,
)


def policy(name: str, seat: int | None, **parameters: int) -> PolicyCandidate:
    return PolicyCandidate(
        id=name,
        seat=seat,
        policy=name,
        parameters=dict(parameters),
        identity=f"{name}-v1",
        code=digest_bytes(name.encode()),
    )


def decisive(**changes: Any) -> Decisive:
    parts: dict[str, Any] = {
        "versions": Versions(
            economy="ceos-market-v3",
            decision="ceos-decision-v9",
            runtime="ceos-runtime-v4",
            campaign_plan="ceos-campaign-v1",
            package="0.1.0",
        ),
        "release": "2026-spring",
        "scenario": SCENARIO,
        "scenario_digest": digest(SCENARIO),
        "horizon_days": 500,
        "seeds": (11, 29),
        "candidates": (
            policy("grower", 1, floor_cents=5_000_000),
            ModelCandidate(
                id="talker",
                seat=2,
                route={"protocol": "chat", "model": "m-1"},
                route_identity=digest("m-1"),
            ),
        ),
        "baselines": (policy("rule", None, targets=150),),
        "runs": (
            run("reference-11", 0, 11, {1: "grower", 2: "talker"}),
            run("reference-29", 1, 29, {1: "grower", 2: "talker"}),
            run("without-talker-11", 2, 11, {1: "grower", 2: "rule"}),
        ),
        "recovery_policy": "fresh-allowance",
        "limits": {"replies": 32},
        "harness": HARNESS,
        "sources": SourceFingerprint(overall=digest(FILES), files=FILES),
        "libraries": {"numpy": "2.4.6"},
        "random_streams": digest([1, 2, 3]),
    }
    return Decisive(**{**parts, **changes})


def run(name: str, position: int, seed: int, seats: dict[int, str]) -> PlannedRun:
    return PlannedRun(
        id=name,
        position=position,
        seed=seed,
        group="main",
        repeat=0,
        lineup=name.rpartition("-")[0],
        seats=seats,
    )


def provenance(**changes: Any) -> Provenance:
    parts: dict[str, Any] = {
        "campaign": "sample",
        "created_at": datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
        "host": "laptop",
        "interpreter": {"version": "3.12.1"},
        "note": "first try",
        "limits": {"active_runs": 30},
    }
    return Provenance(**{**parts, **changes})


def manifest(**changes: Any) -> CampaignManifest:
    return freeze(decisive(**changes), provenance())
