"""How soon 27 runs are at work again, early and late in a campaign of 72 windows.

    python benchmarks/resume.py
    python benchmarks/resume.py --store postgresql://user@host/database

Two campaigns differ only in how far they are: in one every run stands at its third boundary, in the
other before its last window. For each a new process opens the store and brings every run to where
all of its companies decide: the lease taken, the boundary read, and for every company what its
model is told. Prints one JSON object: the median of several cold
starts in seconds, `seconds_early` and `seconds_late`. Ray and models are left out, because
neither depends on how far a run is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.playing import create, no_model
from campaigns.definition import parse_definition
from engine.boundary import Boundary
from orchestrator.bound import bound_scenario
from orchestrator.ceos import Ceo, Closed, Window, seated
from orchestrator.lifecycle import RunState
from orchestrator.owners import own_name
from orchestrator.session.desk import Desk
from orchestrator.store import RunRow, Store, open_store
from orchestrator.world import StopKind, StopRequest, World

RUNS = 27
WINDOWS = 72
STARTS = 3
LEASE_SECONDS = 1.0
AT_ONCE = 4
PANEL = (
    *("balanced", "discounter", "growth", "harvester"),
    *("price-follower", "quality-leader", "rule", "tender-hunter"),
)
STAGES = {"early": 2, "late": WINDOWS - 1}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--store", metavar="URL", help="an empty database instead of a directory")
    options.add_argument("--resume", choices=STAGES, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.resume is not None:
        print(_resume(chosen.store, chosen.resume))
        return
    with _place(chosen.store) as location:
        for stage, windows in STAGES.items():
            _play(location, stage, windows)
        seconds = {f"seconds_{stage}": _measured(location, stage) for stage in STAGES}
    print(json.dumps(seconds))


@contextmanager
def _place(location: str | None) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield location or str(Path(folder) / "store")


def _play(location: str, stage: str, windows: int) -> None:
    """Create a campaign and bring each of its runs to the boundary after so many windows."""
    data = {
        "name": stage,
        "seeds": list(range(1, RUNS + 1)),
        "lineups": ["reference"],
        "horizon_days": WINDOWS * 7,
        "candidates": [
            {"id": f"the-{policy}", "seat": seat, "policy": policy}
            for seat, policy in enumerate(PANEL, start=1)
        ],
    }
    with open_store(location, create=True) as store:
        create(store, parse_definition(data, "the campaign of the benchmark"))
        manifest = store.catalogue.manifest(stage)
        scenario = bound_scenario(manifest)
        for row in store.catalogue.runs(stage):
            run, stop = store.run(row.key), StopRequest()
            lease = run.acquire(own_name(), LEASE_SECONDS)
            ceos = {
                seat: _Until(ceo, windows, stop)
                for seat, ceo in seated(manifest, row.planned.lineup, no_model).items()
            }
            world = World(run, lease, row.planned, scenario, ceos, stop)
            assert asyncio.run(world.play()) is RunState.RUNNING
            run.release(lease)
            run.close()


class _Until:
    """A CEO that lets its run be left after so many windows."""

    def __init__(self, ceo: Ceo, windows: int, stop: StopRequest) -> None:
        self.identity = ceo.identity
        self._ceo = ceo
        self._windows = windows
        self._stop = stop

    async def decide(self, window: Window) -> Closed:
        if window.state.version == self._windows - 1:
            self._stop.ask(StopKind.LEAVE, "")
        return await self._ceo.decide(window)


def _measured(location: str, stage: str) -> float:
    """The median of some cold starts, in seconds."""
    command = [sys.executable, __file__, "--store", location, "--resume", stage]
    times = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(STARTS)
    ]
    return round(statistics.median(times), 3)


def _resume(location: str, stage: str) -> float:
    """Bring all runs of a campaign back to work in this process; how long it took."""
    begun = time.perf_counter()
    with open_store(location) as store:
        rows = store.catalogue.runs(stage)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            desks = list(threads.map(partial(_begin, store), rows))
        seconds = time.perf_counter() - begun
        assert len(desks) == RUNS
        for desk in desks:
            desk.close()
        for row in rows:
            store.run(row.key).release(store.run(row.key).acquire(own_name(), LEASE_SECONDS))
    return seconds


def _begin(store: Store, row: RunRow) -> Desk:
    run = store.run(row.key)
    run.acquire(own_name(), LEASE_SECONDS)
    scenario = bound_scenario(store.catalogue.manifest(row.key.campaign))
    found = run.latest()
    assert found is not None
    seats = {seat for seat, firm in enumerate(found.state.firms, start=1) if firm.active}
    desk = Desk(run, scenario, seats)
    view = Boundary(scenario, found.state, found.elapsed)
    for seat in sorted(seats):
        receipts = found.receipts.get(seat, ())
        shown = view.observe(seat)
        desk.preceding(Window(shown, found.state, receipts, lambda: False, lambda _attempt: False))
    return desk


if __name__ == "__main__":
    main()
