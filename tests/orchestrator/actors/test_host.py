"""A host, without Ray: which package it plays with, and for how long when nobody asks for it."""

import asyncio
from pathlib import Path

import pytest

from campaigns.plan import plan
from manifests.canonical import digest
from manifests.fingerprints import SourceFingerprint
from manifests.model import CampaignManifest, freeze
from orchestrator.actors import host
from orchestrator.binding import frozen
from orchestrator.lifecycle import RunState
from orchestrator.quota import LimitLedger
from orchestrator.store import RunKey, Store, open_store
from tests.orchestrator.trial import NAME, REFERENCE, definition


def other_sources(manifest: CampaignManifest) -> CampaignManifest:
    """The manifest as a package with one file more would have frozen it."""
    files = {**manifest.decisive.sources.files, "engine/new.py": digest("new")}
    sources = SourceFingerprint(files=files, overall=digest(files))
    decisive = manifest.decisive.model_copy(update={"sources": sources})
    return freeze(decisive, manifest.provenance)


@pytest.mark.parametrize("same", [True, False])
def test_a_host_plays_only_with_the_package_of_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, same: bool
) -> None:
    # Which ledger of rate limits is shared is told by Ray; nobody asks a model here.
    monkeypatch.setattr(host, "shared_ledger", lambda: LimitLedger(tmp_path / "limits"))
    planned = plan(definition())
    manifest = frozen(planned) if same else other_sources(frozen(planned))
    with open_store(str(tmp_path / "store"), create=True) as store:
        store.catalogue.create_campaign(manifest, planned.runs)
        end = asyncio.run(host.Host(store.location, NAME).play(REFERENCE))
        version = manifest.decisive.versions.package
        if same:
            assert (end.state, end.trouble) == (RunState.COMPLETED, "")
        else:
            assert end.state is RunState.PLANNED
            assert "engine/new.py" in end.trouble
            assert f"the package it was started with (ceo-arena {version}, source " in end.trouble


def test_a_host_that_nobody_asks_for_any_more_gives_its_runs_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "shared_ledger", lambda: LimitLedger(tmp_path / "limits"))
    changes = {
        "horizon_days": 98_000,
        "candidates": [{"id": "ada", "seat": 1, "policy": "price-follower"}],
        "lineups": ["reference"],
        "limits": {"lease_seconds": 1},
    }
    planned = plan(definition(**changes, baseline=None))

    async def play(store: Store, run_id: str) -> None:
        playing_host, run = host.Host(store.location, NAME), store.run(RunKey(NAME, run_id))
        playing = asyncio.create_task(playing_host.play(run_id))
        # Longer than two lease times.
        for _ in range(30):
            await playing_host.alive()
            await asyncio.sleep(0.1)
        assert not playing.done()
        end = await playing
        assert (end.state, end.trouble) == (RunState.RUNNING, "")
        assert run.status().lease.owner is None

    with open_store(str(tmp_path / "store"), create=True) as store:
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        asyncio.run(play(store, planned.runs[0].run_id))
