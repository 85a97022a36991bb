"""The loop of a company-window: read the state, perform one step, journal it, fold it in.

A reply is journaled before any of its calls run, an intent before its request is sent, and a call's
effect with its receipt. What is not journaled did not happen, so that whoever opens the journal
next goes on from the same state (runtime.md section 3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_fixed,
)

from engine.decision import CompanyDecision
from manifests.canonical import digest_bytes
from manifests.errors import IntegrityError, StoreError
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import NOTHING, Allowance, Use, time_is_up
from orchestrator.session.cancelling import given_a_moment, undisturbed
from orchestrator.session.events import (
    Answered,
    Asked,
    Closed,
    Corrected,
    Event,
    Failed,
    FinalizationBegan,
    Halted,
    Interrupted,
    Resumed,
    ToolReceipt,
    WaitBegan,
    WaitEnded,
    WindowOpened,
)
from orchestrator.session.files import PrivateFiles
from orchestrator.session.gate import BreakerOpen, Pass
from orchestrator.session.looking import Clock, waited_out
from orchestrator.session.state import SessionState, apply, fold
from orchestrator.session.steps import (
    QUERY,
    Ask,
    Await,
    BeginFinalization,
    Close,
    Correct,
    Retry,
    Run,
    Step,
    ending,
    next_step,
)
from orchestrator.session.tools.context import ToolContext, ToolOutcome
from orchestrator.session.tools.registry import run_tool, tool_definitions, tools_hash
from providers.contract import Fault, Provider, ProviderFault, Reply, Request
from providers.retry import Stop, decide

_SLEEP_SECONDS: Final = 1.0
"""How long a reply waits before it is offered to the journal again."""

_TRIES_TO_KEEP: Final = 120
"""How often a reply is offered to a journal that cannot take it: for two minutes or more."""


class Journal(Protocol):
    """The durable events of one attempt. Its methods block; they run in a thread."""

    def load(self) -> list[Event]:
        """All events so far, in order."""
        ...

    def append(self, event: Event, microdollars: int | None = None) -> None:
        """Commit one event and what it changes in the private files, in one transaction.

        ``microdollars`` is what a request may cost at most, with its intent, and what it did cost,
        with its end; None where it has no price, or nobody knows.

        Raises LeaseLost, after which nothing may be done any more, and StoreError, after which the
        same event may be tried again.
        """
        ...

    def has_rested(self) -> bool:
        """Whether the run was at rest since the last event, so that a person set it going again."""
        ...


class Gate(Protocol):
    """What a request passes before it is sent; `orchestrator.session.gate` has the one there is."""

    async def enter(
        self, ordinal: int, request_bytes: int, output_tokens: int
    ) -> Pass | BreakerOpen | None: ...

    async def pause_route(self, cause: str, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """What an attempt begins with: the prompt, the briefing, the allowance, the private files.

    ``name`` tells the attempt from every other one of a store, in printable ASCII; its requests
    bear it. ``used`` is what earlier attempts have used of the allowance.
    """

    system: str
    briefing: str
    allowance: Allowance
    files: PrivateFiles
    name: str
    used: Use = NOTHING


class Session:
    """One attempt at one company-window."""

    def __init__(
        self,
        opening: Opening,
        journal: Journal,
        provider: Provider,
        gate: Gate,
        context: Callable[[SessionState], ToolContext],
        clock: Clock,
        chance: Callable[[], float],
        stopping: Callable[[], bool],
        query_threads: Executor,
        beaten_seconds: float = 0.0,
    ) -> None:
        """``context`` makes what the tools find in a state. ``chance`` gives uniforms that spread
        the back-offs. ``stopping`` says whether to rest at the next step. ``query_threads`` are for
        queries, which take longer than anything else that is done in a thread. ``beaten_seconds``
        is the active time of the last heartbeat, to which a time that ended without a word is
        charged.
        """
        self._opening = opening
        self._journal = journal
        self._provider = provider
        self._gate = gate
        self._context = context
        self._clock = clock
        self._chance = chance
        self._stopping = stopping
        self._query_threads = query_threads
        self._state = SessionState(files=opening.files)
        self._began: float | None = None
        self._stands_since: float | None = None
        self._used_before = max(beaten_seconds, opening.used.seconds)

    @property
    def state(self) -> SessionState:
        """Where the attempt stands."""
        return self._state

    def active_seconds(self) -> float:
        """The active time of the attempt until now; it runs from when the journal was read, and
        stands while a request queues for its turn, or a reply for the journal.
        """
        if self._began is None:
            return self._used_before
        until = self._clock.monotonic() if self._stands_since is None else self._stands_since
        return self._used_before + until - self._began

    async def run(self) -> tuple[CompanyWindowStatus, str]:
        """Go on until the attempt is closed, also from the journal of another process; its status
        and the reason.

        With ``open``, because it is to rest, and with ``provider_error`` it is not closed: it goes
        on when somebody runs it again, after a provider error only when a person has let it.
        Raises LeaseLost and StoreError from the journal; nothing is lost then. Raises
        IntegrityError when the journal is not that of this window.
        """
        await self._recover()
        while (step := next_step(self._state)) is not None:
            if self._state.halted is not None:
                return CompanyWindowStatus.PROVIDER_ERROR, self._state.halted.reason
            if self._stopping():
                return CompanyWindowStatus.OPEN, "the run is to rest"
            await self._perform(step)
        assert self._state.closed is not None
        return self._state.closed.status, self._state.closed.reason

    async def _recover(self) -> None:
        events, self._state = await asyncio.to_thread(self._loaded)
        self._used_before = max(self._state.use.seconds, self._used_before)
        self._began = self._clock.monotonic()
        if not events:
            await self._happen(self._opened(self.active_seconds()))
        elif self._state.asked is not None:
            await self._happen(Interrupted(self.active_seconds(), self._state.asked.ordinal))
        elif self._state.halted is not None and await asyncio.to_thread(self._journal.has_rested):
            await self._happen(Resumed(self.active_seconds()))

    def _loaded(self) -> tuple[list[Event], SessionState]:
        events = self._journal.load()
        if events:
            self._check_identity(events[0])
        return events, fold(self._opening.files, events)

    def _opened(self, active_seconds: float) -> WindowOpened:
        return WindowOpened(
            active_seconds,
            digest_bytes(self._opening.system.encode()),
            tools_hash(),
            self._opening.briefing,
            self._opening.allowance,
            self._opening.files.digest,
            self._opening.used,
        )

    def _check_identity(self, first: Event) -> None:
        """Raise IntegrityError unless the journal began as this window would begin."""
        expected = self._opened(first.active_seconds)
        if first == expected:
            return
        differing = [
            name
            for name in expected.__struct_fields__
            if getattr(first, name, None) != getattr(expected, name)
        ]
        raise IntegrityError(
            "The journal of a company-window is that of another one, or of another version of this "
            f"package: it differs in {', '.join(differing)}.",
            "Go on with the database and the package with which the window began.",
        )

    async def _perform(self, step: Step) -> None:
        match step:
            case Ask():
                await self._ask(step)
            case Run():
                await self._run_tool(step)
            case Correct(text=text, leaves_out=leaves_out):
                await self._happen(Corrected(self.active_seconds(), text, leaves_out))
            case BeginFinalization(reason=reason, text=text):
                await self._happen(FinalizationBegan(self.active_seconds(), reason, text))
            case Await(wait=wait):
                await self._await(wait)
            case Retry(fault=fault):
                await self._retry(fault)
            case Close(status=status, reason=reason):
                await self._happen(Closed(self.active_seconds(), status, reason))

    async def _ask(self, step: Ask) -> None:
        ordinal = self._state.requests + 1
        request = Request(
            self._opening.system,
            self._state.messages,
            tool_definitions(),
            step.max_output_tokens,
            name=f"{self._opening.name}/request-{ordinal}",
            key_mark=None if self._state.last is None else self._state.last.key_mark,
        )
        body = self._provider.wire(request)
        passed = await self._passed(ordinal, len(body), step.max_output_tokens)
        if passed is None:
            return
        journaled: Reply | Fault | None = None
        try:
            digest, most = digest_bytes(body), step.max_output_tokens
            asked = Asked(self.active_seconds(), ordinal, digest, most)
            await self._happen(asked, passed.at_most)
            asking = self._answered(ordinal, request, body, passed)
            journaled = await given_a_moment(asking, self._clock)
        finally:
            await passed.close(journaled)

    async def _answered(
        self, ordinal: int, request: Request, body: bytes, passed: Pass
    ) -> Reply | Fault:
        """Send a request and journal what came of it."""
        outcome = await self._sent(request, body)
        used, cost = self.active_seconds(), passed.cost(outcome)
        if isinstance(outcome, Fault):
            await self._happen(Failed(used, ordinal, outcome), cost)
        else:
            await self._happen(Answered(used, ordinal, outcome), cost)
        return outcome

    async def _passed(self, ordinal: int, request_bytes: int, output_tokens: int) -> Pass | None:
        """The right to send a request; None when it has to wait, which is journaled, or to rest.

        To queue for a turn is not active time; to wait for a service in trouble is.
        """
        with self._time_stands():
            passed = await self._gate.enter(ordinal, request_bytes, output_tokens)
        if not isinstance(passed, BreakerOpen):
            return passed
        used = self.active_seconds()
        seconds = min(passed.seconds, self._opening.allowance.seconds - used)
        await self._happen(WaitBegan(used, self._clock.now(), seconds, passed.reason))
        return None

    async def _sent(self, request: Request, body: bytes) -> Reply | Fault:
        try:
            # What is left now: the journal may have taken its time.
            within = self._opening.allowance.seconds - self.active_seconds()
            return await self._provider.ask(request, body=body, within_seconds=within)
        except ProviderFault as fault:
            return fault.fault

    async def _run_tool(self, step: Run) -> None:
        call = step.call
        if step.refusal is not None:
            receipt = ToolReceipt(
                self.active_seconds(), call.call_id, call.name, step.refusal, ok=False
            )
        else:
            context = self._context(self._state)
            # In a thread, and queries in threads of their own, so that neither a large file nor
            # any number of slow queries holds up somebody else's journal.
            outcome: ToolOutcome = await asyncio.get_running_loop().run_in_executor(
                self._query_threads if call.name == QUERY else None,
                run_tool,
                context,
                call.name,
                call.arguments,
            )
            receipt = ToolReceipt(
                self.active_seconds(),
                call.call_id,
                call.name,
                outcome.text,
                outcome.ok,
                outcome.draft_change,
                outcome.file_change,
                seals=outcome.decision is not None,
                interrupted=outcome.interrupted,
            )
        await self._happen(receipt)

    async def _retry(self, fault: Fault) -> None:
        """Wait, halt or close, as the retry policy says."""
        allowance, used = self._opening.allowance, self.active_seconds()
        answer = decide(fault, self._state.tally, allowance.seconds - used, self._chance())
        if not isinstance(answer, Stop):
            await self._happen(WaitBegan(used, self._clock.now(), answer.seconds, fault.message))
            return
        close = ending(answer, fault, late=time_is_up(allowance, used))
        if close.status is CompanyWindowStatus.PROVIDER_ERROR:
            await self._happen(Halted(used, close.reason, answer.cause, answer.needs_person))
            if answer.needs_person:
                await self._gate.pause_route(answer.cause, close.reason)
        else:
            await self._happen(Closed(used, close.status, close.reason))

    async def _await(self, wait: WaitBegan) -> None:
        """Wait out a back-off, or until the run is to rest."""
        left = min(wait.began_at + wait.seconds - self._clock.now(), wait.seconds)
        if await waited_out(left, self._stopping, self._clock):
            await self._happen(WaitEnded(self.active_seconds()))

    async def _happen(self, event: Event, microdollars: int | None = None) -> None:
        """Journal an event, then let it have happened."""
        if isinstance(event, Answered):
            await self._keep(event, microdollars)
        else:
            await self._append(event, microdollars)
        self._state = apply(self._state, event)

    async def _append(self, event: Event, microdollars: int | None) -> None:
        # The journal's transaction is never abandoned half-way: a cancelled session waits for it.
        await undisturbed(asyncio.to_thread(self._journal.append, event, microdollars))

    async def _keep(self, answered: Answered, microdollars: int | None) -> None:
        """Journal a reply, which is paid: while the disk is full or the database away, it waits
        here, and the run with it, which is not active time. Raises StoreError when that lasts.
        """
        trying = AsyncRetrying(
            retry=retry_if_exception_type(StoreError),
            wait=wait_fixed(_SLEEP_SECONDS),
            stop=stop_after_attempt(_TRIES_TO_KEEP),
            sleep=self._clock.sleep,
            reraise=True,
        )
        with self._time_stands():
            await trying(self._append, answered, microdollars)

    @contextmanager
    def _time_stands(self) -> Iterator[None]:
        """No active time goes by, and no heartbeat says so."""
        assert self._began is not None, "there is none before the journal was read"
        self._stands_since = self._clock.monotonic()
        try:
            yield
        finally:
            self._began += self._clock.monotonic() - self._stands_since
            self._stands_since = None


def sealed_decision(state: SessionState, company_id: str, version: int) -> CompanyDecision | None:
    """The decision of a closed attempt, or None when it did not seal."""
    return state.draft.to_decision(company_id, version) if state.seals else None
