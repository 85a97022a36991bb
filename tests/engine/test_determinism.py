"""Equal inputs give equal bits: in other processes, on other versions, in matched runs
(market.md section 10)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.decision import CompanyDecision
from engine.records import DayRecord
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
from engine.state import WorldState, decode_state, encode_state
from engine.streams import MARKET, Streams
from tests.engine.golden import GOLDEN, WORLDS, golden_world
from tests.engine.script import actions_of, scripted_decisions, scripted_world
from tests.engine.worlds import decision

SCENARIO = default_scenario()
ROOT = Path(__file__).parent.parent.parent

MARKET_STREAMS = {
    "macro",
    "phase",
    "tender",
    *(f"{kind}:{name}" for kind in ("demand", "choice") for name in SCENARIO.segment_ids),
}
COMPANY_STREAMS = {
    "failures",
    "tickets",
    "support",
    "abandonment",
    "switching",
    "innovation",
    "research",
}


# --- golden digests -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(WORLDS)))
def test_golden_digests(number: int) -> None:
    """`python -m tests.engine.golden write` makes the file anew when a rule was meant to change."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["scenario"] == SCENARIO.digest
    assert golden["worlds"][number] == golden_world(SCENARIO, *WORLDS[number])


def test_golden_worlds_use_every_action_and_lose_a_company() -> None:
    used: set[str] = set()
    for seed, firms in WORLDS:
        streams = Streams(seed)
        state = initial_state(SCENARIO, streams, firms)
        while state.day < SCENARIO.horizon_days:
            decisions = scripted_decisions(SCENARIO, state)
            used |= actions_of(decisions)
            state = settle_window(SCENARIO, streams, state, decisions).state
    assert used == {"none", "innovation", "expand", "downsize", "cancel", "research", "bid"}
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["worlds"][0]["exits"]


# --- processes ----------------------------------------------------------------------------------

PROGRAM = """
from engine.scenario import default_scenario
from tests.engine.golden import chain
from tests.engine.script import scripted_world
for seed, firms in ((3, 4), (2**64, 2)):
    print(chain(scripted_world(default_scenario(), seed, firms, days=119)[1]))
"""


