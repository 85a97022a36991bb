"""Cost of the economy: one 8-firm, 500-day, all-Rule world with all records and daily digests.

Prints one JSON object: ``ratio`` is the world's time over that of 1,000,000 ``math.exp`` calls in
a Python loop, both the best of several interleaved rounds in this process; ``growth`` is the time
of the last 50 days over that of the first 50.
"""

from __future__ import annotations

import json
import math
from time import perf_counter

import benchmarks  # noqa: F401 - comes before the packages; see there
from engine.boundary import Boundary
from engine.decision import CompanyDecision
from engine.policies.base import make_policy
from engine.records import DayRecord
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
from engine.streams import Streams

ROUNDS = 7
FIRMS = 8
SEED = 11
COMPARED_DAYS = 50


def calibration() -> float:
    """Seconds for a million ``math.exp`` calls."""
    start = perf_counter()
    for number in range(1_000_000):
        math.exp(number * 1e-6)
    return perf_counter() - start


def world(scenario: Scenario) -> list[float]:
    """Seconds of each window of one world, decisions included."""
    rule = make_policy("rule", {})
    streams = Streams(SEED)
    state = initial_state(scenario, streams, FIRMS)
    elapsed: list[DayRecord] = []
    seconds = []
    while state.day < scenario.horizon_days:
        start = perf_counter()
        boundary = Boundary(scenario, state, elapsed)
        decisions: dict[int, CompanyDecision | None] = {
            seat: rule.decide(boundary.observe(seat))
            for seat, firm in enumerate(state.firms, start=1)
            if firm.active
        }
        settlement = settle_window(scenario, streams, state, decisions)
        state, elapsed = settlement.state, settlement.days
        seconds.append(perf_counter() - start)
    return seconds


def main() -> None:
    scenario = default_scenario()
    calibrations, worlds = [], []
    for _ in range(ROUNDS):
        calibrations.append(calibration())
        worlds.append(world(scenario))
    best = [min(window) for window in zip(*worlds, strict=True)]
    compared = COMPARED_DAYS // scenario.window_days
    ratio = min(sum(seconds) for seconds in worlds) / min(calibrations)
    growth = sum(best[-1 - compared : -1]) / sum(best[:compared])
    print(json.dumps({"ratio": round(ratio, 3), "growth": round(growth, 3)}))


if __name__ == "__main__":
    main()
