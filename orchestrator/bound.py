"""What a frozen manifest holds, read back: its scenario, its plan, its limits of execution."""

from campaigns.definition import Limits, parse_definition
from campaigns.plan import CampaignPlan, plan
from engine.scenario import Scenario, parse_scenario
from manifests.model import CampaignManifest


def bound_scenario(manifest: CampaignManifest) -> Scenario:
    """The scenario that a manifest holds by value. Raises InputError when it is unknown here."""
    return parse_scenario(manifest.decisive.scenario, "The scenario of the manifest")


def bound_plan(manifest: CampaignManifest) -> CampaignPlan:
    """The plan that a manifest was frozen from, with labels, groups and search.

    Raises:
        InputError: this package cannot read the definition that the manifest records.
    """
    name = manifest.provenance.campaign
    recorded = manifest.provenance.definition
    return plan(parse_definition(recorded, f"The definition recorded with campaign {name}"))


def execution_limits(manifest: CampaignManifest) -> Limits:
    """The limits that steer the execution and decide no result, as the manifest records them."""
    return Limits.model_validate(dict(manifest.provenance.limits))
