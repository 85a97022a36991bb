"""What of a campaign's execution may change after it was frozen, because it decides no result.

A person changes it by launching the same plan again, with a file that says otherwise: how many runs
are active, how long leases last, what may be spent, and where, how fast and with which key a route
asks. The manifest stays as it was frozen; the store keeps beside it what is in force.
"""

import asyncio
from typing import Any, Final

from campaigns.definition import CampaignDefinition
from manifests.comparison import Difference, value_differences
from manifests.model import CampaignManifest
from orchestrator.bound import bound_plan, execution_limits
from orchestrator.owners import own_name
from orchestrator.store import Store
from orchestrator.tenure import tenure_of_campaign
from providers.routes import OUTSIDE_IDENTITY

# Where an endpoint is belongs into no message.
_NOT_SHOWN: Final = "endpoint"


def execution_differences(before: CampaignManifest, after: CampaignManifest) -> list[Difference]:
    """In what two manifests of one plan are carried out differently, in path order."""
    one, two = (_execution(bound_plan(each).definition) for each in (before, after))
    found = [
        Difference(each.path.removeprefix("."), each.left, each.right)
        for each in value_differences("", one, two)
    ]
    return [
        Difference(each.path, "one", "another") if _NOT_SHOWN in each.path else each
        for each in found
    ]


def take_execution(store: Store, wanted: CampaignManifest) -> list[Difference]:
    """Put in force what a manifest of the stored plan says of the execution; what that changed.

    Nobody may carry the campaign out meanwhile.

    Raises:
        InputError: the store has no such campaign.
        LeaseHeld: somebody carries the campaign out.
    """
    catalogue, name = store.catalogue, wanted.provenance.campaign
    present = catalogue.manifest_in_force(name)
    changes = execution_differences(present, wanted)
    if not changes:
        return []
    seconds = execution_limits(present).lease_seconds
    lease = asyncio.run(tenure_of_campaign(catalogue, name, seconds, own_name()).take_unless_kept())
    try:
        told = ", ".join(found.path for found in changes)
        catalogue.put_in_force(wanted, f"another {told}")
        return changes
    finally:
        catalogue.release(lease)


def _execution(definition: CampaignDefinition) -> dict[str, Any]:
    limits = definition.limits.model_dump(mode="json", exclude={"allowances"})
    routes = {
        candidate.id: {
            name: value for name, value in candidate.route.items() if name in OUTSIDE_IDENTITY
        }
        for candidate in definition.all_candidates()
        if candidate.route is not None
    }
    return {"limits": limits, "routes": routes}
