"""The manifest that a person means: of a store's campaign, in a file, or of one to be frozen."""

from pathlib import Path

from campaigns.definition import load_definition
from campaigns.plan import plan
from campaigns.sources import is_path
from manifests.bundle import ENVELOPE_FILE, Bundle
from manifests.containers import is_archive
from manifests.errors import InputError
from manifests.model import CampaignManifest
from orchestrator.binding import frozen
from orchestrator.cli.output import campaigns_in, chosen_campaign, notice, store_shown
from orchestrator.store import open_store


def manifest_at(meant: str, location: str) -> CampaignManifest:
    """The manifest in a bundle (its signatures are not checked) or a JSON file at a path; of a
    campaign of this name in the store at `location`; or else of a campaign file or a campaign of
    the library, frozen under this package.

    Raises:
        InputError: there is none.
        IntegrityError: it does not have its own plan hash.
        StoreError: the store cannot be opened.
    """
    path = Path(meant)
    if path.suffix == ".json" and path.is_file():
        return CampaignManifest.from_json(path.read_bytes(), meant)
    if (path / ENVELOPE_FILE).exists() or (is_archive(path) and path.is_file()):
        return Bundle.open(path).manifest
    names = [] if is_path(meant) else campaigns_in(location)
    if meant in names:
        with open_store(location) as store:
            return store.catalogue.manifest(chosen_campaign(store, meant))
    try:
        definition = load_definition(meant)
    except InputError as error:
        raise InputError(error.message, _remedy(error, path, location, names)) from error
    if not is_path(meant):
        notice(
            f"{store_shown(location)} has no campaign {meant}; that of the library is meant, as "
            "this package binds it."
        )
    return frozen(plan(definition))


def endpoint_key_at(meant: str, location: str) -> bytes:
    """The key of a campaign's endpoint commitments, which its store has alone.

    Raises:
        InputError: the store has no such campaign, or the campaign has no key.
    """
    if meant not in campaigns_in(location):
        raise InputError(
            "The key of the commitments is in the store, and this is none of its campaigns.",
            "Name the campaign and its --store, or give the key with --key.",
        )
    with open_store(location) as store:
        key = store.catalogue.endpoint_key(meant)
    if key is None:
        raise InputError(f"Campaign {meant} has no models, and so no commitments.")
    return key


def _remedy(error: InputError, path: Path, location: str, names: list[str]) -> str:
    if path.is_dir():
        return f"A directory is a bundle; a campaign in a store: CAMPAIGN --store {path}."
    if path.exists():
        return error.remedy
    known = f" {store_shown(location)} has {', '.join(names)}." if names else ""
    return f"{error.remedy} Or name a bundle, or a manifest as JSON.{known}"
