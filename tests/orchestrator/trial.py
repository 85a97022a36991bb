"""A small campaign in a store, and its runs played in this process."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from campaigns.definition import CampaignDefinition, parse_definition
from campaigns.plan import plan
from manifests.model import ModelCandidate
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import Ceo, seated
from orchestrator.lifecycle import RunState
from orchestrator.store import Lease, RunKey, RunStore, Store, open_store
from orchestrator.world import StopRequest, World

NAME = "trial"
DAYS = 17
WINDOWS = 3
LEASE_SECONDS = 600.0
REFERENCE = "trial-s11-reference"


def definition(**changes: Any) -> CampaignDefinition:
    """Three characters, one of which goes bankrupt, on two seeds: eight runs of three windows."""
    data: dict[str, Any] = {
        "name": NAME,
        "seeds": [11, 29],
        "baseline": "rule",
        "horizon_days": DAYS,
        "candidates": [
            {"id": "ada", "seat": 1, "policy": "price-follower"},
            {"id": "bob", "seat": 2, "policy": "growth"},
            {"id": "cy", "seat": 3, "policy": "overspender"},
            {"id": "rule", "policy": "rule"},
        ],
    }
    return parse_definition(data | changes, "trial.toml")


def no_model(candidate: ModelCandidate, seat: int) -> Ceo:
    """Seats nobody: the campaigns of these tests have no models."""
    raise AssertionError(f"{candidate.id} in seat {seat} is a model")


@dataclass
class Trial:
    """An open store with a campaign in it."""

    store: Store

    @classmethod
    def new(cls, directory: Path, **changes: Any) -> Self:
        planned = plan(definition(**changes))
        store = open_store(str(directory), create=True)
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        return cls(store)

    def key(self, run_id: str = REFERENCE) -> RunKey:
        return RunKey(NAME, run_id)

    def run(self, run_id: str = REFERENCE) -> RunStore:
        return self.store.run(self.key(run_id))

    def ceos(self, run_id: str = REFERENCE) -> dict[int, Ceo]:
        """The CEOs that the campaign has in a run's seats."""
        planned = self.store.catalogue.run(self.key(run_id)).planned
        return seated(self.store.catalogue.manifest(NAME), planned.lineup, no_model)

    def world(
        self,
        lease: Lease,
        run_id: str = REFERENCE,
        ceos: Mapping[int, Ceo] | None = None,
        stop: StopRequest | None = None,
    ) -> World:
        """The world of a run, with other CEOs in some seats if wanted."""
        return World(
            self.run(run_id),
            lease,
            self.store.catalogue.run(self.key(run_id)).planned,
            bound_scenario(self.store.catalogue.manifest(NAME)),
            {**self.ceos(run_id), **(ceos or {})},
            stop or StopRequest(),
        )

    def play(
        self,
        run_id: str = REFERENCE,
        ceos: Mapping[int, Ceo] | None = None,
        stop: StopRequest | None = None,
        owner: str = "a test",
    ) -> RunState:
        """Play a run from where it stands until it rests."""
        run = self.run(run_id)
        lease = run.acquire(owner, LEASE_SECONDS)
        try:
            return asyncio.run(self.world(lease, run_id, ceos, stop).play())
        finally:
            run.release(lease)

    def play_all(self) -> None:
        for row in self.store.catalogue.runs(NAME):
            assert self.play(row.key.run_id) is RunState.COMPLETED

    def digests(self, run_id: str = REFERENCE) -> list[str]:
        return [day.state_digest for day in self.run(run_id).days()]
