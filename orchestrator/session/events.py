"""What happens in a company-window, as it is journaled (runtime.md section 3).

A session is the fold of its events, and recovery is the same fold. An event says what was received
or decided, never what it leads to: that follows from the state. ``active_seconds`` is the active
time of the attempt when the event happened.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import Allowance, Use
from orchestrator.session.draft import DraftChange
from orchestrator.session.files import FileChange
from providers.contract import Fault, Reply


class _Event(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Base of all events."""

    active_seconds: float


class WindowOpened(_Event, frozen=True, tag="window_opened"):
    """The attempt begins: what the model is told, what it may use, and with which files.

    ``used`` is what earlier attempts have used of the allowance, where the campaign's recovery
    policy keeps that.
    """

    system_digest: str
    tools_digest: str
    briefing: str
    allowance: Allowance
    files_digest: str = ""
    used: Use = Use()


class Asked(_Event, frozen=True, tag="asked"):
    """A request is about to be sent. Without an answer it may have been billed.

    ``ordinal`` counts the requests of the attempt from 1.
    """

    ordinal: int
    request_digest: str
    max_output_tokens: int


class Answered(_Event, frozen=True, tag="answered"):
    """A whole reply, as received, before any of its calls run."""

    ordinal: int
    reply: Reply


class Failed(_Event, frozen=True, tag="failed"):
    """A request ended without a reply."""

    ordinal: int
    fault: Fault


class Interrupted(_Event, frozen=True, tag="interrupted"):
    """The process ended while a request was under way; the next owner noticed."""

    ordinal: int


class WaitBegan(_Event, frozen=True, tag="wait_began"):
    """A back-off before the same request is sent again, for ``seconds`` from ``began_at``.

    ``began_at`` is by the host's clock, in seconds since 1970, so that a successor waits only for
    the rest.
    """

    began_at: float
    seconds: float
    reason: str


class WaitEnded(_Event, frozen=True, tag="wait_ended"):
    """The back-off is over."""


class ToolReceipt(_Event, frozen=True, tag="tool_receipt"):
    """A tool call has run: its result, and all that it changed.

    ``interrupted`` names the limit that ended a query; "time" is the one that depends on the
    machine.
    """

    call_id: str
    name: str
    text: str
    ok: bool
    draft_change: DraftChange | None = None
    file_change: FileChange | None = None
    seals: bool = False
    interrupted: str = ""


class Corrected(_Event, frozen=True, tag="corrected"):
    """The harness answers a reply that has no call it could run.

    ``leaves_out`` is the digest of the reply when it is left out of later requests: it held
    reasoning and nothing else (interface.md section 7).
    """

    text: str
    leaves_out: str | None = None


class FinalizationBegan(_Event, frozen=True, tag="finalization_began"):
    """A threshold of the allowance is passed; the model is told."""

    reason: str
    text: str


class Halted(_Event, frozen=True, tag="halted"):
    """The provider failed for good: the run stops.

    ``cause`` is that of the retry policy. ``needs_person``: no fresh attempt follows before a
    person has put right what ``reason`` names.
    """

    reason: str
    cause: str = "unknown"
    needs_person: bool = True


class Resumed(_Event, frozen=True, tag="resumed"):
    """A person has let the run go on after a halt: the attempt goes on with the same request."""


class Closed(_Event, frozen=True, tag="closed"):
    """The attempt has ended. With status ``sealed`` the draft is the decision."""

    status: CompanyWindowStatus
    reason: str


Event: TypeAlias = (
    WindowOpened
    | Asked
    | Answered
    | Failed
    | Interrupted
    | WaitBegan
    | WaitEnded
    | ToolReceipt
    | Corrected
    | FinalizationBegan
    | Halted
    | Resumed
    | Closed
)

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Event)


def kind_of(event: Event) -> str:
    """The name of an event's kind, such as ``tool_receipt``."""
    return str(event.__struct_config__.tag)


def encode_event(event: Event) -> bytes:
    """The journaled form of an event."""
    return _encoder.encode(event)


def decode_event(data: bytes) -> Event:
    """Inverse of :func:`encode_event`. Raises msgspec.DecodeError."""
    event: Event = _decoder.decode(data)
    return event
