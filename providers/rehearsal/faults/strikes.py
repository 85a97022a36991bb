"""Choosing the fault that a request meets, and what it makes of the reply, on every wire the same.

Whom a rate strikes follows from the plan's seed, the conversation and how often it was asked, not
from the order in which requests arrive. The counters that `requests` and `times` need are the one
thing that the gateway remembers between requests, and they reach no reply by another way.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final, NamedTuple

import msgspec

from providers.rehearsal.conversation import Conversation, ReplyTurn, UserTurn
from providers.rehearsal.faults.plan import (
    BadArguments,
    CutByLength,
    CutStream,
    Delay,
    DoubledCallIds,
    EmptyReply,
    ErrorInStream,
    FaultPlan,
    FaultRule,
    LeaveOutUsage,
    OtherModel,
    Refuse,
    RefuseReasoning,
    StallStream,
    UnknownTool,
    Window,
)
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.replies import SpokenCall, SpokenReply

_COMPANY: Final = re.compile(r"\bcompany-(\d+)\b")
_DAY: Final = re.compile(r"(?i)\bday (\d+)\b")
_HTML: Final = "<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>"


class Broken(NamedTuple):
    """Where a stream breaks: before event number `position`, counted from 0.

    `seconds` pass first. `error` is what the service still says, (code, message), or None when the
    connection just ends.
    """

    position: int
    seconds: float = 0.0
    error: tuple[str, str] | None = None


@dataclass(frozen=True)
class Strike:
    """What becomes of one request; without a rule, nothing out of the ordinary."""

    rule: FaultRule | None = None

    def refuse(self) -> None:
        """Raise the Refusal that the fault is, if it is one."""
        rule = self.rule
        if isinstance(rule, RefuseReasoning):
            raise bad_request(
                "The reasoning of an assistant message without tool calls must not be passed back.",
                "messages",
            )
        if isinstance(rule, Refuse):
            raise Refusal(
                rule.status,
                rule.message,
                code=rule.code,
                kind="server_error" if rule.status >= 500 else "invalid_request_error",
                headers=_retry_after(rule),
                page=_HTML.format(f"{rule.status} {rule.message}") if rule.page else None,
            )

    @property
    def delay_seconds(self) -> float:
        """How much later than usual the first byte comes."""
        return self.rule.seconds if isinstance(self.rule, Delay) else 0.0

    @property
    def leaves_out_usage(self) -> bool:
        return isinstance(self.rule, LeaveOutUsage)

    def model(self, asked: str) -> str:
        """The model that the reply says it is from."""
        return self.rule.model if isinstance(self.rule, OtherModel) else asked

    def ceiling(self, asked: int) -> int:
        """The most output tokens of the reply."""
        return min(asked, self.rule.tokens) if isinstance(self.rule, CutByLength) else asked

    def spoken(self, reply: SpokenReply) -> SpokenReply:
        """The reply as the model says it, before it is cut and sealed."""
        match self.rule:
            case EmptyReply():
                return msgspec.structs.replace(reply, text="", calls=())
            case BadArguments(characters=characters):
                broken = '{"cut": "' + "x" * max(0, characters - 9)
                return _first_call(reply, arguments=broken)
            case UnknownTool(name=name):
                return _first_call(reply, name=name)
            case DoubledCallIds():
                calls = reply.calls if len(reply.calls) != 1 else reply.calls * 2
                one = [msgspec.structs.replace(each, call_id=calls[0].call_id) for each in calls]
                return msgspec.structs.replace(reply, calls=tuple(one))
            case _:
                return reply

    def broken(self, events: int) -> Broken | None:
        """Where a stream of so many events breaks; None when it does not."""
        match self.rule:
            case CutStream(after=after):
                return Broken(_position(events, after))
            case StallStream(after=after, seconds=seconds):
                return Broken(_position(events, after), seconds)
            case ErrorInStream(after=after, code=code, message=message):
                return Broken(_position(events, after), error=(code, message))
            case _:
                return None


class Striker:
    """Applies a plan to the requests of one gateway; `struck` counts what it did, by fault."""

    def __init__(self, plan: FaultPlan | None) -> None:
        self._plan = plan or FaultPlan()
        self._requests: Counter[str] = Counter()
        self._asked: Counter[bytes] = Counter()
        self._times: Counter[tuple[int, bytes]] = Counter()
        self.struck: Counter[str] = Counter()

    def strike(self, talk: Conversation) -> Strike:
        """The fault that this request meets, which is counted herewith."""
        if not self._plan.faults:
            return Strike()
        self._requests[talk.model] += 1
        self._asked[talk.place] += 1
        for number, rule in enumerate(self._plan.faults):
            if self._strikes(number, rule, talk):
                self.struck[_name(rule)] += 1
                return Strike(rule)
        return Strike()

    def _strikes(self, number: int, rule: FaultRule, talk: Conversation) -> bool:
        if rule.routes and talk.model not in rule.routes:
            return False
        if isinstance(rule, RefuseReasoning) and not _returns_idle_reasoning(talk):
            return False
        if rule.rate is not None:
            return self._uniform(number, talk) < rule.rate
        if rule.requests:
            return self._requests[talk.model] in rule.requests
        return self._strikes_window(number, rule, talk)

    def _strikes_window(self, number: int, rule: FaultRule, talk: Conversation) -> bool:
        replies = 1 + sum(isinstance(turn, ReplyTurn) for turn in talk.turns)
        if rule.replies and replies not in rule.replies:
            return False
        if not _is_in(rule.windows, talk):
            return False
        # The briefing tells the windows of different runs apart.
        window = (number, talk.places[1])
        self._times[window] += 1
        return self._times[window] <= rule.times

    def _uniform(self, number: int, talk: Conversation) -> float:
        asked = self._asked[talk.place]
        told = f"{self._plan.seed}|{number}|{talk.model}|{talk.place.hex()}|{asked}"
        return int.from_bytes(hashlib.sha256(told.encode()).digest()[:7], "big") / 2**56


def _returns_idle_reasoning(talk: Conversation) -> bool:
    return any(
        isinstance(turn, ReplyTurn) and turn.reasoning and not turn.calls for turn in talk.turns
    )


def _is_in(windows: Sequence[Window], talk: Conversation) -> bool:
    """Whether a conversation is one of these company-windows, by the heading of its briefing."""
    opening = talk.turns[0] if talk.turns else None
    if not isinstance(opening, UserTurn):
        return False
    company, day = _COMPANY.search(opening.text), _DAY.search(opening.text)
    if day is None:
        return False
    seat = None if company is None else int(company[1])
    return any(window.day == int(day[1]) and window.seat in (None, seat) for window in windows)


def _first_call(reply: SpokenReply, **changes: str) -> SpokenReply:
    if not reply.calls:
        return reply
    first: SpokenCall = msgspec.structs.replace(reply.calls[0], **changes)
    return msgspec.structs.replace(reply, calls=(first, *reply.calls[1:]))


def _position(events: int, share: float) -> int:
    """Before the last event at the latest: after it the reply is whole."""
    return min(int(events * share), max(events - 1, 0))


def _retry_after(rule: Refuse) -> dict[str, str]:
    seconds = rule.retry_after_seconds
    if seconds is None:
        return {}
    match rule.retry_after_form:
        case "seconds":
            return {"retry-after": f"{seconds:g}"}
        case "milliseconds":
            return {"retry-after-ms": f"{seconds * 1000:g}"}
        case "date":
            now = datetime.now(UTC).replace(microsecond=0)
            return {
                "date": format_datetime(now, usegmt=True),
                "retry-after": format_datetime(now + timedelta(seconds=seconds), usegmt=True),
            }


def _name(rule: FaultRule) -> str:
    return f"{rule.fault} {rule.status}" if isinstance(rule, Refuse) else rule.fault
