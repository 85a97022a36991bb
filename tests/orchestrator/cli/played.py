"""Small campaigns in a store, played in this process by the same worlds that hosts play."""

import asyncio
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from campaigns.definition import parse_definition
from campaigns.plan import plan
from engine.scenario import default_scenario
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import seated
from orchestrator.store import RunKey, open_store
from orchestrator.world import StopRequest, World
from tests.orchestrator.trial import no_model

# With little money the overspender is bankrupt within days.
POOR = {"initial_cash_cents": 12_000_000, "horizon_days": 17}

PANEL = ("overspender", "growth", "harvester")


def poor_scenario(folder: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """A scenario file of 17 days, in three windows, for companies with little money."""
    file = folder / "poor.json"
    data = default_scenario().to_data() | POOR | dict(changes or {})
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def campaign_data(name: str, scenario: Path, **changes: Any) -> dict[str, Any]:
    """A campaign of three characters, each replaced by Rule in turn, on two seeds: 8 runs."""
    candidates = [
        {"id": f"the-{policy}", "seat": seat, "policy": policy}
        for seat, policy in enumerate(PANEL, start=1)
    ]
    data = {
        "name": name,
        "seeds": [3, 5],
        "baseline": "the-rule",
        "scenario": str(scenario),
        "candidates": [*candidates, {"id": "the-rule", "policy": "rule"}],
    }
    return data | changes


def play_runs(location: Path, name: str, run_ids: Collection[str]) -> None:
    """Play some runs of a campaign to their ends, one after the other."""
    with open_store(str(location)) as store:
        manifest = store.catalogue.manifest(name)
        for run_id in run_ids:
            row = store.catalogue.run(RunKey(name, run_id))
            run = store.run(row.key)
            lease = run.acquire("a test", 600)
            ceos = seated(manifest, row.planned.lineup, no_model)
            scenario = bound_scenario(manifest)
            world = World(run, lease, row.planned, scenario, ceos, StopRequest())
            asyncio.run(world.play())
            run.release(lease)


def play_campaign(store: Path, data: Mapping[str, Any], leave_out: Collection[str] = ()) -> None:
    """Create a campaign and play its runs to the end, without those that are left out."""
    planned = plan(parse_definition(data, "the campaign of a test"))
    with open_store(str(store), create=True) as opened:
        opened.catalogue.create_campaign(frozen(planned), planned.runs)
    wanted = [run.run_id for run in planned.runs if run.run_id not in leave_out]
    play_runs(store, planned.definition.name, wanted)
