"""What 240 model sessions at once cost the client, against the rehearsal gateway.

Thirty worlds of eight models each decide one window; the gateway delays every reply by a second.
Prints one JSON object: ``peak_in_flight`` is the gateway's own count of open requests;
``client_cpu_ms_per_reply`` is the processor time of the hosts and of what they started, books,
briefings and tools included, over the number of replies, and ``.._500_chunks`` the same when every
reply streams in 500 chunks; ``hosts_pss_mib`` is their largest memory (proportional set size);
``start_s`` is the time from the command to the first request, and ``hosts_start_cpu_s`` the
processor time of the hosts until then, which is in the cost of a reply here and is nothing in a
campaign of hours; ``window_open_ratio`` is the time to open books and briefing on day 490 over that
on day 70.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import psutil

from benchmarks.playing import create
from campaigns.definition import parse_definition
from engine.boundary import Boundary
from engine.policies.base import make_policy
from engine.records import DayRecord
from engine.scenario import default_scenario
from engine.settle import initial_state, settle_window
from engine.streams import Streams
from orchestrator.actors.cluster import ray_options
from orchestrator.session.allowance import Allowance
from orchestrator.session.books import Books
from orchestrator.session.briefing import briefing
from orchestrator.store import open_store
from providers.rehearsal.agents import AGENTS
from providers.rehearsal.embedded import RunningGateway, start_gateway
from providers.rehearsal.options import GatewayOptions

CAMPAIGN = "sessions"
RUNS = 30
SEATS = 8
HOSTS = 2
DELAY_SECONDS = 1.0
MANY_CHUNKS = 500
LOOK_SECONDS = 0.1
# To measure the memory of the hosts takes 40 ms of processor time, which they lack.
MEASURE_SECONDS = 2.0
EARLY_DAY, LATE_DAY = 70, 490
OPENINGS = 5

URL_VARIABLE, KEY_VARIABLE = "CEO_ARENA_REHEARSAL_URL", "CEO_ARENA_REHEARSAL_KEY"


class Load(NamedTuple):
    """What one campaign cost its hosts."""

    peak_in_flight: int
    cpu_ms_per_reply: float
    pss_mib: float
    start_seconds: float
    start_cpu_seconds: float


def main() -> None:
    plain = load_alone(GatewayOptions(reply_delay_seconds=DELAY_SECONDS))
    chunked = load_alone(
        GatewayOptions(reply_delay_seconds=DELAY_SECONDS, chunks_per_reply=MANY_CHUNKS)
    )
    print(
        json.dumps(
            {
                "peak_in_flight": plain.peak_in_flight,
                "client_cpu_ms_per_reply": round(plain.cpu_ms_per_reply, 2),
                "client_cpu_ms_per_reply_500_chunks": round(chunked.cpu_ms_per_reply, 2),
                "hosts_pss_mib": round(max(plain.pss_mib, chunked.pss_mib)),
                "start_s": round(plain.start_seconds, 2),
                "hosts_start_cpu_s": round(plain.start_cpu_seconds, 2),
                "window_open_ratio": round(window_open_ratio(), 2),
            }
        )
    )


def load_alone(options: GatewayOptions) -> Load:
    """`load` in a process of its own: Ray starts only once in a process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(load, options).result()


def load(options: GatewayOptions) -> Load:
    """Play the campaign against a gateway with these options."""
    with start_gateway(options) as gateway, tempfile.TemporaryDirectory() as folder:
        os.environ |= {URL_VARIABLE: gateway.base_url, KEY_VARIABLE: "rehearsal"}
        with open_store(str(Path(folder) / "store"), create=True) as store:
            create(store, parse_definition(definition(), "the benchmark"))
            began = time.monotonic()
            with ray_options(None) as ray, followed(gateway, began) as seen:
                # Ray reads its environment when it is imported.
                from orchestrator.actors.session import session

                place = (store.location, CAMPAIGN, HOSTS, None)
                with session(ray, *place, lasting=False, announced=None) as running:
                    running.begin()
                    while running.ended(LOOK_SECONDS) is None:
                        pass
                    seen.measure()
        counted = gateway.statistics()
        return Load(
            counted["peak_in_flight"],
            seen.cpu_seconds * 1000 / counted["replies"],
            seen.pss_mib,
            seen.start_seconds,
            seen.start_cpu_seconds,
        )


def definition() -> dict[str, object]:
    """Thirty seeds of one lineup of eight scripted agents, one window each."""
    models = sorted(AGENTS)[:SEATS]
    return {
        "name": CAMPAIGN,
        "release": "benchmark",
        "horizon_days": 7,
        "seeds": list(range(1, RUNS + 1)),
        "lineups": ["reference"],
        "candidates": [
            {
                "id": model,
                "seat": seat,
                "route": {
                    "protocol": "chat",
                    "model": model,
                    "native_ceiling": 65_536,
                    "endpoint_env": URL_VARIABLE,
                    "credentials": [KEY_VARIABLE],
                },
            }
            for seat, model in enumerate(models, start=1)
        ],
    }


class Seen:
    """What the hosts of this process, and what they started, used until they were last measured."""

    def __init__(self) -> None:
        self.pss_mib = 0.0
        self.start_seconds = 0.0
        self.start_cpu_seconds = 0.0
        self._used: dict[int, float] = {}

    @property
    def cpu_seconds(self) -> float:
        return sum(self._used.values())

    def measure(self) -> None:
        pss = 0
        for process in hosts():
            with suppress(psutil.Error):
                times = process.cpu_times()
                self._used[process.pid] = times.user + times.system
                pss += process.memory_full_info().pss
        self.pss_mib = max(self.pss_mib, pss / 2**20)


@contextmanager
def followed(gateway: RunningGateway, began: float) -> Iterator[Seen]:
    """Follow the hosts of this process: when they send the first request, and what they use."""
    seen, done = Seen(), Event()

    def follow() -> None:
        while not gateway.statistics()["requests"] and not done.wait(LOOK_SECONDS):
            pass
        seen.start_seconds = time.monotonic() - began
        seen.measure()
        seen.start_cpu_seconds = seen.cpu_seconds
        while not done.wait(MEASURE_SECONDS):
            seen.measure()

    follower = Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield seen
    finally:
        done.set()
        follower.join()


def hosts() -> list[psutil.Process]:
    """The host processes that this process's Ray runs, and their children."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any("Host" in part for part in process.cmdline()[:1]):
                found += [process, *process.children(recursive=True)]
    return found


def window_open_ratio() -> float:
    """Play a world of Rule and open one company's books at every boundary; day 490 over day 70."""
    scenario, streams = default_scenario(), Streams(11)
    rule = make_policy("rule", {})
    allowance = Allowance(32, 131_072, 3_600, 65_536, 1_024)
    state = initial_state(scenario, streams, SEATS)
    elapsed: list[DayRecord] = []
    seconds: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        copies = [Books(Path(folder) / f"{number}.db") for number in range(OPENINGS)]
        while state.day <= LATE_DAY:
            view = Boundary(scenario, state, elapsed)
            observation = view.observe(1)
            times = []
            for books in copies:
                start = time.perf_counter()
                books.open_window(observation, ())
                briefing(observation, (), books.preceding, allowance, None)
                times.append(time.perf_counter() - start)
            seconds[state.day] = statistics.median(times)
            decisions = {seat: rule.decide(view.observe(seat)) for seat in range(1, SEATS + 1)}
            settled = settle_window(scenario, streams, state, decisions)
            state, elapsed = settled.state, settled.days
    return seconds[LATE_DAY] / seconds[EARLY_DAY]


if __name__ == "__main__":
    main()
