"""A host, without Ray: which package it plays with."""

import asyncio
from pathlib import Path

import pytest

from campaigns.plan import plan
from manifests.canonical import digest
from manifests.fingerprints import SourceFingerprint
from manifests.model import CampaignManifest, freeze
from orchestrator.actors.host import Host
from orchestrator.binding import frozen
from orchestrator.lifecycle import RunState
from orchestrator.store import open_store
from tests.orchestrator.trial import NAME, REFERENCE, definition


def other_sources(manifest: CampaignManifest) -> CampaignManifest:
    """The manifest as a package with one file more would have frozen it."""
    files = {**manifest.decisive.sources.files, "engine/new.py": digest("new")}
    sources = SourceFingerprint(files=files, overall=digest(files))
    decisive = manifest.decisive.model_copy(update={"sources": sources})
    return freeze(decisive, manifest.provenance)


@pytest.mark.parametrize("same", [True, False])
def test_a_host_plays_only_with_the_package_of_the_manifest(tmp_path: Path, *, same: bool) -> None:
    planned = plan(definition())
    manifest = frozen(planned) if same else other_sources(frozen(planned))
    with open_store(str(tmp_path), create=True) as store:
        store.catalogue.create_campaign(manifest, planned.runs)
        end = asyncio.run(Host(store.location, NAME).play(REFERENCE))
        version = manifest.decisive.versions.package
        if same:
            assert (end.state, end.trouble) == (RunState.COMPLETED, "")
        else:
            assert end.state is RunState.PLANNED
            assert "engine/new.py" in end.trouble
            assert f"the package it was started with (ceo-arena {version})" in end.trouble
