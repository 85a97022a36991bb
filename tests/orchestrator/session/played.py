"""A whole run of mixed characters, boundary by boundary, as a store would have it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from engine.boundary import Boundary
from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.base import make_policy
from engine.records import ActionReceipt, DayRecord
from engine.scenario import Scenario, default_scenario
from engine.settle import initial_state, settle_window
from engine.state import WorldState
from engine.streams import Streams
from orchestrator.session.books import Books
from tests.engine.script import scripted_decisions

SCENARIO: Final = default_scenario()

# By seat; the other seats follow the script, which uses every action, and seat 8 exits.
POLICIES: Final = {1: "growth", 2: "tender-hunter", 4: "balanced", 6: "quality-leader"}
SEATS: Final = 8


@dataclass(frozen=True)
class Moment:
    """One boundary: the state, and what the window that led to it left behind."""

    state: WorldState
    elapsed: tuple[DayRecord, ...]
    receipts: dict[int, list[ActionReceipt]]

    @property
    def seats(self) -> list[int]:
        return [seat for seat, firm in enumerate(self.state.firms, start=1) if firm.active]

    def observe(self, seat: int, scenario: Scenario = SCENARIO) -> Observation:
        return Boundary(scenario, self.state, self.elapsed).observe(seat)


def moments(scenario: Scenario, seed: int) -> Iterator[Moment]:
    """Every boundary of a run at which companies decide."""
    streams = Streams(seed)
    policies = {seat: make_policy(name, {}) for seat, name in POLICIES.items()}
    moment = Moment(initial_state(scenario, streams, SEATS), (), {})
    while moment.state.day < scenario.horizon_days:
        yield moment
        decisions: dict[int, CompanyDecision | None] = scripted_decisions(scenario, moment.state)
        for seat, policy in policies.items():
            decisions[seat] = policy.decide(moment.observe(seat, scenario))
        settled = settle_window(scenario, streams, moment.state, decisions)
        moment = Moment(settled.state, tuple(settled.days), settled.receipts)


@cache
def run() -> tuple[Moment, ...]:
    """The run that the tests share; nobody may change it."""
    return tuple(moments(SCENARIO, 11))


def books_of(folder: Path, seat: int, windows: int) -> Books:
    """A company's books after so many boundaries of the shared run."""
    books = Books(folder / f"company-{seat}.db")
    *past, last = run()[:windows]
    books.append((moment.observe(seat), moment.receipts.get(seat, [])) for moment in past)
    books.open_window(last.observe(seat), last.receipts.get(seat, []))
    return books
