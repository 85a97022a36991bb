"""Attempts at a company-window for tests: a clock to turn, a model that speaks by a script, and a
journal in memory.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from engine.scenario import default_scenario
from engine.settle import initial_state
from engine.state import WorldState
from engine.streams import Streams
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import Allowance
from orchestrator.session.events import Event, ToolReceipt, decode_event, encode_event
from orchestrator.session.files import PrivateFiles
from orchestrator.session.gate import BreakerOpen, Pass
from orchestrator.session.loop import Gate, Opening, Session
from orchestrator.session.sql import Parameters, QueryRefused, QueryResult
from orchestrator.session.state import SessionState
from orchestrator.session.tools.context import ToolContext
from providers.contract import (
    Fault,
    ProviderFault,
    Reply,
    Request,
    StopKind,
    ToolCall,
    Usage,
    UserMessage,
)

SEAT: Final = 1
SCENARIO: Final = default_scenario()
WORLD: Final[WorldState] = initial_state(SCENARIO, Streams(11), 2)
STANDARD: Final = Allowance(
    replies=32,
    output_tokens=131_072,
    seconds=3_600,
    native_ceiling=128_000,
    smallest_ceiling=1_024,
)
OPENING: Final = Opening("You are a CEO.", "Day 0.", STANDARD, PrivateFiles(), "trial/run-1/v0")
QUERIES: Final = ThreadPoolExecutor(2, "queries")

TRANSIENT: Final = Fault(kind="transient", message="Overloaded.", status=503)
BAD_REQUEST: Final = Fault(kind="bad_request", message="Unknown field.", status=400)
UNREADABLE: Final = Fault(kind="protocol", message="Not JSON.", maybe_billed=True)
REFUSED: Final = Fault(kind="refused", message="The key is not valid.", status=401)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id="", name=name, arguments=json.dumps(arguments))


SEAL: Final = call("seal_decision")
LOOK: Final = call("query_company", sql="SELECT 1")
PREVIEW: Final = call("preview_decision")
PRICE: Final = call("set_product", product_id="A", price_cents=4_200)


def reply(
    *calls: ToolCall,
    tag: str = "call",
    tokens: int | None = 100,
    stop: StopKind | None = None,
    text: str = "",
    only_reasoning: bool = False,
) -> Reply:
    """A whole reply; calls without an id get one from the tag. No tokens: no usage."""
    named = tuple(
        each if each.call_id else msgspec.structs.replace(each, call_id=f"{tag}-{number}")
        for number, each in enumerate(calls, start=1)
    )
    kind: StopKind = stop or ("tool_calls" if calls else "finished")
    return Reply(
        native=json.dumps({"tag": tag, "text": text, "calls": [each.name for each in calls]}),
        text=text,
        tool_calls=named,
        stop=kind,
        stop_reason=kind,
        usage=None if tokens is None else Usage(1_000, 900, tokens, tokens // 2),
        requested_model="m",
        returned_model="m",
        request_id=None,
        fingerprint=None,
        latency_seconds=1.0,
        first_token_seconds=None,
        has_reasoning=only_reasoning,
        is_only_reasoning=only_reasoning,
    )


@dataclass
class FakeClock:
    """Time that passes when somebody sleeps or a test turns it; the date runs with it."""

    seconds: float = 1_000_000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> float:
        return 1_700_000_000.0 + self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


Outcome = Reply | Fault | Exception


@dataclass
class Script:
    """A model whose every answer is written down, each taking so many seconds."""

    clock: FakeClock
    outcomes: Iterable[Outcome]
    seconds: float = 0.0
    asked: list[Request] = field(default_factory=list)
    within: list[float | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._outcomes = iter(self.outcomes)

    def wire(self, request: Request) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(request, name=""))

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        assert body == self.wire(request)
        self.asked.append(request)
        self.within.append(within_seconds)
        self.clock.seconds += self.seconds
        await asyncio.sleep(0)
        outcome = next(self._outcomes)
        if isinstance(outcome, Fault):
            raise ProviderFault(outcome)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def close(self) -> None:
        pass


@dataclass
class OpenGate:
    """A gate that lets everything pass unless a test closes it, and notes what it is told."""

    answers: list[BreakerOpen] = field(default_factory=list)
    closed_with: list[Reply | Fault | None] = field(default_factory=list)
    paused: list[tuple[str, str]] = field(default_factory=list)

    async def enter(
        self, ordinal: int, request_bytes: int, output_tokens: int
    ) -> Pass | BreakerOpen | None:
        assert ordinal > 0
        assert request_bytes > 0
        assert output_tokens > 0
        return self.answers.pop(0) if self.answers else Pass(self, None, None, None, tries=False)

    def cost(self, outcome: Reply | Fault) -> int | None:
        raise AssertionError(f"nothing here has a price: {outcome}")

    async def leave(self, given: Pass, outcome: Reply | Fault | None) -> None:
        del given
        self.closed_with.append(outcome)

    async def pause_route(self, cause: str, reason: str) -> None:
        self.paused.append((cause, reason))


@dataclass
class MemoryJournal:
    """A journal that keeps events in their journaled form."""

    bodies: list[bytes] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    rested: bool = False

    def load(self) -> list[Event]:
        return [decode_event(body) for body in self.bodies]

    def append(self, event: Event, microdollars: int | None = None) -> None:
        self.bodies.append(encode_event(event))
        if microdollars is not None:
            self.costs.append(microdollars)

    def has_rested(self) -> bool:
        return self.rested

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.load()]


def no_rows(
    sql: str, parameters: Parameters | None, row_limit: int | None
) -> QueryResult | QueryRefused:
    del sql, parameters, row_limit
    return QueryResult('{"columns":[],"rows":[]}', 0, False)


def context(state: SessionState) -> ToolContext:
    return ToolContext(
        SCENARIO, WORLD, SEAT, state.draft, state.files, no_rows, finalizing=state.final
    )


@dataclass
class Attempt:
    """One attempt, played in as many lives as a test likes."""

    outcomes: Iterable[Outcome] = ()
    allowance: Allowance = STANDARD
    seconds_each: float = 0.0
    clock: FakeClock = field(default_factory=FakeClock)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    stopping: Callable[[], bool] = lambda: False
    beaten: float = 0.0

    def __post_init__(self) -> None:
        self.model = Script(self.clock, self.outcomes, self.seconds_each)
        self.gate: Gate = OpenGate()
        self.opening = replace(OPENING, allowance=self.allowance)

    def session(self, found: Callable[[SessionState], ToolContext] = context) -> Session:
        return Session(
            self.opening,
            self.journal,
            self.model,
            self.gate,
            found,
            self.clock,
            lambda: 1.0,
            self.stopping,
            QUERIES,
            self.beaten,
        )

    def play(self) -> tuple[CompanyWindowStatus, SessionState]:
        """One life of it, until it ends or rests."""
        session = self.session()
        status, self.reason = asyncio.run(session.run())
        return status, session.state

    def results(self) -> list[dict[str, Any]]:
        """What the tools answered, in order."""
        return [
            json.loads(event.text) if event.text.startswith("{") else {"text": event.text}
            for event in self.journal.load()
            if isinstance(event, ToolReceipt)
        ]


def said(state: SessionState) -> list[str]:
    """What the harness said in a conversation after the briefing."""
    return [each.text for each in state.messages[1:] if isinstance(each, UserMessage)]
