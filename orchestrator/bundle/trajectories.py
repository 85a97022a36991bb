"""A run of a bundle window by window: from its decisions, its tables and, where the bundle has
them, its conversations.

A bundle has no journal: waits are not told, of a fault its kind alone, and why a window closed only
where its attempt failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from campaigns.records import (
    AttemptRecord,
    CompanyWindowRecord,
    FailureRecord,
    NoteRecord,
    QueryRecord,
    ReplyRecord,
    RunRecords,
)
from campaigns.records.trajectories import MarketEvent, Offer, Step, WindowStory
from engine.records import PublicDay
from engine.state import decode_state
from orchestrator.bundle.layout import AttemptFailureRow, ConversationRow
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.records import stories
from orchestrator.session.tools.files import EDIT_FILE, WRITE_FILE
from orchestrator.session.tools.sql import QUERY_COMPANY
from orchestrator.store import CompanyWindow, StoredReceipt

_Item = TypeVar("_Item")

_WRITES: Final = (WRITE_FILE.name, EDIT_FILE.name)


class _Day(Protocol):
    @property
    def day(self) -> int: ...

    @property
    def public(self) -> PublicDay: ...


class _Boundary(Protocol):
    @property
    def state(self) -> bytes: ...


class TellingRun(RunRecords, Protocol):
    """What a trajectory is told from: a run of a bundle."""

    def company_windows(self) -> Iterator[CompanyWindow]: ...

    def receipts(self) -> Iterator[StoredReceipt]: ...

    def days(self) -> Iterator[_Day]: ...

    def checkpoints(self) -> Iterator[_Boundary]: ...

    def conversations(self) -> Iterator[ConversationRow]: ...

    def attempt_failures(self) -> Iterator[AttemptFailureRow]: ...


class _Place(NamedTuple):
    """An attempt at a company-window."""

    version: int
    seat: int
    attempt: int


class _Told(NamedTuple):
    """What the files of a bundle tell of one attempt and its window, each in its order; `reason`
    says why the attempt failed.
    """

    attempt: AttemptRecord | None
    replies: Sequence[ReplyRecord]
    faults: Sequence[FailureRecord]
    queries: Sequence[QueryRecord]
    notes: Sequence[NoteRecord]
    reason: str
    closed: CompanyWindow | None
    receipts: Sequence[StoredReceipt]


class _Files:
    """The files of a run but for its conversations, by attempt or by window."""

    def __init__(self, run: TellingRun) -> None:
        self._closed = {(each.version, each.seat): each for each in run.company_windows()}
        self._receipts = _grouped(run.receipts(), lambda each: (each.version, each.seat))
        self._attempts = {_place(each): each for each in run.rows(AttemptRecord)}
        self._failures = _grouped(run.attempt_failures(), _place)
        self._replies = _grouped(run.rows(ReplyRecord), _place)
        self._faults = _grouped(run.rows(FailureRecord), _place)
        self._queries = _grouped(run.rows(QueryRecord), _place)
        self._notes = _grouped(run.rows(NoteRecord), _place)

    def told(self, place: _Place) -> _Told:
        """What they tell of an attempt."""
        failures = self._failures[place]
        return _Told(
            attempt=self._attempts.get(place),
            replies=[each for each in self._replies[place] if not each.is_late],
            faults=self._faults[place],
            queries=self._queries[place],
            notes=self._notes[place],
            reason=failures[-1].reason if failures else "",
            closed=self._closed.get(place[:2]),
            receipts=self._receipts[place[:2]],
        )


class _Answer(msgspec.Struct):
    """What is looked at in the answer of a tool."""

    status: str = ""


class BundledTrajectory:
    """One run. Its tables, and the conversations of one world version, are in memory at a time."""

    def __init__(self, run: TellingRun, products: Sequence[str]) -> None:
        self._run = run
        self._products = products

    def offers(self) -> Iterator[list[list[Offer] | None]]:
        """The standing prices at every boundary, by seat and product."""
        for boundary in self._run.checkpoints():
            yield stories.offers(decode_state(boundary.state))

    def events(self) -> Iterator[MarketEvent]:
        """Exits, tenders and awards, by day."""
        for day in self._run.days():
            yield from stories.market_events(day.day, day.public, self._products)

    def windows(self) -> Iterator[tuple[int, WindowStory]]:
        """Every company-window with its seat, by world version and seat."""
        files, said = _Files(self._run), _Conversations(self._run.conversations())
        for window in self._run.rows(CompanyWindowRecord):
            place = _Place(window.world_version, window.seat, max(window.attempts - 1, 0))
            yield window.seat, _story(window, files.told(place), said.of(place))


def _story(
    window: CompanyWindowRecord, told: _Told, said: Sequence[ConversationRow]
) -> WindowStory:
    steps = _spoken(said, told) if said else _counted(told)
    return WindowStory(
        world_version=window.world_version,
        status=window.status,
        reason=told.reason,
        settled=window.is_settled,
        attempts=window.attempts,
        steps=(*steps, *_end(window, told)),
        decision=None if told.closed is None else stories.written(told.closed.decision),
        receipts=stories.came_of(told.receipts),
    )


def _end(window: CompanyWindowRecord, told: _Told) -> Iterator[Step]:
    """How an attempt of a model ended, if it has."""
    if told.reason and window.status == CompanyWindowStatus.PROVIDER_ERROR:
        yield stories.said(Step(kind="halted", text=told.reason))
    elif told.attempt is not None and window.status != CompanyWindowStatus.OPEN:
        seconds = round(told.attempt.active_seconds, 1)
        yield Step(kind="closed", seconds=seconds, text=window.status)


class _Conversations:
    """The rows of a conversation file by attempt; asked for in its order, read once."""

    def __init__(self, rows: Iterator[ConversationRow]) -> None:
        on_time = takewhile(lambda row: row.kind != "late_reply", rows)
        self._versions = groupby(on_time, lambda row: row.world_version)
        self._version = -1
        self._held: dict[tuple[int, ...], list[ConversationRow]] = {}

    def of(self, place: _Place) -> Sequence[ConversationRow]:
        """What was said in an attempt; nothing where that is left out."""
        while self._version < place.version:
            version, rows = next(self._versions, (place.version, iter(())))
            self._version = version
            self._held = _grouped(rows, _place)
        return self._held.get(place, ())


def _spoken(rows: Sequence[ConversationRow], told: _Told) -> Iterator[Step]:
    """The steps of a conversation; faults stand before the reply that came after them."""
    replies, faults, notes = iter(told.replies), list(told.faults), iter(told.notes)
    arguments: dict[str, str] = {}
    for row in rows:
        seconds = round(row.seconds, 1)
        match row.kind:
            case "reply":
                record = next(replies, None)
                while record is not None and faults and faults[0].request < record.request:
                    yield _fault(faults.pop(0))
                arguments = {call.call_id: call.arguments for call in reversed(row.calls)}
                yield stories.said(_reply(record, seconds, row.text))
            case "tool_result":
                yield _result(row, seconds, arguments.get(row.call_id or "", ""), notes)
            case "briefing" | "correction" | "notice" as kind:
                yield stories.said(Step(kind=kind, seconds=seconds, text=row.text))
    yield from map(_fault, faults)


def _counted(told: _Told) -> Iterator[Step]:
    """What is told of an attempt where what was said is left out."""
    yield from map(_fault, told.faults)
    for reply in told.replies:
        yield _reply(reply, None, "")
    for query in told.queries:
        yield Step(kind="call", tool=QUERY_COMPANY.name, refused=not query.is_answered)
    for note in told.notes:
        yield Step(kind="file", path=note.path, version=note.file_version, left_out=note.size)


def _reply(record: ReplyRecord | None, seconds: float | None, text: str) -> Step:
    return Step(
        kind="reply",
        seconds=seconds,
        text=text,
        input_tokens=0 if record is None else record.input_tokens or 0,
        output_tokens=0 if record is None else record.output_tokens or 0,
    )


def _result(
    row: ConversationRow, seconds: float, arguments: str, notes: Iterator[NoteRecord]
) -> Step:
    tool = row.tool or ""
    # Notes are the writes that changed a file, in their order.
    note = next(notes, None) if row.ok and tool in _WRITES and _changed(row.text) else None
    if note is None:
        return stories.call_step(tool, seconds, arguments, row.text, ok=bool(row.ok))
    return stories.file_step(tool, seconds, note.path, note.file_version, note.text or "")


def _changed(answer: str) -> bool:
    """Whether the answer to a write says that the file was another one before."""
    try:
        return msgspec.json.decode(answer, type=_Answer).status == "written"
    except msgspec.MsgspecError:
        return False


def _fault(fault: FailureRecord) -> Step:
    codes = [str(each) for each in (fault.http_status, fault.code) if each is not None]
    return Step(kind="fault", text=" ".join([fault.kind.replace("_", " "), *codes]))


class _OfAttempt(Protocol):
    @property
    def world_version(self) -> int: ...

    @property
    def seat(self) -> int: ...

    @property
    def attempt(self) -> int: ...


def _place(row: _OfAttempt) -> _Place:
    return _Place(row.world_version, row.seat, row.attempt)


def _grouped(
    rows: Iterable[_Item], key: Callable[[_Item], tuple[int, ...]]
) -> dict[tuple[int, ...], list[_Item]]:
    found: dict[tuple[int, ...], list[_Item]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found
