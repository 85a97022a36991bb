"""Extending a campaign: more seeds, repeats or lineups under a new plan, and no run paid twice.

A run is kept when everything that decides it alone is unchanged, whatever else the campaign has
become (`manifests.model.run_inputs`). A run that has begun and would come out otherwise, or that
the new plan lacks, is refused: an extension only adds.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from campaigns.plan import CampaignPlan
from manifests.comparison import told, value_differences
from manifests.errors import InputError
from manifests.model import CampaignManifest, run_inputs
from orchestrator.binding import frozen, with_endpoints
from orchestrator.bound import execution_limits
from orchestrator.owners import own_name
from orchestrator.store import RunKey, Store
from orchestrator.tenure import tenure_of_campaign


@dataclass(frozen=True, slots=True)
class Extension:
    """What becomes of the runs: `kept` have begun and stay as they are, `added` are new, and
    `renewed` are planned anew or no more, because none of them had begun.
    """

    kept: tuple[str, ...]
    added: tuple[str, ...]
    renewed: tuple[str, ...]


def extension(
    before: CampaignManifest, after: CampaignManifest, begun: Collection[str]
) -> Extension:
    """What a new plan of a campaign makes of its runs, of which `begun` have begun.

    Raises:
        InputError: a run that has begun would come out otherwise, or is gone; names it, and where
            its inputs differ. Or the campaign is a search.
    """
    name = before.provenance.campaign
    for manifest in (before, after):
        if manifest.provenance.definition.get("search") is not None:
            raise InputError(
                f"Campaign {name} is a search: what it chooses depends on all of its runs.",
                "Plan another campaign under another name.",
            )
    old, new = ({run.id for run in each.decisive.runs} for each in (before, after))
    for run_id in sorted(begun):
        if run_id not in new:
            raise InputError(
                f"Run {run_id} of campaign {name} has begun, and the new plan lacks it.",
                "An extension only adds; launch the plan under another name.",
            )
        there, now = (run_inputs(each.decisive, run_id) for each in (before, after))
        found = list(value_differences("", there, now))
        if found:
            raise InputError(
                f"Run {run_id} of campaign {name} has begun, and would come out otherwise:\n"
                f"{told(found, 'there', 'now')}",
                "An extension only adds; launch the plan under another name. A campaign that was "
                "begun with another version of this package is extended with that version.",
            )
    planned = [run.id for run in after.decisive.runs]
    return Extension(
        kept=tuple(run_id for run_id in planned if run_id in begun),
        added=tuple(run_id for run_id in planned if run_id not in old),
        renewed=tuple(sorted(old - set(begun))),
    )


def extend(store: Store, planned: CampaignPlan, environment: Mapping[str, str]) -> Extension:
    """Put a new plan in the place of the one that the store has under its name.

    Nobody may carry the campaign out meanwhile. The plan that is replaced stays in the store, and
    every run that has begun says under which one it did.

    Raises:
        InputError: as `extension`, or the store has no such campaign.
        LeaseHeld: somebody carries the campaign out.
    """
    name = planned.definition.name
    before = store.catalogue.manifest(name)
    after = frozen(planned)
    key = store.catalogue.endpoint_key(name)
    if key is not None:
        after = with_endpoints(after, key, environment)
    seconds = execution_limits(before).lease_seconds
    tenure = tenure_of_campaign(store.catalogue, name, seconds, own_name())
    lease = asyncio.run(tenure.take_unless_kept())
    try:
        begun = {
            status.key.run_id for status in store.statuses(name) if status.updated_at is not None
        }
        found = extension(before, after, begun)
        if before.plan_hash != after.plan_hash:
            store.catalogue.extend_campaign(before.plan_hash, after, planned.runs, found.kept)
            for run_id in found.kept:
                # Opening a run lets it take notice of the new plan.
                run = store.run(RunKey(name, run_id))
                run.close()
                run.status()
        return found
    finally:
        store.catalogue.release(lease)
