"""One company-window as text: what was said, called and answered, in the order it happened."""

import json
from collections.abc import Iterator
from typing import Any, Final

from engine.records import ActionReceipt
from manifests.printable import counted, harmless
from orchestrator.cli.output import dollars
from orchestrator.owners import shown
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
from orchestrator.session.windows import WindowView
from providers.contract import Reply, ToolCall

_STEP: Final = "    "
_SHORT_LINES: Final = 12
_SHORT_CHARACTERS: Final = 400
_ONE_LINE: Final = 90


def window_lines(view: WindowView, *, full: bool) -> Iterator[str]:
    """The lines of a window; without `full`, long texts are cut and say so."""
    yield from _heading(view)
    yield ""
    yield from _Story(full).lines(view.events)
    if not view.events:
        yield "A company without a model: its policy decided at once."
    yield from _late(view, full=full)
    yield ""
    yield from _files(view)
    yield from _decision(view)
    yield from _receipts(view.receipts)


def _heading(view: WindowView) -> Iterator[str]:
    record, allowance = view.record, view.allowance
    yield f"company-{record.seat} ({record.candidate}), day {record.day} of run {record.run_id}"
    settled = "settled" if record.settled else "not settled yet"
    because = f": {record.reason}" if record.reason not in ("", record.status.value) else ""
    yield f"Status          {record.status.value}{because}; {settled}"
    yield f"Acts on         days {record.day + 1} to {view.last_day}"
    yield f"Identity        {view.identity}"
    if allowance is None:
        return
    assert view.attempt is not None, "whoever has an allowance makes attempts"
    use, counts = view.attempt.use, view.attempt.counts
    if len(record.attempts) > 1:
        yield (
            f"Attempt         {view.attempt.number} of 0 to {record.attempts[-1].number}: "
            f"{view.attempt.status.value}"
        )
    tokens = "no limit" if allowance.output_tokens is None else f"of {allowance.output_tokens:,}"
    yield (
        f"Allowance       {use.replies} of {allowance.replies} replies, "
        f"{use.output_tokens:,} {tokens} generated tokens, "
        f"{use.seconds:,.1f} of {allowance.seconds:,} active seconds"
    )
    yield (
        f"Usage           {counts.input_tokens:,} input tokens "
        f"({counts.cached_input_tokens:,} cached), {counts.output_tokens:,} output tokens "
        f"({counts.reasoning_tokens:,} reasoning), {counts.tool_calls} tool calls"
    )
    yield (
        f"Faults          {counted(counts.faults, 'fault')}, "
        f"{counted(counts.replies_without_usage, 'reply', 'replies')} without usage, "
        f"{counted(counts.possibly_billed, 'request')} possibly billed"
    )


class _Story:
    """The events of an attempt, told; knows which calls still wait for their results."""

    def __init__(self, full: bool) -> None:
        self._full = full
        self._waiting: list[ToolCall] = []

    def lines(self, events: tuple[Event, ...]) -> Iterator[str]:
        for event in events:
            if isinstance(event, Answered):
                yield from self._unanswered()
            head, *body = self._told(event)
            yield f"[{event.active_seconds:9.1f} s] {head}"
            yield from (f"{_STEP}{line}".rstrip() for line in body)
        yield from self._unanswered()

    def _told(self, event: Event) -> list[str]:  # noqa: C901 - a flat list of kinds
        match event:
            case WindowOpened():
                return ["opened with this briefing", *self._text(event.briefing)]
            case Asked():
                most = f"at most {event.max_output_tokens:,} tokens"
                return [f"request {event.ordinal}, {most}, {event.request_digest}"]
            case Answered():
                return self._answer(event)
            case ToolReceipt():
                return self._result(event)
            case Corrected():
                left = "; the reply is left out of later requests" if event.leaves_out else ""
                return [f"corrected{left}", *self._text(event.text)]
            case FinalizationBegan():
                return [f"finalization: {event.reason}", *self._text(event.text)]
            case Failed():
                fault = event.fault
                codes = [str(each) for each in (fault.status, fault.code) if each is not None]
                billed = "; possibly billed" if fault.maybe_billed else ""
                kind = " ".join([fault.kind.replace("_", " "), *codes])
                return [f"request {event.ordinal} failed: {kind}{billed}", *_lines(fault.message)]
            case Interrupted():
                return [f"request {event.ordinal} was interrupted; possibly billed"]
            case WaitBegan():
                return [f"waits {event.seconds:,.1f} s before it asks again"]
            case WaitEnded():
                return ["goes on"]
            case Halted():
                return ["halted: the provider failed for good", *_lines(event.reason)]
            case Resumed():
                return ["resumed: a person let the run go on"]
            case Closed():
                return [f"closed: {event.status.value}", *self._reason(event)]

    def _reason(self, event: Closed) -> list[str]:
        return [] if event.reason == event.status.value else _lines(event.reason)

    def reply(self, reply: Reply) -> list[str]:
        """What a reply was, what it said, and, in full, what was received."""
        said = self._text(reply.text) if reply.text else []
        native = ["as received:", *_lines(reply.native)] if self._full else []
        return [_described(reply), *said, *native]

    def _answer(self, event: Answered) -> list[str]:
        self._waiting = list(event.reply.tool_calls)
        first, *rest = self.reply(event.reply)
        return [f"reply {event.ordinal}: {first}", *rest]

    def _result(self, event: ToolReceipt) -> list[str]:
        call = next((each for each in self._waiting if each.call_id == event.call_id), None)
        called = event.name
        arguments: list[str] = []
        if call is not None:
            self._waiting.remove(call)
            called, arguments = self._call(call)
        refused = "" if event.ok else " (refused)"
        first, *rest = self._text(event.text)
        return [called, *arguments, f"->{refused} {first}", *(f"   {line}" for line in rest)]

    def _unanswered(self) -> Iterator[str]:
        for call in self._waiting:
            head, arguments = self._call(call)
            yield f"{'':13} {head}"
            yield from (f"{_STEP}{line}" for line in arguments)
            yield f"{_STEP}-> no result yet"
        self._waiting = []

    def _call(self, call: ToolCall) -> tuple[str, list[str]]:
        """A call with its arguments: on its own line when they are short, else below it."""
        arguments = _object(call.arguments)
        if arguments is None:
            return f"{call.name}, arguments as sent", self._text(call.arguments)
        inline = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
        has_lines = any(isinstance(each, str) and "\n" in each for each in arguments.values())
        if len(inline) <= _ONE_LINE and not has_lines:
            return f"{call.name}({inline})", []
        below = []
        for name, value in arguments.items():
            text = value if isinstance(value, str) else _value(value)
            first, *rest = self._text(text)
            below += [f"{name}: {first}", *(f"  {line}" for line in rest)]
        return call.name, below

    def _text(self, text: str) -> list[str]:
        lines = _lines(text)
        if self._full:
            return lines
        shown, room = [], _SHORT_CHARACTERS if len(lines) < _SHORT_LINES else len(text)
        for line in lines[:_SHORT_LINES]:
            shown.append(line[:room])
            room -= len(line)
            if room <= 0:
                break
        left = len(text) - len("\n".join(shown))
        if left > len(_MORE):
            return [*shown, _MORE.format(left)]
        return lines


