"""Company-windows as people see them: what was asked, done and used, and its form as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

from engine.decision import CompanyDecision
from engine.records import ActionReceipt
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import Allowance, Use
from orchestrator.session.events import Answered, Event, decode_event
from orchestrator.session.state import Counts, SessionState
from orchestrator.store import (
    LateReply,
)
from providers.contract import Reply

_NO_COUNTS: Final = Counts()
_NO_USE: Final = Use()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a model at a company-window: how it stands, and what it has used."""

    number: int
    status: CompanyWindowStatus
    reason: str
    use: Use
    counts: Counts

    @classmethod
    def of(cls, number: int, state: SessionState) -> Attempt:
        """An attempt by the state that its events fold to."""
        status, reason = CompanyWindowStatus.OPEN, ""
        if state.closed is not None:
            status, reason = state.closed.status, state.closed.reason
        elif state.halted is not None:
            status, reason = CompanyWindowStatus.PROVIDER_ERROR, state.halted.reason
        use = state.use.since(state.carried)
        return cls(number=number, status=status, reason=reason, use=use, counts=state.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateAnswer:
    """A reply that came for an owner that had lost the run: paid, and part of no conversation.

    ``request`` is the ordinal of what was asked in the attempt; the journal there says that it was
    interrupted.
    """

    attempt: int
    request: int
    owner: str
    epoch: int
    reply: Reply

    @classmethod
    def of(cls, late: LateReply) -> LateAnswer:
        """As the ledger has it."""
        event = decode_event(late.body)
        assert isinstance(event, Answered), "the ledger holds replies"
        return cls(
            attempt=late.key.attempt,
            request=late.request,
            owner=late.owner,
            epoch=late.epoch,
            reply=event.reply,
        )

    def to_json(self) -> dict[str, Any]:
        """The reply as plain JSON."""
        return {
            "attempt": self.attempt,
            "request": self.request,
            "owner": self.owner,
            "epoch": self.epoch,
            "reply": _plain(self.reply),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRecord:
    """One company-window of a run; `day` is the day on which it opened.

    A company without a model has no attempts, and its windows are known once they are settled.
    ``late`` are the replies of the ledger, of all attempts. ``wall_seconds`` went by from the
    opening of the first attempt to the last event of the last one; None without a model.
    """

    run_id: str
    version: int
    day: int
    seat: int
    candidate: str
    status: CompanyWindowStatus
    reason: str
    settled: bool
    attempts: tuple[Attempt, ...]
    wall_seconds: float | None = None
    late: tuple[LateAnswer, ...] = ()

    @property
    def use(self) -> Use:
        """What the last attempt used of its allowance; nothing where there is no model."""
        return self.attempts[-1].use if self.attempts else _NO_USE

    @property
    def counts(self) -> Counts:
        """What the last attempt cost beside that."""
        return self.attempts[-1].counts if self.attempts else _NO_COUNTS

    def to_json(self) -> dict[str, Any]:
        """The window as plain JSON; the figures are those of its last attempt."""
        use = self.use
        return {
            "run": self.run_id,
            "world_version": self.version,
            "day": self.day,
            "seat": self.seat,
            "candidate": self.candidate,
            "status": self.status.value,
            "reason": self.reason,
            "settled": self.settled,
            "attempts": len(self.attempts),
            "replies": use.replies,
            "finalization_replies": use.final_replies,
            **msgspec.structs.asdict(self.counts),
            "late_replies": len(self.late),
            "active_seconds": round(use.seconds, 3),
            "wall_seconds": None if self.wall_seconds is None else round(self.wall_seconds, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowView:
    """One company-window with all that is known of it.

    `attempt` is the one that is shown, the last unless another was asked for, and `events` are its
    events; None where there is no model. `decision` is what was sealed, `receipts` what its actions
    came to at the settlement; an attempt that a fresh one replaced has neither. `last_day` is the
    last day on which the window acts.
    """

    record: WindowRecord
    attempt: Attempt | None
    campaign: str
    identity: str
    last_day: int
    events: tuple[Event, ...]
    state: SessionState | None
    decision: CompanyDecision | None
    receipts: tuple[ActionReceipt, ...]

    @property
    def allowance(self) -> Allowance | None:
        return None if self.state is None else self.state.allowance

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON; every event names its kind."""
        allowance = self.allowance
        return {
            "campaign": self.campaign,
            **self.record.to_json(),
            "attempt": None if self.attempt is None else self.attempt.number,
            "identity": self.identity,
            "last_day": self.last_day,
            "allowance": None if allowance is None else msgspec.structs.asdict(allowance),
            "events": [plain_event(event) for event in self.events],
            "late": [answer.to_json() for answer in self.record.late],
            "decision": None if self.decision is None else self.decision.model_dump(mode="json"),
            "receipts": [msgspec.structs.asdict(receipt) for receipt in self.receipts],
        }


def plain_event(event: Event) -> dict[str, Any]:
    """An event as plain JSON, with its kind and its fields by name."""
    plain: dict[str, Any] = _plain(event)
    return plain


def _plain(value: Any) -> Any:
    """A value as plain JSON with its fields by name; journaled ones have them by place."""
    if isinstance(value, msgspec.Struct):
        tag = value.__struct_config__.tag
        kind = {} if tag is None else {"kind": tag}
        return kind | {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
