"""A run of a store window by window, read from what is settled and from the models' journals."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from campaigns.records.trajectories import MarketEvent, Offer, Step, WindowStory
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.records import stories
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
from orchestrator.store import CompanyWindow, RunStore, SessionReader, StoredReceipt, read_day
from providers.contract import ToolCall

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
    """One run. The journals of one world version are in memory at a time."""

    def __init__(self, store: RunStore, products: Sequence[str]) -> None:
        self._store = store
        self._products = products

    def offers(self) -> Iterator[list[list[Offer] | None]]:
        """The standing prices at every boundary, by seat and product."""
        return (stories.offers(boundary.world()) for boundary in self._store.checkpoints())

    def events(self) -> Iterator[MarketEvent]:
        """Exits, tenders and awards, by day."""
        for stored in self._store.days():
            record = read_day(stored.details, f"the record of day {stored.day}")
            yield from stories.market_events(stored.day, record.public, self._products)

    def windows(self) -> Iterator[tuple[int, WindowStory]]:
        """Every company-window with its seat, by world version and seat."""
        # In this order: a window that is settled in between has its attempts, too.
        settled: dict[int, dict[int, CompanyWindow]] = defaultdict(dict)
        for window in self._store.company_windows():
            settled[window.version][window.seat] = window
        receipts: dict[tuple[int, int], list[StoredReceipt]] = defaultdict(list)
        for receipt in self._store.receipts():
            receipts[receipt.version, receipt.seat].append(receipt)
        sessions = SessionReader(self._store)
        begun = {key.version for key in sessions.attempts()}
        for version in sorted({*settled, *begun}):
            last: dict[int, list[bytes]] = {}
            attempts: dict[int, int] = defaultdict(int)
            if version in begun:
                for key, bodies in sorted(sessions.of_kinds(_TOLD, version).items()):
                    last[key.seat] = bodies
                    attempts[key.seat] += 1
            for seat in sorted({*settled[version], *last}):
                yield (
                    seat,
                    _story(
                        version,
                        settled[version].get(seat),
                        attempts[seat],
                        [decode_event(body) for body in last.get(seat, ())],
                        receipts[version, seat],
                    ),
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
        elif isinstance(event, Resumed):
            status, reason = CompanyWindowStatus.OPEN, ""
    return WindowStory(
        world_version=version,
        status=(status if settled is None else settled.status).value,
        reason="" if reason == status.value else reason,
        settled=settled is not None,
        attempts=attempts,
        steps=tuple(_steps(events)),
        decision=None if settled is None else stories.written(settled.decision),
        receipts=stories.came_of(receipts),
    )


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
            return stories.said(Step(kind="briefing", seconds=seconds, text=event.briefing))
        case Answered():
            usage = event.reply.usage
            return stories.said(
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
            return stories.said(Step(kind="correction", seconds=seconds, text=event.text))
        case FinalizationBegan():
            return stories.said(Step(kind="notice", seconds=seconds, text=event.text))
        case Failed(fault=fault):
            codes = [str(each) for each in (fault.status, fault.code) if each is not None]
            told = " ".join([fault.kind.replace("_", " "), *codes])
            return stories.said(
                Step(kind="fault", seconds=seconds, text=f"{told}: {fault.message}")
            )
        case Interrupted():
            return Step(kind="fault", seconds=seconds, text="interrupted: the process ended")
        case WaitBegan():
            return Step(kind="wait", seconds=seconds, text=f"{event.seconds:,.1f} s")
        case Halted():
            return stories.said(Step(kind="halted", seconds=seconds, text=event.reason))
        case Resumed():
            return Step(kind="resumed", seconds=seconds)
        case Closed():
            return Step(kind="closed", seconds=seconds, text=event.status.value)
    raise AssertionError(f"nothing is told of {event}")


def _call(event: ToolReceipt, call: ToolCall | None, seconds: float) -> Step:
    change = event.file_change
    if change is not None:
        return stories.file_step(event.name, seconds, change.path, change.version, change.content)
    arguments = "" if call is None else call.arguments
    return stories.call_step(event.name, seconds, arguments, event.text, ok=event.ok)
