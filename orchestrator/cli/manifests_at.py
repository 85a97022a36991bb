"""The manifest that a person means: in a bundle, a file, a store, or of a campaign to be frozen."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaigns.definition import load_definition
from campaigns.plan import plan
from manifests.bundle import ENVELOPE_FILE, Bundle
from manifests.containers import is_archive
from manifests.errors import InputError
from manifests.model import CampaignManifest
from orchestrator.binding import frozen
from orchestrator.cli.output import chosen_campaign
from orchestrator.store import Store, open_store


def manifest_at(place: str) -> CampaignManifest:
    """The manifest at a place: a bundle (its signatures are not checked), a JSON file, a store with
    `#` and a name where it has several campaigns, or else a campaign file or library name, frozen
    under this package.

    Raises:
        InputError: there is none.
        IntegrityError: it does not have its own plan hash.
        StoreError: the store cannot be opened.
    """
    path = Path(place)
    if path.suffix == ".json" and path.is_file():
        return CampaignManifest.from_json(path.read_bytes(), place)
    if _is_store(place):
        with _store(place) as (store, name):
            return store.catalogue.manifest(name)
    if path.is_dir() or (is_archive(path) and path.is_file()):
        return Bundle.open(path).manifest
    try:
        definition = load_definition(place)
    except InputError as error:
        if path.exists():
            raise
        raise InputError(
            error.message,
            f"{error.remedy} Or name a bundle, a manifest as JSON, or a store; with a campaign of "
            f"it: STORE#{place}.",
        ) from error
    return frozen(plan(definition))


def endpoint_key_at(place: str) -> bytes:
    """The key of a campaign's endpoint commitments, which its store has alone.

    Raises:
        InputError: the place is no store, or the campaign has no key.
    """
    if not _is_store(place):
        raise InputError(
            "The key of the commitments is in the store, and this is none.",
            "Name the store, or give the key with --key.",
        )
    with _store(place) as (store, name):
        key = store.catalogue.endpoint_key(name)
    if key is None:
        raise InputError(f"Campaign {name} has no models, and so no commitments.")
    return key


def _is_store(place: str) -> bool:
    location, _, _ = place.partition("#")
    path = Path(location)
    return "://" in location or (path.is_dir() and not (path / ENVELOPE_FILE).exists())


@contextmanager
def _store(place: str) -> Iterator[tuple[Store, str]]:
    location, _, name = place.partition("#")
    with open_store(location) as store:
        yield store, chosen_campaign(store, name or None)
