"""A lively world, to look at what is shown of it and what is not."""

from functools import cache

import msgspec

from engine.records import DayRecord
from engine.scenario import default_scenario
from engine.settle import initial_state, settle_window
from engine.state import (
    Bid,
    InnovationProject,
    PendingReport,
    WorldState,
    encode_state,
)
from engine.streams import Streams
from tests.engine.script import scripted_decisions

SCENARIO = default_scenario()
SEAT = 4


@cache
def _busy() -> tuple[bytes, tuple[bytes, ...]]:
    streams = Streams(11)
    state = initial_state(SCENARIO, streams, 8)
    days: list[DayRecord] = []
    while state.day < 112:
        settled = settle_window(SCENARIO, streams, state, scripted_decisions(SCENARIO, state))
        state, days = settled.state, settled.days
    # Sealed bids of the boundary, as they stand while other companies still think.
    state.tenders[0].bids = [Bid(2, 3900), Bid(SEAT, 4100), Bid(7, 4200)]
    return encode_state(state), tuple(msgspec.msgpack.encode(day) for day in days)


def busy_world() -> tuple[WorldState, list[DayRecord]]:
    """Day 112 of a lively world: a tender is open, one company has left; a fresh copy each time."""
    encoded, days = _busy()
    state = msgspec.msgpack.decode(encoded, type=WorldState)
    firm = state.firms[SEAT - 1]
    firm.innovation_projects = [InnovationProject("innovation-070", 2, 70, 190, 6_543_210)]
    firm.pending_reports = [PendingReport("report-105-1", 1, 5, 105, 119, [5.0, 0.8, -0.2])]
    return state, [msgspec.msgpack.decode(day, type=DayRecord) for day in days]
