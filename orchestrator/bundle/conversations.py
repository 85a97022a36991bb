"""What was said in the attempts of a run, without anything of a model's reasoning.

Rows are made of what a model wrote for its reader and of its calls. The protocol's own form of a
reply, in which reasoning stands, plain or encrypted, is not looked at.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from orchestrator.bundle.layout import Call, ConversationRow
from orchestrator.bundle.redaction import Redaction
from orchestrator.session.events import (
    Answered,
    Corrected,
    Event,
    FinalizationBegan,
    ToolReceipt,
    WindowOpened,
    decode_event,
    kind_of,
)
from orchestrator.store import AttemptKey, RunStore, SessionReader
from providers.contract import Reply

_Kind: TypeAlias = Literal["briefing", "reply", "tool_result", "correction", "notice"]

_KINDS: Final[Mapping[str, _Kind]] = {
    "window_opened": "briefing",
    "answered": "reply",
    "tool_receipt": "tool_result",
    "corrected": "correction",
    "finalization_began": "notice",
}
"""The events in which something is said."""


def conversations(run: RunStore, redaction: Redaction) -> Iterator[ConversationRow]:
    """By world version, seat and attempt, in the order in which it was said; then late replies.

    One window of the world is in memory at a time.
    """
    sessions = SessionReader(run)
    for version in sorted({key.version for key in sessions.attempts()}):
        of_version = sessions.of_kinds(_KINDS, version)
        for key in sorted(of_version):
            for number, body in enumerate(of_version[key], start=1):
                yield _row(key, number, decode_event(body), redaction)
    for number, late in enumerate(sessions.late_replies(), start=1):
        row = _row(late.key, number, decode_event(late.body), redaction)
        yield msgspec.structs.replace(row, kind="late_reply")


def _row(key: AttemptKey, number: int, event: Event, redaction: Redaction) -> ConversationRow:
    row = ConversationRow(
        world_version=key.version,
        seat=key.seat,
        attempt=key.attempt,
        number=number,
        kind=_KINDS[kind_of(event)],
        text=redaction.text(_text(event)),
        seconds=event.active_seconds,
    )
    match event:
        case Answered(reply=reply):
            return msgspec.structs.replace(row, calls=tuple(_calls(reply, redaction)))
        case ToolReceipt():
            tool = redaction.text(event.name)
            return msgspec.structs.replace(row, call_id=event.call_id, tool=tool, ok=event.ok)
    return row


def _text(event: Event) -> str:
    match event:
        case WindowOpened(briefing=text):
            return text
        case Answered(reply=reply):
            return reply.text
        case ToolReceipt(text=text) | Corrected(text=text) | FinalizationBegan(text=text):
            return text
    raise AssertionError(f"{kind_of(event)} says nothing")


def _calls(reply: Reply, redaction: Redaction) -> Iterator[Call]:
    for call in reply.tool_calls:
        yield Call(
            call_id=call.call_id,
            name=redaction.text(call.name),
            arguments=redaction.text(call.arguments),
        )
