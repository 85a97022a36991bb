"""A run of a store window by window, read from what is settled and from the models' journals."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from campaigns.records.trajectories import CameOf, MarketEvent, Offer, Step, WindowStory
from engine.records import PublicDay
from engine.scenario import Scenario
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import (
    Answered,
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
    WindowOpened,
    decode_event,
)
from orchestrator.session.tools.sql import QUERY_COMPANY
from orchestrator.store import CompanyWindow, RunStore, SessionReader, StoredReceipt, read_day
from providers.contract import ToolCall

LONGEST_QUERY: Final = 4_000
LONGEST_RESULT: Final = 2_000
LONGEST_TEXT: Final = 60_000
"""Characters that are kept of a query's result, of another call's, and of everything else."""

_TOLD: Final = (
    "window_opened",
    "answered",
    "failed",
    "interrupted",
    "wait_began",
    "tool_receipt",
    "corrected",
    "finalization_began",
    "halted",
    "resumed",
    "closed",
)


class StoredTrajectory:
    """One run. What it reads of a company's journal is in memory for the time of its windows."""

    def __init__(self, store: RunStore, scenario: Scenario) -> None:
        self._store = store
        self._scenario = scenario

    def offers(self) -> Iterator[list[list[Offer] | None]]:
        """The standing prices at every boundary, by seat and product."""
        for boundary in self._store.checkpoints():
            yield [
                list(map(Offer, firm.price_cents, firm.promotion_cents)) if firm.active else None
                for firm in boundary.world().firms
            ]

    def events(self) -> Iterator[MarketEvent]:
        """Exits, tenders and awards, by day."""
        for stored in self._store.days():
            record = read_day(stored.details, f"the record of day {stored.day}")
            yield from self._public(stored.day, record.public)

    def windows(self, seat: int) -> Iterator[WindowStory]:
        """A company's windows by world version."""
        # In this order: a window that is settled in between has its attempts, too.
        settled = {
            each.version: each for each in self._store.company_windows() if each.seat == seat
        }
        receipts: dict[int, list[StoredReceipt]] = defaultdict(list)
        for receipt in self._store.receipts():
            if receipt.seat == seat:
                receipts[receipt.version].append(receipt)
        journals: dict[int, list[bytes]] = {}
        attempts: dict[int, int] = defaultdict(int)
        for key, bodies in sorted(SessionReader(self._store).of_kinds(_TOLD, seat=seat).items()):
            journals[key.version] = bodies
            attempts[key.version] += 1
        for version in sorted({*settled, *journals}):
            events = [decode_event(body) for body in journals.get(version, ())]
            yield _story(
                version, settled.get(version), attempts[version], events, receipts[version]
            )

    def _public(self, day: int, public: PublicDay) -> Iterator[MarketEvent]:
        products = self._scenario.product_ids
        for seat in public.exited_seats:
            yield MarketEvent(day=day, kind="exit", seat=seat)
        for notice in public.opened:
            yield MarketEvent(
                day=day,
                kind="tender",
                tender=notice.tender_id,
                product=products[notice.product],
                units=notice.units,
                unit_price_cents=notice.reservation_price_cents,
            )
        for award in public.awards:
            yield MarketEvent(
                day=day,
                kind="unfilled" if award.winner_seat is None else "award",
                seat=award.winner_seat,
                tender=award.tender_id,
                product=products[award.product],
                units=award.units,
                unit_price_cents=award.unit_price_cents,
            )


def _story(
    version: int,
    settled: CompanyWindow | None,
    attempts: int,
    events: Sequence[Event],
    receipts: Iterable[StoredReceipt],
) -> WindowStory:
    status, reason = CompanyWindowStatus.OPEN, ""
    for event in events:
        if isinstance(event, Closed):
            status, reason = event.status, event.reason
        elif isinstance(event, Halted):
            status, reason = CompanyWindowStatus.PROVIDER_ERROR, event.reason
    decision = None if settled is None else settled.decision
    return WindowStory(
        world_version=version,
        status=(status if settled is None else settled.status).value,
        reason="" if reason == status.value else reason,
        settled=settled is not None,
        attempts=attempts,
        steps=tuple(_steps(events)),
        decision=None if decision is None else _written(decision.model_dump(mode="json")),
        receipts=tuple(
            CameOf(
                kind=stored.receipt.kind,
                subject=stored.receipt.subject,
                charge_cents=stored.receipt.charge_cents,
                refund_cents=stored.receipt.refund_cents,
                effective_day=stored.receipt.effective_day,
            )
            for stored in receipts
        ),
    )


