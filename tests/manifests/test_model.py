import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from manifests.canonical import canonical_json, digest, digest_bytes
from manifests.errors import InputError, IntegrityError
from manifests.fingerprints import SourceFingerprint
from manifests.model import CampaignManifest, SearchWinner, freeze, plan_hash
from tests.manifests.samples import (
    FILES,
    HARNESS,
    SCENARIO,
    decisive,
    manifest,
    policy,
    provenance,
    run,
)

OTHER_SCENARIO = {**SCENARIO, "label": "other"}
OTHER_FILES = {**FILES, "engine/settle.py": digest_bytes(b"changed")}


def document() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(manifest().to_json())
    return content


def test_plan_hash_is_the_digest_of_the_decisive_part_as_written() -> None:
    content = document()
    assert content["plan_hash"] == digest(content["decisive"])
    assert content["plan_hash"] == plan_hash(decisive())


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "2026-autumn"},
        {"versions": decisive().versions.model_copy(update={"decision": "ceos-decision-v10"})},
        {"scenario": OTHER_SCENARIO, "scenario_digest": digest(OTHER_SCENARIO)},
        {"horizon_days": 499},
        {"seeds": (29, 11)},
        {"candidates": decisive().candidates[::-1]},
        {"baselines": (policy("rule", None, targets=151),)},
        {"runs": decisive().runs[:2]},
        {"recovery_policy": "cumulative-usage"},
        {"limits": {"replies": 31}},
        {"harness": HARNESS.model_copy(update={"prompt_digest": digest("Other words.")})},
        {"sources": SourceFingerprint(overall=digest(OTHER_FILES), files=OTHER_FILES)},
        {"libraries": {"numpy": "2.4.7"}},
        {"random_streams": digest([1, 2, 4])},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_every_decisive_part_changes_the_plan_hash(changes: dict[str, Any]) -> None:
    assert plan_hash(decisive(**changes)) != plan_hash(decisive())


def test_every_field_of_the_decisive_part_is_tried_above() -> None:
    mark = test_every_decisive_part_changes_the_plan_hash.pytestmark[0]
    tried = {name for changes in mark.args[1] for name in changes}
    assert tried == set(type(decisive()).model_fields)


def test_a_plan_without_models_says_nothing_of_a_harness() -> None:
    players = (policy("grower", 1), policy("talker", 2))
    without = decisive(candidates=players, harness=None)
    written = without.model_dump(mode="json")
    assert "harness" not in written
    assert plan_hash(without) == digest(written)
    manifest_without = freeze(without, provenance())
    assert CampaignManifest.from_json(manifest_without.to_json()) == manifest_without
    assert decisive().model_dump(mode="json")["harness"]["memory_characters"] == 40_000


def test_provenance_does_not_change_the_plan_hash() -> None:
    other = provenance(
        campaign="renamed",
        created_at=datetime.fromisoformat("2027-01-01T00:00:00+02:00"),
        host="cluster",
        interpreter={"version": "3.13.0"},
        note="",
        limits={"active_runs": 4},
    )
    assert freeze(decisive(), other).plan_hash == manifest().plan_hash


def test_the_plan_hash_does_not_depend_on_the_order_of_a_dictionary() -> None:
    backwards = dict(reversed(SCENARIO.items()))
    assert list(backwards) != list(SCENARIO)
    assert plan_hash(decisive(scenario=backwards)) == plan_hash(decisive())


def test_the_plan_hash_is_the_same_in_other_processes() -> None:
    root = Path(__file__).parents[2]
    program = "from tests.manifests.samples import manifest; print(manifest().plan_hash, end='')"
    for hash_seed in ("0", "1", "4711"):
        output = subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert output == manifest().plan_hash


def test_json_and_back_is_the_same_manifest() -> None:
    text = manifest().to_json()
    again = CampaignManifest.from_json(text)
    assert again == manifest()
    assert again.to_json() == text
    assert CampaignManifest.from_json(text.encode()) == manifest()


def test_json_is_for_people_too() -> None:
    text = manifest().to_json()
    assert text.endswith("}\n")
    assert '\n  "decisive": {\n' in text
    assert "Größe" in text


def test_canonical_json_is_read_as_well() -> None:
    # It writes 1.0 as 1; neither the value nor the plan hash may suffer.
    frozen = manifest(limits={"share": 1.0})
    content = canonical_json(frozen.model_dump(mode="json"))
    assert CampaignManifest.from_json(content).plan_hash == frozen.plan_hash


