"""What two hosts on Ray gain over a plain loop, on the worlds of the rehearsal campaign.

Both play the same worlds and commit them in the same way, into a store of their own. Start-up is
left out: each is timed by the clock of its store, from the first world's beginning to the last
world's end. Prints one JSON object: ``speedup`` is worlds per second on the hosts over worlds per
second in the loop; ``peak_mib`` is the largest memory of this process and all that it started,
Ray included, while the campaign ran (proportional set size). With ``--days`` the
worlds are shorter.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psutil

from benchmarks.playing import chosen_form, create, play
from campaigns.definition import CampaignDefinition
from orchestrator.actors.cluster import ray_options
from orchestrator.store import Store, open_store

CAMPAIGN = "rehearsal"
HOSTS = 2
# To measure the memory of all Ray's processes takes 40 ms of processor time, which the hosts lack.
SAMPLE_SECONDS = 2.0


def main() -> None:
    definition = chosen_form(CAMPAIGN, __doc__)
    with tempfile.TemporaryDirectory() as folder:
        with _store(Path(folder) / "loop", definition) as store:
            for row in store.catalogue.runs(CAMPAIGN):
                play(store, row.key)
            alone = _seconds(store)
        with _store(Path(folder) / "hosts", definition) as store, _peak_memory() as peak:
            _play_on_hosts(store)
            together = _seconds(store)
    print(json.dumps({"speedup": round(alone / together, 3), "peak_mib": round(peak[0])}))


@contextmanager
def _store(folder: Path, definition: CampaignDefinition) -> Iterator[Store]:
    """A new store with the campaign in it."""
    with open_store(str(folder), create=True) as store:
        create(store, definition)
        yield store


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