_MORE: Final = "[... {:,} characters more; --full shows them]"


def _late(view: WindowView, *, full: bool) -> Iterator[str]:
    """The replies of the ledger, which no conversation has."""
    for answer in view.record.late:
        yield ""
        yield (
            f"Late reply      to request {answer.request} of attempt {answer.attempt}, paid but "
            "part of no conversation:"
        )
        yield f"{_STEP}it came for {shown(answer.owner)}, which had lost the run"
        yield from (f"{_STEP}{line}" for line in _Story(full).reply(answer.reply))


def _described(reply: Reply) -> str:
    usage = reply.usage
    took = "usage missing"
    if usage is not None:
        took = (
            f"{usage.input_tokens:,} tokens in ({usage.cached_input_tokens:,} cached), "
            f"{usage.output_tokens:,} out ({usage.reasoning_tokens:,} reasoning)"
        )
    first = reply.first_token_seconds
    begun = "" if first is None else f", first token after {first:.1f} s"
    calls = len(reply.tool_calls)
    held = f"{calls} call{'' if calls == 1 else 's'}" if calls else "no call"
    ended = "" if reply.stop in ("tool_calls", "finished") else f", ended by {reply.stop_reason}"
    return f"{held}{ended}; {took}; {reply.latency_seconds:.1f} s{begun}"


def _files(view: WindowView) -> Iterator[str]:
    changes = {
        event.file_change.path: event.file_change
        for event in view.events
        if isinstance(event, ToolReceipt) and event.file_change is not None
    }
    for path, change in changes.items():
        size = f"{len(change.content):,} characters"
        yield f"File written    {path}, version {change.version}, {size}"


def _decision(view: WindowView) -> Iterator[str]:
    decision = view.decision
    if decision is None:
        yield (
            "Decision        none; standing policies go on"
            if view.record.settled
            else ("Decision        not sealed")
        )
        return
    data = decision.model_dump(mode="json", exclude_none=True)
    changes = list(_changes(data))
    yield f"Decision        {'' if changes else 'a hold: nothing changes'}".rstrip()
    yield from (f"{_STEP}{line}" for line in changes)


def _changes(data: dict[str, Any]) -> Iterator[str]:
    for product, settings in data["products"].items():
        amounts = ", ".join(_amount(name, value) for name, value in settings.items())
        yield f"{product}: {amounts}"
    for segment, budgets in data["marketing"].items():
        amounts = ", ".join(f"{channel} {dollars(cents)}" for channel, cents in budgets.items())
        yield f"marketing {segment}: {amounts} a day"
    for name in ("reliability_budget_cents", "support_budget_cents"):
        if name in data:
            yield f"{_amount(name, data[name])} a day"
    if "innovation_tier" in data:
        yield f"innovation project of tier {data['innovation_tier']}"
    if "capacity" in data:
        capacity = data["capacity"]
        subject = capacity.get("project_id") or f"to tier {capacity['target_tier']}"
        yield f"capacity: {capacity['action']} {subject}"
    for tender, cents in data["bids"].items():
        yield f"bid on {tender}: {dollars(cents)} a unit"
    for order in data["research"]:
        yield f"market research on {order['segment_id']}, level {order['level']}"


def _receipts(receipts: tuple[ActionReceipt, ...]) -> Iterator[str]:
    if receipts:
        yield "Came of it"
    for receipt in receipts:
        refund = f", refund {dollars(receipt.refund_cents)}" if receipt.refund_cents else ""
        yield (
            f"{_STEP}{receipt.kind} {receipt.subject}: {receipt.outcome}, "
            f"charge {dollars(receipt.charge_cents)}{refund}, effective day {receipt.effective_day}"
        )


def _amount(name: str, value: int) -> str:
    if name.endswith("_cents"):
        return f"{name.removesuffix('_cents').replace('_', ' ')} {dollars(value)}"
    return f"{name.replace('_', ' ')} {value:,}"


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(text: str) -> list[str]:
    # Before the lines are told apart: some of these characters end one.
    return harmless(text).splitlines() or [""]