def tampered(path: str, value: Any) -> str:
    content = document()
    *parents, last = path.split(".")
    place: Any = content
    for name in parents:
        place = place[int(name)] if isinstance(place, list) else place[name]
    place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("plan_hash", digest("other")),
        ("decisive.release", "2026-autumn"),
        ("decisive.limits.replies", 33),
        ("decisive.candidates.0.parameters.floor_cents", 5_000_001),
        ("decisive.candidates.1.route.model", "m-2"),
        ("decisive.libraries.numpy", "2.4.7"),
    ],
)
def test_a_changed_manifest_is_refused_by_its_own_plan_hash(path: str, value: Any) -> None:
    with pytest.raises(IntegrityError, match="plan hash sha256:") as caught:
        CampaignManifest.from_json(tampered(path, value))
    expected = value if path == "plan_hash" else manifest().plan_hash
    assert expected in str(caught.value)


def test_changed_provenance_is_still_a_manifest() -> None:
    again = CampaignManifest.from_json(tampered("provenance.note", "later thoughts"))
    assert again.plan_hash == manifest().plan_hash


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (tampered("format", "ceos-manifest-v2"), "format"),
        (tampered("surprise", 1), "surprise"),
        (tampered("decisive.surprise", 1), "decisive.surprise"),
        (tampered("decisive.seeds", ["11"]), "decisive.seeds[0]"),
        (tampered("decisive.seeds", [2**53]), "decisive.seeds[0]"),
        (tampered("decisive.horizon_days", 0), "decisive.horizon_days"),
        (tampered("decisive.candidates.0.kind", "person"), "decisive.candidates[0]"),
        (tampered("decisive.candidates.0.code", "sha1:00"), "code"),
        (tampered("decisive.scenario.label", "other"), "scenario_digest is not the digest"),
        (tampered("decisive.sources.files", {}), "sources.overall is not the digest"),
        (tampered("provenance.created_at", "2026-03-01T12:30:00"), "provenance.created_at"),
        (manifest().to_json().replace('"seeds"', '"runs": [], "seeds"'), "'runs' is written twice"),
        ("not JSON", "not valid JSON"),
        ("[]", "campaign.json is not valid"),
        ("{}", "decisive: Field required"),
    ],
)
def test_a_malformed_manifest_is_an_input_error(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        CampaignManifest.from_json(text, "campaign.json")
    assert reason in str(caught.value)
    assert str(caught.value).startswith("campaign.json")


RUNS = decisive().runs


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"baselines": (policy("grower", None),)}, "candidate grower stands more than once"),
        ({"candidates": (policy("a", 1), policy("b", 1))}, "seat 1 stands more than once"),
        ({"seeds": (11, 29, 11)}, "seed 11 stands more than once"),
        ({"seeds": (11,)}, "run reference-29 has seed 29, which the campaign does not have"),
        ({"runs": (RUNS[0], RUNS[0])}, "run reference-11 stands more than once"),
        ({"runs": (RUNS[1], RUNS[0])}, "run reference-29 has position 1, but stands at 0"),
        ({"baselines": ()}, "run without-talker-11 seats rule at 2, which is no candidate"),
        ({"runs": (run("gap-11", 0, 11, {1: "grower", 3: "rule"}),)}, "are not 1 to 2"),
        (
            {"baselines": (policy("rule", None), SearchWinner(id="winner", among=("nobody",)))},
            "winner is to be chosen among nobody, which is no candidate",
        ),
        (
            {"baselines": (policy("rule", None), SearchWinner(id="winner", among=("winner",)))},
            "winner is to be chosen among winner",
        ),
        ({"harness": None}, "talker is a model, but no harness is bound"),
        (
            {"candidates": (policy("grower", 1), policy("talker", 2))},
            "a harness is bound, but no candidate is a model",
        ),
    ],
)
def test_a_matrix_that_contradicts_itself_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        decisive(**changes)


def test_the_winner_of_a_search_can_be_seated_before_it_is_known() -> None:
    winner = SearchWinner(id="winner", among=("grower", "rule"))
    searching = decisive(
        baselines=(policy("rule", None), winner),
        runs=(run("validation-11", 0, 11, {1: "winner", 2: "talker"}),),
    )
    frozen = freeze(searching, provenance())
    assert CampaignManifest.from_json(frozen.to_json()) == frozen
    narrower = searching.model_copy(
        update={"baselines": (policy("rule", None), SearchWinner(id="winner", among=("rule",)))}
    )
    assert plan_hash(narrower) != plan_hash(searching)


@pytest.mark.parametrize(
    "assign",
    [
        lambda frozen: setattr(frozen, "plan_hash", digest(0)),
        lambda frozen: setattr(frozen.decisive, "release", "x"),
        lambda frozen: setattr(frozen.decisive.runs[0], "seed", 29),
        lambda frozen: setattr(frozen.provenance, "note", "x"),
    ],
)
def test_a_manifest_is_frozen(assign: Callable[[CampaignManifest], None]) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        assign(manifest())


def test_a_manifest_cannot_be_made_with_a_foreign_hash() -> None:
    with pytest.raises(IntegrityError):
        CampaignManifest(plan_hash=digest("other"), decisive=decisive(), provenance=provenance())
