"""Playing campaigns in the process of a benchmark, without Ray."""

import argparse
import asyncio
from typing import Final

from campaigns.definition import CampaignDefinition, load_definition
from campaigns.plan import plan
from manifests.model import ModelCandidate
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import Ceo, ModelSeating, seated
from orchestrator.owners import own_name
from orchestrator.store import RunKey, Store
from orchestrator.world import StopRequest, World

LEASE_SECONDS: Final = 600.0


def chosen_form(campaign: str, description: str | None) -> CampaignDefinition:
    """A campaign of the library, over as many days as the command line of a benchmark wants."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--days", metavar="N", type=int, help="only the first so many days, for a quick look"
    )
    return load_definition(campaign).short_form(options.parse_args().days)


def create(store: Store, definition: CampaignDefinition) -> None:
    planned = plan(definition)
    store.catalogue.create_campaign(frozen(planned), planned.runs)


def no_model(candidate: ModelCandidate, _seat: int) -> Ceo:
    """Seats the models of a campaign that has none."""
    raise AssertionError(f"the campaign seats no model, but {candidate.id} is one")


def play(store: Store, key: RunKey, seat_model: ModelSeating = no_model) -> None:
    """Play a run to its end."""
    manifest, run = store.catalogue.manifest(key.campaign), store.run(key)
    planned = store.catalogue.run(key).planned
    lease = run.acquire(own_name(), LEASE_SECONDS)
    ceos = seated(manifest, planned.lineup, seat_model)
    world = World(run, lease, planned, bound_scenario(manifest), ceos, StopRequest())
    asyncio.run(world.play())
    run.release(lease)
    run.close()
