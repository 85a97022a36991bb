"""A process that owns a stored run and has a model in its first seat."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from campaigns.definition import RecoveryPolicy
from engine.boundary import Boundary
from engine.scenario import default_scenario
from orchestrator.ceos import Closed, Window
from orchestrator.session.allowance import Allowance
from orchestrator.session.ceo import ModelCeo, ModelSeat, Threads
from orchestrator.session.desk import Desk
from orchestrator.session.events import Event, ToolReceipt, decode_event
from orchestrator.session.recovery import Recovery
from orchestrator.session.sql import QueryWorkers
from orchestrator.store import AttemptKey, Lease, RunStore, SessionStore
from providers.contract import UserMessage
from tests.orchestrator.session.attempts import (
    QUERIES,
    SEAT,
    STANDARD,
    FakeClock,
    OpenGate,
    Outcome,
    Script,
    call,
)
from tests.orchestrator.store import samples

FIRST: Final = AttemptKey(0, SEAT, 0)
BOOKS: Final = ThreadPoolExecutor(2, "books")


def write(path: str, content: str) -> Any:
    return call("write_file", path=path, content=content)


@dataclass
class Office:
    """One process that owns the run and has a model in the first seat."""

    run: RunStore
    lease: Lease
    folder: Path
    workers: QueryWorkers
    allowance: Allowance = STANDARD
    policy: RecoveryPolicy = "fresh-allowance"
    model: Script = field(default_factory=lambda: Script(FakeClock(), ()))
    heard: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        scenario = default_scenario()
        self.desk = Desk(self.run, scenario, {SEAT})
        self.ceo = ModelCeo(
            ModelSeat(
                SEAT,
                "identity",
                self.model,
                self.allowance,
                lambda *_: OpenGate(),
                self.heard.append,
            ),
            scenario,
            SessionStore(self.run),
            self.lease,
            self.workers,
            Threads(QUERIES, BOOKS),
            self.desk,
            Recovery(self.run, self.policy),
        )

    def window(
        self,
        stopping: Callable[[], bool] = lambda: False,
        hastened: Callable[[int], bool] = lambda _: False,
    ) -> Window:
        found = self.run.latest()
        assert found is not None
        view = Boundary(default_scenario(), found.state, found.elapsed)
        receipts = found.receipts.get(SEAT, ())
        return Window(view.observe(SEAT), found.state, receipts, stopping, hastened)

    def decide(
        self,
        *outcomes: Outcome,
        stopping: Callable[[], bool] = lambda: False,
        hastened: Callable[[int], bool] = lambda _: False,
    ) -> Closed:
        self.model.asked.clear()
        self.model.outcomes = outcomes
        self.model.__post_init__()
        return asyncio.run(self.ceo.decide(self.window(stopping, hastened)))

    def briefing(self) -> str:
        first = self.model.asked[0].messages[0]
        assert isinstance(first, UserMessage)
        return first.text

    def settle(self, version: int) -> None:
        """Whatever was decided, the window of the sample is what the world does."""
        self.run.commit_window(self.lease, samples.window(version))


def successor(office: Office, name: str = "host-2") -> Office:
    """What a new process makes of the same run."""
    lease = office.run.acquire(name, 0)
    folder = office.folder.with_name(name)
    return Office(office.run, lease, folder, office.workers, office.allowance, office.policy)


def receipts(office: Office, key: AttemptKey = FIRST) -> list[ToolReceipt]:
    events = map(decode_event, SessionStore(office.run).events(key))
    return [event for event in events if isinstance(event, ToolReceipt)]
