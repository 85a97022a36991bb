"""Checks of the campaign: all for which a launch would refuse it before anything is played."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from campaigns.plan import CampaignPlan
from manifests.errors import ArenaError, InputError, StoreError
from manifests.model import CampaignManifest
from manifests.printable import counted
from orchestrator.binding import frozen
from orchestrator.doctor.findings import Finding, failed, ok, warning
from orchestrator.money import check_own_cap, routes_of
from orchestrator.session.services import check_candidate
from orchestrator.status.progress import holder_of
from orchestrator.store import open_store


def check_campaign(planned: CampaignPlan, location: str) -> list[Finding]:
    """Whether its plan can be frozen, its candidates can play and its cap can hold; and whether a
    campaign of its name in the store is the same one, which nobody carries out.
    """
    definition = planned.definition
    found: list[Finding] = []
    try:
        manifest = frozen(planned)
    except InputError as error:
        found.append(failed("plan", "", error.message, error.remedy))
    else:
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines):
            with _noted(found, "plan", candidate.id):
                check_candidate(definition, candidate)
        if not found:
            found.append(
                ok("plan", "", f"{counted(len(planned.runs), 'run')}, {manifest.plan_hash}")
            )
        with _noted(found, "store"):
            found += _in_store(manifest, location)
    # Routes that cannot be read are told with the plan.
    with suppress(InputError):
        routes_of(definition)
        with _noted(found, "cap"):
            check_own_cap(definition)
    return found


def _in_store(manifest: CampaignManifest, location: str) -> Iterator[Finding]:
    name = manifest.provenance.campaign
    try:
        with open_store(location) as store:
            store.catalogue.check_plan(manifest)
            leases = [row.lease for row in store.catalogue.campaigns() if row.name == name]
    except StoreError:
        # There is none yet, or the check of the store says what is wrong with it.
        return
    for owner in filter(None, map(holder_of, leases)):
        remedy = f"Follow it with: ceo-arena watch {name}"
        yield warning("store", "", f"{name} is being carried out by {owner}", remedy)


@contextmanager
def _noted(found: list[Finding], check: str, subject: str = "") -> Iterator[None]:
    """Add what the block refuses to the findings."""
    try:
        yield
    except ArenaError as error:
        found.append(failed(check, subject, error.message, error.remedy))
