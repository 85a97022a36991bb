"""When a campaign will be done, by what its windows took so far. Pure."""

import heapq
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a run has left, in scheduling order: windows to settle, how long each of its last ones
    took, in seconds, empty before it has settled two, and how long the present one is held open.
    """

    windows: int
    took: Sequence[float]
    active: bool
    open_seconds: float = 0.0


def seconds_left(runs: Sequence[Remaining], slots: int) -> float | None:
    """Seconds until the last of the runs is done when each of `slots` plays one at a time; None
    when nothing is left, or nothing has been settled from which it could be told.

    A run goes on at the median of its last windows, so that a pause between two of them counts for
    nothing; one that has none, at the median of all others. A window that is open for longer than
    that is expected to stay open for as long again.
    """
    known = [seconds for run in runs for seconds in run.took]
    if not known or not any(run.windows for run in runs):
        return None
    usual = statistics.median(known)
    lasts = [(run.active, _lasts(run, usual)) for run in runs if run.windows]
    free = [0.0] * max(slots, 1)
    for _, seconds in sorted(lasts, key=lambda last: not last[0]):
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def _lasts(run: Remaining, usual: float) -> float:
    pace = statistics.median(run.took) if run.took else usual
    return max(pace, run.open_seconds) + (run.windows - 1) * pace