@cache
def digests_of_a_process(hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2
    return done.stdout


def test_hash_seeds_and_processes_do_not_matter() -> None:
    """The order of sets and dicts differs between these processes; the worlds do not."""
    first, second, third = map(digests_of_a_process, ("0", "1", "4242"))
    assert first == second == third
    assert len(set(first.split())) == 2


# --- the state is all there is --------------------------------------------------------------------


def test_a_world_goes_on_from_its_bytes() -> None:
    """State needs no generator in it: a new reader with new streams plays the same world on."""
    _, records = scripted_world(SCENARIO, 5, firms=4, days=140)
    state = initial_state(SCENARIO, Streams(5), 4)
    again: list[DayRecord] = []
    while state.day < 140:
        state = decode_state(encode_state(state))
        settled = settle_window(SCENARIO, Streams(5), state, scripted_decisions(SCENARIO, state))
        state = settled.state
        again += settled.days
    assert again == records


def test_worlds_can_be_played_in_turns_with_one_cache() -> None:
    """Two worlds of one seed share a Streams object without touching each other."""
    _, alone = scripted_world(SCENARIO, 5, firms=3, days=70)
    streams = Streams(5)
    worlds = [initial_state(SCENARIO, streams, firms) for firms in (3, 6)]
    records: list[DayRecord] = []
    while worlds[0].day < 70:
        for number in (1, 0):
            state = worlds[number]
            settled = settle_window(SCENARIO, streams, state, scripted_decisions(SCENARIO, state))
            worlds[number] = settled.state
            records += settled.days if number == 0 else []
    assert records == alone


def test_seeds_make_different_worlds() -> None:
    digests = {
        scripted_world(SCENARIO, seed, firms=2, days=7)[1][-1].state_digest for seed in range(6)
    }
    assert len(digests) == 6


# --- matched runs -------------------------------------------------------------------------------

Lineup = Callable[[Scenario, WorldState], Mapping[int, CompanyDecision | None]]


def played(
    lineup: Lineup, seed: int = 29, firms: int = 4, days: int = 140, streams: Streams | None = None
) -> list[DayRecord]:
    streams = streams or Streams(seed)
    state = initial_state(SCENARIO, streams, firms)
    records: list[DayRecord] = []
    while state.day < days:
        settled = settle_window(SCENARIO, streams, state, lineup(SCENARIO, state))
        state = settled.state
        records += settled.days
    return records


def another_in_seat_3(
    scenario: Scenario, state: WorldState
) -> Mapping[int, CompanyDecision | None]:
    """The script, but from day 35 on seat 3 sells at a loss and builds."""
    decisions = dict(scripted_decisions(scenario, state))
    if state.version >= 5 and state.firms[2].active:
        decisions[3] = decision(
            state,
            3,
            products={"B": {"price_cents": 4000, "promotion_cents": 0, "reorder_target": 900}},
            marketing={"mainstream": {"display": 9_000}},
        )
    return decisions


def shared(record: DayRecord) -> tuple[Any, ...]:
    """What the market alone decides about a day."""
    public = record.public
    awarded = [(award.tender_id, award.units) for award in public.awards]
    market = record.market
    return public.signal, public.opened, awarded, market.macro, market.phase, market.opportunities


def test_matched_runs_are_equal_until_the_first_difference() -> None:
    """With all decisions equal, equal days are bit-equal; the market's luck is shared to the
    end.
    """
    reference = played(scripted_decisions)
    replacement = played(another_in_seat_3)
    assert reference[:35] == replacement[:35]
    for old, new in zip(reference[35:], replacement[35:], strict=True):
        assert old.state_digest != new.state_digest
        assert shared(old) == shared(new)


class Recording(Streams):
    """Real luck that remembers who drew it and what came out."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: dict[tuple[str, int, int, int], list[float]] = {}

    def bounded(self, stream: str, seat: int, day: int, width: int) -> list[float]:
        return self._remember((stream, seat, day, -1), super().bounded(stream, seat, day, width))

    def open(self, stream: str, seat: int, day: int, count: int, part: int = 0) -> list[float]:
        values = super().open(stream, seat, day, count, part)
        return self._remember((stream, seat, day, part), values)

    def _remember(self, key: tuple[str, int, int, int], values: list[float]) -> list[float]:
        kept = self.drawn.get(key, [])
        self.drawn[key] = max(kept, list(values), key=len)
        return values


def test_a_differing_seat_leaves_the_luck_of_the_others_untouched() -> None:
    """Every draw that both runs made was the same, whatever the companies asked for before."""
    reference, replacement = Recording(29), Recording(29)
    played(scripted_decisions, streams=reference)
    played(another_in_seat_3, streams=replacement)
    both = reference.drawn.keys() & replacement.drawn.keys()
    assert len(both) > 3_000
    for key in both:
        old, new = reference.drawn[key], replacement.drawn[key]
        length = min(len(old), len(new))
        assert old[:length] == new[:length]


def test_every_draw_belongs_to_its_named_stream() -> None:
    """Market streams are shared, company streams are keyed by seat; there are no others."""
    streams = Recording(11)
    played(scripted_decisions, firms=8, streams=streams)
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for stream, seat, _, _ in streams.drawn:
        names[seat == MARKET].add(stream)
    assert names == {True: MARKET_STREAMS, False: COMPANY_STREAMS}
    for name in COMPANY_STREAMS:
        assert len({seat for stream, seat, _, _ in streams.drawn if stream == name}) > 3, name


def test_no_draw_is_used_for_two_purposes() -> None:
    """Streams, seats, days and parts have words of their own."""
    streams = Recording(11)
    played(scripted_decisions, firms=3, days=28, streams=streams)
    words = [word for values in streams.drawn.values() for word in values]
    assert len(words) == len(set(words))


def test_luck_follows_the_seat_not_the_number_of_companies() -> None:
    """A project started by seat 2 on day 14 and its research have the same luck in any lineup."""

    def starts(firms: int, busy: bool) -> tuple[Any, ...]:
        streams = Streams(7)
        state = initial_state(SCENARIO, streams, firms)
        for _ in range(2):
            others = scripted_decisions(SCENARIO, state) if busy else {}
            others.pop(2, None)
            state = settle_window(SCENARIO, streams, state, others).state
        start = decision(
            state, 2, innovation_tier=2, research=({"segment_id": "value", "level": 4},)
        )
        firm = settle_window(SCENARIO, streams, state, {2: start}).state.firms[1]
        return firm.innovation_projects, firm.pending_reports

    assert starts(2, busy=False) == starts(8, busy=True) == starts(5, busy=True)
