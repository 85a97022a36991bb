"""What a company-window attempt does next: a pure function of its state (interface.md sections 6
and 7, runtime.md section 2). The loop performs the step, journals it, and folds it in.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Final, TypeAlias

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import (
    FINALIZATION_REPLIES,
    Allowance,
    finalization_reason,
    reply_ceiling,
    spent_reason,
    time_is_up,
)
from orchestrator.session.events import WaitBegan
from orchestrator.session.state import SessionState
from providers.contract import Fault, Reply, ToolCall
from providers.retry import Stop

SEAL: Final = "seal_decision"
QUERY: Final = "query_company"

_CUT: Final = (
    "Your reply was cut off because it reached its output limit, and nothing in it was run. "
    "Continue with complete tool calls in a shorter reply."
)
_NO_CALL: Final = (
    "Your reply had no tool call, and nothing was run. Only tool calls act; a reply without one "
    "never seals. Go on with tool calls, and end with seal_decision as the only call of its reply."
)
_NOT_RUN_CUT: Final = "Not run: the reply was cut off before it was complete."
_NOT_RUN_STOPPED: Final = "Not run: the reply did not end of its own accord."
_NOT_RUN_MIXED: Final = (
    "Not run: seal_decision must be the only call of its reply. Nothing of this reply was run; "
    "make the other calls first, then seal alone."
)
_NOT_RUN_TWICE: Final = (
    "Not run: two calls of this reply have the same id. Nothing of this reply was run; call again."
)
_NOT_RUN_LONG: Final = (
    "Not run: the arguments of this call are longer than a reply may carry. Call again with less."
)
_NOT_RUN_LATE: Final = "Not run: all active time of this window is used."


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the conversation; the reply may have so many tokens."""

    max_output_tokens: int


@dataclass(frozen=True, slots=True)
class Run:
    """Run the first pending call, or give it `refusal` for a result when it may not run."""

    call: ToolCall
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Correct:
    """Answer the last reply, which had no call to run; leave it out if `leaves_out` is set."""

    text: str
    leaves_out: str | None = None


@dataclass(frozen=True, slots=True)
class BeginFinalization:
    """Tell the model that the end of its allowance is near."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed: the retry policy says whether to wait or to give up."""

    fault: Fault


@dataclass(frozen=True, slots=True)
class Await:
    """Wait out the back-off that began."""

    wait: WaitBegan


@dataclass(frozen=True, slots=True)
class Close:
    """End the attempt."""

    status: CompanyWindowStatus
    reason: str


Step: TypeAlias = Ask | Run | Correct | BeginFinalization | Retry | Await | Close


def next_step(state: SessionState) -> Step | None:
    """The next step of an opened attempt, or None when it is closed.

    A request that is under way is not a step: the loop waits for it, or marks it interrupted.
    """
    if state.closed is not None:
        return None
    assert state.allowance is not None, "an attempt begins with its opening"
    if state.seals:
        return Close(CompanyWindowStatus.SEALED, "sealed")
    if state.pending:
        return Run(state.pending[0], _refusal(state, state.pending[0]))
    if state.unanswered:
        assert state.last is not None
        return _correction(state.last)
    if state.fault is not None:
        return Retry(state.fault)
    if state.wait is not None:
        return Await(state.wait)
    spent = spent_reason(state.allowance, state.use)
    if spent is not None:
        return Close(_unsealed(state), spent)
    if not state.final:
        reason = finalization_reason(state.allowance, state.use)
        if reason is not None:
            return BeginFinalization(reason, _finalization_text(state, state.allowance))
    return Ask(reply_ceiling(state.allowance, state.use, final=state.final))


def _unsealed(state: SessionState) -> CompanyWindowStatus:
    """Time that ran out over a failing request is a timeout, any other end a spent allowance."""
    assert state.allowance is not None
    if state.failing and time_is_up(state.allowance, state.use.seconds):
        return CompanyWindowStatus.TIMEOUT
    return CompanyWindowStatus.BUDGET_EXHAUSTED


def _refusal(state: SessionState, call: ToolCall) -> str | None:
    """Why a call of the last reply may not run, or None when it may."""
    reply = state.last
    assert reply is not None
    assert state.allowance is not None
    refusal = _refusal_of_all(reply)
    if refusal is not None:
        return refusal
    if call.cut:
        return _NOT_RUN_LONG
    # The number of calls has no limit, and queries alone take time worth speaking of.
    if call.name == QUERY and time_is_up(state.allowance, state.use.seconds):
        return _NOT_RUN_LATE
    return None


def _refusal_of_all(reply: Reply) -> str | None:
    """Why no call of a reply may run, or None when they may."""
    if reply.stop == "length":
        return _NOT_RUN_CUT
    if reply.stop != "tool_calls":
        return _NOT_RUN_STOPPED
    names = [call.name for call in reply.tool_calls]
    if SEAL in names and len(names) > 1:
        return _NOT_RUN_MIXED
    ids = Counter(call.call_id for call in reply.tool_calls)
    if max(ids.values()) > 1:
        return _NOT_RUN_TWICE
    return None


def _correction(reply: Reply) -> Correct:
    leaves_out = None
    if reply.is_only_reasoning:
        # Cut or not: services refuse a conversation in which nothing follows a reply's reasoning.
        leaves_out = "sha256:" + hashlib.sha256(reply.native.encode()).hexdigest()
    return Correct(_CUT if reply.stop == "length" else _NO_CALL, leaves_out)


def _finalization_text(state: SessionState, allowance: Allowance) -> str:
    replies = min(FINALIZATION_REPLIES, allowance.replies - state.use.replies)
    more = "1 more reply" if replies == 1 else f"{replies} more replies"
    return (
        f"Finalization has begun. You have at most {more} in this window, within "
        f"the same limits, and query_company is refused from now on. Stage what you still want and "
        f"seal with seal_decision as the only call of a reply. Without a valid seal the draft is "
        f"dropped and your standing policies go on."
    )


def ending(stop: Stop, fault: Fault, *, late: bool) -> Close:
    """How an attempt ends that the retry policy stops (runtime.md section 2); ``late`` when its
    active time is up.
    """
    unreadable = stop.cause == "unreadable" and fault.code != "usage_missing"
    if stop.cause == "time" or (unreadable and late):
        return Close(CompanyWindowStatus.TIMEOUT, stop.reason)
    if unreadable:
        return Close(CompanyWindowStatus.PROTOCOL_ERROR, stop.reason)
    return Close(CompanyWindowStatus.PROVIDER_ERROR, stop.reason)
