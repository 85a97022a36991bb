"""What a manifest binds, and how another package is noticed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from campaigns.consistency import SEARCH_WINNER
from campaigns.definition import CampaignDefinition, load_definition
from campaigns.plan import plan
from engine.policies.base import make_policy
from engine.scenario import default_scenario
from engine.streams import stream_fingerprint
from manifests.canonical import digest
from manifests.commitments import new_key, proves
from manifests.errors import InputError
from manifests.fingerprints import PACKAGES, source_fingerprint
from manifests.model import (
    CampaignManifest,
    ModelCandidate,
    PolicyCandidate,
    SearchWinner,
    freeze,
)
from orchestrator import binding
from orchestrator.binding import (
    check_package,
    differences_from_package,
    frozen,
    scenario_of,
    with_endpoints,
)
from orchestrator.bound import bound_plan, bound_scenario, execution_limits
from orchestrator.session.prompt import PROMPT_VERSION, prompt_digest
from orchestrator.session.tools import tools_hash
from tests.orchestrator.trial import definition

LIBRARY = ("main", "no-action", "rehearsal", "rehearsal-llm", "repeats", "rule-search")


def bound(name: str) -> CampaignManifest:
    return frozen(plan(load_definition(name)))


@pytest.mark.parametrize("name", LIBRARY)
def test_every_library_campaign_can_be_frozen_and_read_back(name: str) -> None:
    manifest = bound(name)
    planned = plan(load_definition(name))
    assert CampaignManifest.from_json(manifest.to_json()) == manifest
    assert bound_plan(manifest) == planned
    assert bound_scenario(manifest) == default_scenario()
    assert [run.id for run in manifest.decisive.runs] == [run.run_id for run in planned.runs]
    assert [tuple(run.seats.values()) for run in manifest.decisive.runs] == [
        run.lineup for run in planned.runs
    ]


def test_everything_that_decides_is_bound() -> None:
    decisive = bound("rehearsal").decisive
    assert decisive.versions.economy == "ceos-market-v3"
    assert decisive.versions.decision == "ceos-decision-v9"
    assert decisive.versions.runtime == "ceos-runtime-v4"
    assert decisive.scenario_digest == default_scenario().digest
    assert decisive.seeds == (11, 29, 47)
    assert decisive.random_streams == stream_fingerprint()
    assert decisive.sources == source_fingerprint(PACKAGES)
    assert {path.partition("/")[0] for path in decisive.sources.files} == set(PACKAGES)
    assert {"numpy", "pydantic", "ray", "msgspec"} <= decisive.libraries.keys()


def test_policies_are_bound_with_all_parameters_identity_and_code() -> None:
    decisive = bound("rehearsal").decisive
    (rule,) = decisive.baselines
    assert isinstance(rule, PolicyCandidate)
    policy = make_policy("rule", {})
    assert rule.identity == policy.identity
    assert rule.identity.startswith("rule-ceo-fixed-v3-")
    assert rule.code == policy.code_digest
    assert rule.parameters == json.loads(policy.parameters.model_dump_json())
    assert [candidate.seat for candidate in decisive.candidates] == list(range(1, 9))


def test_routes_are_bound_without_endpoint_and_credentials() -> None:
    manifest = bound("main")
    for candidate in manifest.decisive.candidates:
        assert isinstance(candidate, ModelCandidate)
        assert not candidate.route.keys() & {"endpoint", "endpoint_env", "credentials"}
    assert set(manifest.decisive.limits["allowances"]) == {  # type: ignore[arg-type]
        candidate.id for candidate in manifest.decisive.candidates
    }


def test_all_wrong_routes_are_told_at_once() -> None:
    wrong = {"protocol": "morse", "model": "m", "native_ceiling": 1, "credentials": "no key"}
    candidates = [
        {"id": "ada", "seat": 1, "route": wrong},
        {"id": "bob", "seat": 2, "route": {"protocol": "chat"}},
        {"id": "cy", "seat": 3, "policy": "growth"},
        {"id": "rule", "policy": "rule"},
    ]
    with pytest.raises(InputError) as caught:
        binding.frozen(plan(definition(candidates=candidates)))
    message = caught.value.message
    assert 'The route of candidate "ada" is not valid:\n  protocol: write' in message
    assert 'The route of candidate "bob" is not valid:\n  model: is missing' in message


def test_what_models_are_told_and_given_is_bound_where_there_are_models() -> None:
    harness = bound("main").decisive.harness
    assert harness is not None
    assert harness.interface == "ceos-decision-v9"
    assert harness.prompt == PROMPT_VERSION
    assert harness.prompt_digest == prompt_digest()
    assert harness.tools_digest == tools_hash()
    assert harness.memory_characters == 40_000
    assert bound("rehearsal").decisive.harness is None


def test_another_prompt_is_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = bound("rehearsal-llm")
    assert differences_from_package(manifest) == []
    other = default_scenario().digest
    monkeypatch.setattr("orchestrator.session.prompt.prompt_digest", lambda: other)
    (found,) = differences_from_package(manifest)
    assert (found.path, found.right) == ("decisive.harness.prompt_digest", other)
    assert bound("rehearsal-llm").plan_hash != manifest.plan_hash
    assert differences_from_package(bound("rehearsal")) == []


def test_every_tool_is_bound_by_its_own_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    from orchestrator.session import tools

    manifest = bound("rehearsal-llm")
    assert manifest.decisive.harness is not None
    assert list(manifest.decisive.harness.tools) == [each.name for each in tools.tool_definitions()]
    changed = tools.tool_hashes() | {"seal_decision": digest("other words")}
    monkeypatch.setattr(tools, "tool_hashes", lambda: changed)
    (found,) = differences_from_package(manifest)
    assert found.path == "decisive.harness.tools.seal_decision"


def test_endpoints_are_committed_to_beside_the_plan() -> None:
    manifest, key = bound("rehearsal-llm"), new_key()
    assert manifest.provenance.endpoints == {}
    url = "http://127.0.0.1:8765/v1/"
    committed = with_endpoints(manifest, key, {"CEO_ARENA_REHEARSAL_URL": url})
    moved = with_endpoints(manifest, key, {"CEO_ARENA_REHEARSAL_URL": "https://elsewhere.example"})
    assert committed.plan_hash == moved.plan_hash == manifest.plan_hash
    models = [
        candidate.id
        for candidate in manifest.decisive.candidates
        if isinstance(candidate, ModelCandidate)
    ]
    assert list(committed.provenance.endpoints) == models
    assert url not in committed.to_json()
    for name, found in committed.provenance.endpoints.items():
        assert proves(key, name, url.rstrip("/"), found)
        assert not proves(key, name, url.rstrip("/"), moved.provenance.endpoints[name])
    assert CampaignManifest.from_json(committed.to_json()) == committed
    assert with_endpoints(manifest, key, {}).provenance.endpoints == {}


def test_a_search_binds_its_profiles_and_the_winner_among_them() -> None:
    decisive = bound("rule-search").decisive
    (winner,) = [one for one in decisive.baselines if isinstance(one, SearchWinner)]
    assert winner.id == SEARCH_WINNER
    assert list(winner.among) == [f"profile-{number:02}" for number in range(1, 25)]
    assert len(decisive.candidates) == 8 + 24
    assert [run.seats[1] for run in decisive.runs[72:]] == [SEARCH_WINNER] * 3


def test_the_plan_hash_is_the_same_in_other_processes_and_whatever_does_not_decide() -> None:
    program = (
        "from campaigns.definition import load_definition; from campaigns.plan import plan; "
        "from orchestrator.binding import frozen; "
        "print(frozen(plan(load_definition('rehearsal'))).plan_hash)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == bound("rehearsal").plan_hash
    plain = frozen(plan(definition())).plan_hash
    for changes in ({"notes": "other"}, {"limits": {"max_active_runs": 3, "lease_seconds": 9}}):
        assert frozen(plan(definition(**changes))).plan_hash == plain


@pytest.mark.parametrize(
    "changes",
    [
        {"seeds": [29, 11]},
        {"seeds": [11]},
        {"horizon_days": 18},
        {"release": "other"},
        {"recovery": "cumulative-usage"},
        {"lineups": ["reference"]},
        {"repeats": 2},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_decides_changes_the_plan_hash(changes: dict[str, Any]) -> None:
    assert frozen(plan(definition(**changes))).plan_hash != frozen(plan(definition())).plan_hash


def test_limits_of_the_execution_are_recorded_beside_the_plan() -> None:
    manifest = frozen(plan(definition(limits={"max_active_runs": 4, "lease_seconds": 7})))
    limits = execution_limits(manifest)
    assert (limits.max_active_runs, limits.lease_seconds) == (4, 7)


def test_the_horizon_of_the_campaign_is_that_of_its_scenario(tmp_path: Path) -> None:
    assert scenario_of(definition(horizon_days=9)).horizon_days == 9
    file = tmp_path / "mine.json"
    file.write_text(default_scenario().with_horizon(40).to_json(), encoding="utf-8")
    own = definition(scenario=str(file), horizon_days=None)
    assert scenario_of(own).horizon_days == 40
    assert frozen(plan(own)).decisive.horizon_days == 40


@pytest.mark.parametrize(
    ("candidate", "told"),
    [
        ({"policy": "no-such-policy"}, "There is no policy"),
        ({"policy": "rule", "parameters": {"no_such": 1}}, "no_such"),
        ({"policy": "rule", "parameters": {"cash_floor_cents": -1}}, "cash_floor_cents"),
        ({"route": {"protocol": "morse"}}, "route"),
    ],
)
def test_an_unusable_candidate_is_named(candidate: dict[str, Any], told: str) -> None:
    others = [{"id": "rule", "policy": "rule"}]
    wrong = definition(candidates=[{"id": "ada", "seat": 1, **candidate}, *others])
    with pytest.raises(InputError, match=r'(?i)candidate "ada"') as caught:
        frozen(plan(wrong))
    assert told in str(caught.value)


def test_this_package_is_the_one_that_it_binds() -> None:
    manifest = bound("rehearsal")
    assert differences_from_package(manifest) == []
    check_package(manifest)


def changed(manifest: CampaignManifest, **parts: Any) -> CampaignManifest:
    return freeze(manifest.decisive.model_copy(update=parts), manifest.provenance)


def test_another_package_is_refused_with_the_names_of_what_differs() -> None:
    manifest = bound("rehearsal")
    versions = manifest.decisive.versions.model_copy(update={"economy": "ceos-market-v2"})
    foreign = changed(
        manifest, versions=versions, libraries={**manifest.decisive.libraries, "numpy": "1.0"}
    )
    with pytest.raises(InputError) as caught:
        check_package(foreign)
    message = str(caught.value)
    assert "decisive.versions.economy: ceos-market-v2 bound, ceos-market-v3 here" in message
    assert "decisive.libraries.numpy: 1.0 bound" in message
    assert "another name" in message
    assert manifest.decisive.sources.overall in message


def test_a_policy_whose_code_changed_is_noticed() -> None:
    manifest = bound("rehearsal")
    first, *rest = manifest.decisive.candidates
    foreign = changed(
        manifest,
        candidates=(first.model_copy(update={"code": default_scenario().digest}), *rest),
    )
    (found,) = differences_from_package(foreign)
    assert found.path == f"decisive.candidates[{first.id}].code"


def test_a_long_list_of_differences_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = bound("rehearsal")
    monkeypatch.setattr(binding, "PACKAGES", ("engine", "manifests"))
    with pytest.raises(InputError) as caught:
        check_package(manifest)
    assert "more" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 14


def test_labels_and_groups_come_back_with_the_plan() -> None:
    own: CampaignDefinition = definition(groups=[{"name": "one"}, {"name": "two", "seeds": [47]}])
    assert bound_plan(frozen(plan(own))) == plan(own)
