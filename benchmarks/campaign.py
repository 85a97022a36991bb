"""What two hosts on Ray gain over a plain loop, on the worlds of the rehearsal campaign.

Both play the same worlds and commit them in the same way, into a store of their own. Start-up is
left out: each is timed by the clock of its store, from the first world's beginning to the last
world's end. Prints one JSON object: ``speedup`` is worlds per second on the hosts over worlds per
second in the loop; ``peak_mib`` is the largest memory of this process and all that it started,
Ray included, while the campaign ran (proportional set size).
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psutil

# A file beside this one bears the name of a package: this folder must not be searched first.
sys.path = [
    folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent
]

from campaigns.definition import load_definition
from campaigns.plan import plan
from manifests.model import ModelCandidate
from orchestrator.actors.cluster import ray_options
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import Ceo, seated
from orchestrator.owners import own_name
from orchestrator.store import Store, open_store
from orchestrator.world import StopRequest, World

CAMPAIGN = "rehearsal"
HOSTS = 2
LEASE_SECONDS = 600.0
# To measure the memory of all Ray's processes takes 40 ms of processor time, which the hosts lack.
SAMPLE_SECONDS = 2.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with _store(Path(folder) / "loop") as store:
            asyncio.run(_play_in_a_loop(store))
            alone = _seconds(store)
        with _store(Path(folder) / "hosts") as store, _peak_memory() as peak:
            _play_on_hosts(store)
            together = _seconds(store)
    print(json.dumps({"speedup": round(alone / together, 3), "peak_mib": round(peak[0])}))


@contextmanager
def _store(folder: Path) -> Iterator[Store]:
    """A new store with the campaign in it."""
    planned = plan(load_definition(CAMPAIGN))
    with open_store(str(folder), create=True) as store:
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        yield store


async def _play_in_a_loop(store: Store) -> None:
    manifest = store.catalogue.manifest(CAMPAIGN)
    scenario = bound_scenario(manifest)
    for row in store.catalogue.runs(CAMPAIGN):
        run = store.run(row.key)
        lease = run.acquire(own_name(), LEASE_SECONDS)
        ceos = seated(manifest, row.planned.lineup, _no_model)
        await World(run, lease, row.planned, scenario, ceos, StopRequest()).play()
        run.release(lease)
        run.close()


def _no_model(candidate: ModelCandidate, _seat: int) -> Ceo:
    raise AssertionError(f"the rehearsal seats no model, but {candidate.id} is one")


def _play_on_hosts(store: Store) -> None:
    with ray_options(None) as options:
        # Ray reads its environment when it is imported.
        from orchestrator.actors.session import session

        place = (store.location, CAMPAIGN, HOSTS, None)
        with session(options, *place, lasting=False, announced=None) as running:
            running.begin()
            while running.ended(1.0) is None:
                pass


def _seconds(store: Store) -> float:
    """From the first world's beginning to the last world's end, by the store's clock."""
    begun, ended = [], []
    for row in store.catalogue.runs(CAMPAIGN):
        run = store.run(row.key)
        begun.append(next(run.checkpoints()).committed_at)
        finished = run.status().updated_at
        assert finished is not None
        ended.append(finished)
        run.close()
    return (max(ended) - min(begun)).total_seconds()


@contextmanager
def _peak_memory() -> Iterator[list[float]]:
    """Follow the memory of this process and its descendants; the one element is the peak in MiB."""
    peak = [0.0]
    done = Event()

    def follow() -> None:
        own = psutil.Process()
        while not done.wait(SAMPLE_SECONDS):
            used = 0
            for process in (own, *own.children(recursive=True)):
                with suppress(psutil.Error):
                    used += process.memory_full_info().pss
            peak[0] = max(peak[0], used / 2**20)

    follower = Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield peak
    finally:
        done.set()
        follower.join()


if __name__ == "__main__":
    main()