def _written(decision: dict[str, Any]) -> dict[str, Any]:
    """The fields that a decision writes, without those that it leaves as they are."""
    found: dict[str, Any] = {}
    for name, value in decision.items():
        if name in {"company_id", "world_version"}:
            continue
        kept = _written(value) if isinstance(value, dict) else value
        if kept not in (None, {}, []):
            found[name] = kept
    return found


def _steps(events: Iterable[Event]) -> Iterator[Step]:
    calls: dict[str, ToolCall] = {}
    for event in events:
        if isinstance(event, Answered):
            calls = {call.call_id: call for call in reversed(event.reply.tool_calls)}
        yield _step(event, calls)


def _step(event: Event, calls: dict[str, ToolCall]) -> Step:  # noqa: C901 - a flat list of kinds
    seconds = round(event.active_seconds, 1)
    match event:
        case WindowOpened():
            return _said(Step(kind="briefing", seconds=seconds, text=event.briefing))
        case Answered():
            usage = event.reply.usage
            return _said(
                Step(
                    kind="reply",
                    seconds=seconds,
                    text=event.reply.text,
                    input_tokens=0 if usage is None else usage.input_tokens,
                    output_tokens=0 if usage is None else usage.output_tokens,
                )
            )
        case ToolReceipt():
            return _call(event, calls.get(event.call_id), seconds)
        case Corrected():
            return _said(Step(kind="correction", seconds=seconds, text=event.text))
        case FinalizationBegan():
            return _said(Step(kind="notice", seconds=seconds, text=event.text))
        case Failed(fault=fault):
            codes = [str(each) for each in (fault.status, fault.code) if each is not None]
            told = " ".join([fault.kind.replace("_", " "), *codes])
            return _said(Step(kind="fault", seconds=seconds, text=f"{told}: {fault.message}"))
        case Interrupted():
            return Step(kind="fault", seconds=seconds, text="interrupted: the process ended")
        case WaitBegan():
            return Step(kind="wait", seconds=seconds, text=f"{event.seconds:,.1f} s")
        case Halted():
            return _said(Step(kind="halted", seconds=seconds, text=event.reason))
        case Resumed():
            return Step(kind="resumed", seconds=seconds)
        case Closed():
            return Step(kind="closed", seconds=seconds, text=event.status.value)
    raise AssertionError(f"nothing is told of {event}")


def _call(event: ToolReceipt, call: ToolCall | None, seconds: float) -> Step:
    change = event.file_change
    if change is not None:
        content, left_out = _cut(change.content, LONGEST_TEXT)
        return Step(
            kind="file",
            seconds=seconds,
            tool=event.name,
            path=change.path,
            version=change.version,
            content=content,
            left_out=left_out,
        )
    is_query = event.name == QUERY_COMPANY.name
    text, left_out = (
        _cut_rows(event.text) if is_query and event.ok else _cut(event.text, LONGEST_RESULT)
    )
    return Step(
        kind="call",
        seconds=seconds,
        tool=event.name,
        arguments="" if call is None else _cut(call.arguments, LONGEST_QUERY)[0],
        text=text,
        refused=not event.ok,
        left_out=left_out,
    )


def _said(step: Step) -> Step:
    text, left_out = _cut(step.text, LONGEST_TEXT)
    return msgspec.structs.replace(step, text=text, left_out=left_out)


def _cut_rows(text: str) -> tuple[str, int]:
    """A query's result with its first rows, and how many characters are left out."""
    if len(text) <= LONGEST_QUERY:
        return text, 0
    result = msgspec.json.decode(text)
    rows, room = [], LONGEST_QUERY
    for row in result["rows"]:
        room -= len(msgspec.json.encode(row))
        if room < 0:
            break
        rows.append(row)
    shown = msgspec.json.encode(result | {"rows": rows}).decode()
    return shown, len(text) - len(shown)


def _cut(text: str, longest: int) -> tuple[str, int]:
    """The beginning of a text, and how many characters are left out."""
    return text[:longest], max(0, len(text) - longest)
