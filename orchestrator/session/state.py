"""The state of a company-window attempt: the fold of its events. Pure (runtime.md section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import msgspec

from orchestrator.session import draft as drafts
from orchestrator.session import files as private_files
from orchestrator.session.allowance import Allowance, Use
from orchestrator.session.draft import Draft
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
from providers.contract import (
    AssistantMessage,
    Fault,
    Message,
    Reply,
    ToolCall,
    ToolResult,
    UserMessage,
)
from providers.retry import Tally, missing_usage


class Counts(msgspec.Struct, frozen=True):
    """What the attempt cost, beside its allowance (providers.md section 3)."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_written_tokens: int = 0
    tool_calls: int = 0
    replies_without_usage: int = 0
    possibly_billed: int = 0
    faults: int = 0


class SessionState(msgspec.Struct, frozen=True):
    """Where an attempt stands.

    ``messages`` is the conversation as it is sent, the system prompt apart. ``use`` is what counts
    against the allowance, of which ``carried`` was used by earlier attempts. ``pending`` are the
    calls of the last reply that have no receipt yet. ``asked`` is a request that is under way.
    ``unanswered`` says that the last reply still needs a correction. ``fault`` is what ended the
    last request, until the retry policy has answered; ``tally`` counts the faults before it since
    the last accounting-valid reply. ``failing`` says that no such reply has come since a request
    failed, was interrupted, or had to wait for a route in trouble. ``halted`` is the provider's
    failure that a person has to see to.
    """

    files: PrivateFiles
    allowance: Allowance | None = None
    messages: tuple[Message, ...] = ()
    carried: Use = Use()
    use: Use = Use()
    draft: Draft = drafts.EMPTY
    final: bool = False
    asked: Asked | None = None
    last: Reply | None = None
    pending: tuple[ToolCall, ...] = ()
    unanswered: bool = False
    wait: WaitBegan | None = None
    fault: Fault | None = None
    failing: bool = False
    halted: Halted | None = None
    tally: Tally = Tally()
    counts: Counts = Counts()
    requests: int = 0
    seals: bool = False
    closed: Closed | None = None


def fold(files: PrivateFiles, events: Iterable[Event]) -> SessionState:
    """The state that these events make of an attempt that began with these private files."""
    return reduce(apply, events, SessionState(files=files))


def apply(state: SessionState, event: Event) -> SessionState:  # noqa: C901 - a flat list of kinds
    """The state after one event."""
    use = msgspec.structs.replace(state.use, seconds=max(state.use.seconds, event.active_seconds))
    state = _with(state, use=use)
    match event:
        case WindowOpened():
            seconds = max(event.used.seconds, event.active_seconds)
            return _with(
                state,
                allowance=event.allowance,
                messages=(UserMessage(event.briefing),),
                carried=event.used,
                use=msgspec.structs.replace(event.used, seconds=seconds),
            )
        case Asked():
            return _with(state, asked=event, requests=event.ordinal, wait=None)
        case Answered():
            return _answered(_with(state, asked=None), event.reply)
        case Failed():
            return _failed(_with(state, asked=None), event.fault)
        case Interrupted():
            counts = _counted(state, possibly_billed=1)
            return _with(state, asked=None, failing=True, counts=counts)
        case WaitBegan():
            return _waiting(state, event)
        case WaitEnded():
            return _with(state, wait=None)
        case ToolReceipt():
            return _received(state, event)
        case Corrected():
            return _corrected(state, event)
        case FinalizationBegan():
            told = UserMessage(event.text)
            return _with(state, final=True, messages=(*state.messages, told))
        case Halted():
            assert state.fault is not None, "a fault halts an attempt"
            tally = state.tally.after(state.fault)
            return _with(state, halted=event, fault=None, tally=tally)
        case Resumed():
            return _with(state, halted=None)
        case Closed():
            return _with(state, closed=event)


def _answered(state: SessionState, reply: Reply) -> SessionState:
    usage = reply.usage
    if usage is None:
        # Its cost is unknown and it never was: it enters neither allowance nor conversation.
        counts = _counted(state, replies_without_usage=1)
        return _with(state, fault=missing_usage(reply), failing=True, counts=counts)
    use = msgspec.structs.replace(
        state.use,
        replies=state.use.replies + 1,
        output_tokens=state.use.output_tokens + usage.output_tokens,
        final_replies=state.use.final_replies + state.final,
    )
    counts = _counted(
        state,
        input_tokens=usage.input_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cache_written_tokens=usage.cache_written_tokens,
        tool_calls=len(reply.tool_calls),
    )
    return _with(
        state,
        use=use,
        counts=counts,
        tally=Tally(),
        failing=False,
        last=reply,
        messages=(*state.messages, AssistantMessage(reply.native)),
        # Of calls with one id none runs, and services take one result for an id.
        pending=tuple({call.call_id: call for call in reversed(reply.tool_calls)}.values())[::-1],
        unanswered=not reply.tool_calls or reply.stop == "length",
    )


def _failed(state: SessionState, fault: Fault) -> SessionState:
    counts = _counted(state, faults=1, possibly_billed=int(fault.maybe_billed))
    return _with(state, fault=fault, failing=True, counts=counts)


def _waiting(state: SessionState, wait: WaitBegan) -> SessionState:
    """A wait answers a fault of this attempt, or comes from others' trouble with the route."""
    tally = state.tally if state.fault is None else state.tally.after(state.fault)
    return _with(state, wait=wait, fault=None, failing=True, tally=tally)


def _received(state: SessionState, receipt: ToolReceipt) -> SessionState:
    draft = state.draft
    if receipt.draft_change is not None:
        draft = drafts.apply(draft, receipt.draft_change)
    files = state.files
    if receipt.file_change is not None:
        files = private_files.apply(files, receipt.file_change)
    return _with(
        state,
        draft=draft,
        files=files,
        messages=(*state.messages, ToolResult(receipt.call_id, receipt.text)),
        pending=state.pending[1:],
        seals=receipt.seals,
    )


def _corrected(state: SessionState, event: Corrected) -> SessionState:
    messages = state.messages
    if event.leaves_out is not None:
        messages = messages[:-1]
    return _with(state, unanswered=False, messages=(*messages, UserMessage(event.text)))


def _counted(state: SessionState, **more: int) -> Counts:
    counts = {name: getattr(state.counts, name) + value for name, value in more.items()}
    return msgspec.structs.replace(state.counts, **counts)


def _with(state: SessionState, **values: object) -> SessionState:
    return msgspec.structs.replace(state, **values)
