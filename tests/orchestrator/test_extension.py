"""A campaign that grows: what is finished is kept and not paid again (runtime.md section 4)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigns.plan import plan
from manifests.errors import InputError
from manifests.model import CampaignManifest, run_inputs
from orchestrator import tenure
from orchestrator.binding import frozen
from orchestrator.extension import extend, extension
from orchestrator.lifecycle import RunState
from orchestrator.replay import ReplayReport, replay_campaign
from orchestrator.results import campaign_results
from orchestrator.store import DesiredState, LeaseHeld, Target, open_store
from tests.orchestrator.trial import NAME, REFERENCE, Trial, definition

MORE_SEEDS: dict[str, Any] = {"seeds": [11, 29, 47]}


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial.new(tmp_path / "store")
    with made.store:
        yield made


def replayed(location: str) -> ReplayReport:
    return replay_campaign(location, NAME, (), 1, None, lambda _report: None)


def grown(trial: Trial, **changes: Any) -> Any:
    return extend(trial.store, plan(definition(**changes)), {})


@pytest.mark.parametrize(
    ("changes", "runs"),
    [
        (MORE_SEEDS, 12),
        ({"repeats": 2}, 16),
        # One more baseline that takes each seat in turn.
        (
            {
                "candidates": [
                    *({"id": "ada", "seat": 1, "policy": "price-follower"},),
                    *({"id": "bob", "seat": 2, "policy": "growth"},),
                    *({"id": "cy", "seat": 3, "policy": "overspender"},),
                    *({"id": "rule", "policy": "rule"}, {"id": "idle", "policy": "no-action"}),
                ],
                "groups": [
                    {"name": NAME, "baseline": "rule"},
                    {"name": "idle", "baseline": "idle", "lineups": ["replacements"]},
                ],
            },
            14,
        ),
    ],
    ids=["seeds", "repeats", "a candidate"],
)
def test_what_is_finished_is_kept_and_the_rest_is_played(
    trial: Trial, changes: dict[str, Any], runs: int
) -> None:
    trial.play_all()
    before = trial.store.catalogue.manifest(NAME)
    names = [row.key.run_id for row in trial.store.catalogue.runs(NAME)]
    old = {run_id: trial.digests(run_id) for run_id in names}
    played = {run_id: trial.run(run_id).status().updated_at for run_id in old}
    found = grown(trial, **changes)
    assert set(found.kept) == set(old)
    assert len(found.added) == runs - len(old)

    rows = trial.store.catalogue.runs(NAME)
    assert len(rows) == runs
    after = trial.store.catalogue.manifest(NAME)
    own = CampaignManifest.from_json(trial.run().manifest_json() or b"")
    assert own == after, "the run's own copy has taken notice"
    assert after.plan_hash != before.plan_hash
    assert trial.store.catalogue.beginnings(NAME) == dict.fromkeys(old, before.plan_hash)
    results = campaign_results(trial.store, NAME)
    assert len(results.unfinished) == len(found.added)

    trial.play_all()
    for run_id, digests in old.items():
        assert trial.digests(run_id) == digests
        assert trial.run(run_id).status().updated_at == played[run_id], "nobody touched it"
    assert campaign_results(trial.store, NAME).complete
    report = replayed(trial.store.location)
    assert report.differences == ()
    assert report.matched == runs


def test_extending_again_by_the_same_changes_nothing(trial: Trial) -> None:
    trial.play()
    grown(trial, **MORE_SEEDS)
    acts = trial.store.catalogue.acts(NAME)
    assert grown(trial, **MORE_SEEDS).added == ()
    assert trial.store.catalogue.acts(NAME) == acts
    assert [act.act for act in acts] == ["create", "extend"]


def test_a_run_in_the_middle_goes_on_after_an_extension(trial: Trial) -> None:
    run = trial.run()
    run.release(run.acquire("a test", 60))
    grown(trial, **MORE_SEEDS)
    assert trial.play() is RunState.COMPLETED


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": [29]}, "the new plan lacks it"),
        ({"horizon_days": 24}, "horizon_days"),
        ({"release": "another"}, "release"),
        (
            {
                "candidates": [
                    {"id": "ada", "seat": 1, "policy": "growth"},
                    {"id": "bob", "seat": 2, "policy": "growth"},
                    {"id": "cy", "seat": 3, "policy": "overspender"},
                    {"id": "rule", "policy": "rule"},
                ]
            },
            "price-follower",
        ),
    ],
)
def test_what_would_change_a_run_that_has_begun_is_refused_and_named(
    trial: Trial, changes: dict[str, Any], said: str
) -> None:
    trial.play()
    before = trial.store.catalogue.manifest(NAME)
    with pytest.raises(InputError) as refused:
        grown(trial, **changes)
    assert said in str(refused.value)
    assert REFERENCE in str(refused.value)
    assert trial.store.catalogue.manifest(NAME) == before
    assert trial.store.catalogue.campaign(NAME).lease.owner is None, "no lock is left behind"


def test_what_has_not_begun_may_be_planned_anew(trial: Trial) -> None:
    trial.play()
    trial.store.holds.set(Target(NAME, "trial-s29-reference"), DesiredState.PAUSED, "")
    found = grown(trial, seeds=[11, 47])
    assert found.kept == (REFERENCE,)
    assert "trial-s29-reference" in found.renewed
    assert "trial-s29-reference" not in [row.key.run_id for row in trial.store.catalogue.runs(NAME)]


def test_nobody_extends_what_is_being_carried_out(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial.store.catalogue.acquire_campaign(NAME, "somebody else", 600)
    monkeypatch.setattr(tenure, "is_alive", lambda _owner: True)
    with pytest.raises(LeaseHeld):
        grown(trial, **MORE_SEEDS)


def test_a_search_is_not_extended(trial: Trial) -> None:
    manifest = trial.store.catalogue.manifest(NAME)
    recorded = manifest.provenance.definition | {"search": {"policy": "rule"}}
    provenance = manifest.provenance.model_copy(update={"definition": recorded})
    search = manifest.model_copy(update={"provenance": provenance})
    with pytest.raises(InputError, match="is a search"):
        extension(search, search, ())


def test_a_lost_catalogue_of_an_extended_campaign_is_built_again(
    trial: Trial, tmp_path: Path
) -> None:
    trial.play_all()
    grown(trial, **MORE_SEEDS)
    after = trial.store.catalogue.manifest(NAME)
    trial.store.close()
    (tmp_path / "store" / "catalogue.db").unlink()
    with open_store(str(tmp_path / "store")) as again:
        assert again.catalogue.manifest(NAME) == after
        assert len(again.catalogue.runs(NAME)) == 12
        assert replayed(again.location).differences == ()


def test_only_what_decides_a_run_is_among_its_inputs() -> None:
    small, large = (frozen(plan(definition(**changes))).decisive for changes in ({}, MORE_SEEDS))
    assert run_inputs(small, REFERENCE) == run_inputs(large, REFERENCE)
    assert run_inputs(small, REFERENCE) != run_inputs(small, "trial-s29-reference")
    with pytest.raises(KeyError):
        run_inputs(small, "trial-s47-reference")
