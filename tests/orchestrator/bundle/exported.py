"""Bundles of small campaigns, and the same bundles with something changed and signed again."""

from collections.abc import Callable, Mapping
from pathlib import Path

from manifests.bundle import (
    MANIFEST_FILE,
    RESULTS_FILE,
    Bundle,
    Predicate,
    faults,
    new_bundle,
)
from manifests.containers import Fault
from manifests.keys import PrivateKey
from orchestrator.bundle.export import export
from orchestrator.bundle.replay import replay_bundle
from orchestrator.replay import ReplayReport
from orchestrator.store import open_store
from tests.manifests.bundles import key

Change = Callable[[bytes], bytes]


def write(
    store: Path | str,
    path: Path,
    environment: Mapping[str, str] | None = None,
    *keys: PrivateKey,
    with_conversations: bool = False,
) -> Path:
    """Export the only campaign of a store."""
    with open_store(str(store)) as opened:
        (campaign,) = opened.catalogue.campaigns()
        export(
            opened,
            campaign.name,
            path,
            keys or (key(),),
            environment or {},
            with_conversations=with_conversations,
        )
    return path


def found(path: Path) -> list[Fault]:
    """What `verify` would say."""
    return faults(Bundle.open(path), [key().public])


def replayed(path: Path, *run_ids: str) -> ReplayReport:
    """A replay in this process."""
    return replay_bundle(path, run_ids, 1, lambda _report: None)


def files_of(path: Path) -> dict[str, bytes]:
    """Every file of a bundle, the envelope included."""
    source = Bundle.open(path).source
    contents = {}
    for name in source.names:
        with source.open(name) as file:
            contents[name] = file.read()
    return contents


def signed_again(path: Path, to: Path, changes: Mapping[str, Change | None]) -> Path:
    """A bundle with some files changed, or left out, whose signature fits all the same: what its
    owner could hand on.
    """
    bundle = Bundle.open(path)
    said = dict(bundle.statement.predicate)
    with new_bundle(to) as again:
        for name in bundle.subjects:
            change = changes.get(name, bytes)
            if change is not None and name not in {MANIFEST_FILE, RESULTS_FILE}:
                again.add(name, [change(bundle.content(name))])
        again.seal(Predicate.model_validate(said), [key()])
    assert found(to) == []
    return to
