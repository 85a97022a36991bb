"""How the companies of a run decided, as records: from settled windows and the models' journals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any, Final, NamedTuple, TypedDict

import msgspec

from campaigns.analysis.statements import if_then_statements
from campaigns.plan import PlannedRun
from campaigns.records import (
    AttemptRecord,
    CompanyWindowRecord,
    FailureRecord,
    NoteRecord,
    QueryRecord,
    ReplyRecord,
)
from engine.decision import CompanyDecision
from manifests.canonical import parse_json
from manifests.errors import InputError
from orchestrator.session.events import (
    Answered,
    Event,
    Failed,
    Interrupted,
    ToolReceipt,
    decode_event,
)
from orchestrator.session.files import FileChange
from orchestrator.session.reading import read_attempts
from orchestrator.session.tools.sql import QUERY_COMPANY
from orchestrator.session.windows import Attempt
from orchestrator.store import AttemptKey, RunStore, SessionReader
from providers.contract import Reply, ToolCall, Usage


class _Place(TypedDict):
    """The key columns that all records of one attempt share."""

    run_id: str
    world_version: int
    seat: int
    candidate: str
    attempt: int


class _Told(NamedTuple):
    """What the journals of a run tell, table by table."""

    attempts: list[tuple[AttemptKey, Attempt]]
    replies: list[ReplyRecord]
    failures: list[FailureRecord]
    queries: list[QueryRecord]
    notes: list[NoteRecord]


class Journal:
    """The sessions of one run as records, as they stood when they were first asked for. The events
    of one window of the world are in memory at a time.
    """

    def __init__(self, store: RunStore, planned: PlannedRun) -> None:
        self._sessions = SessionReader(store)
        self._planned = planned

    @property
    def folded(self) -> list[tuple[AttemptKey, Attempt]]:
        """Every attempt that has begun, as its events fold to."""
        return self._told.attempts

    def attempts(self) -> Iterator[AttemptRecord]:
        """By world version, seat and attempt."""
        for key, attempt in self.folded:
            counts = msgspec.structs.asdict(attempt.counts)
            yield AttemptRecord(
                **self._place(key),
                status=attempt.status.value,
                replies=attempt.use.replies,
                finalization_replies=attempt.use.final_replies,
                failures=counts.pop("faults"),
                active_seconds=attempt.use.seconds,
                **counts,
            )

    def replies(self) -> Iterator[ReplyRecord]:
        """By world version, seat, attempt and request; then those that came late."""
        yield from self._told.replies
        for late in self._sessions.late_replies():
            event = decode_event(late.body)
            if isinstance(event, Answered):
                yield self._reply(late.key, event, is_late=True)

    def failures(self) -> Iterator[FailureRecord]:
        """By world version, seat, attempt and request."""
        yield from self._told.failures

    def queries(self) -> Iterator[QueryRecord]:
        """By world version, seat, attempt and number."""
        yield from self._told.queries

    def notes(self) -> Iterator[NoteRecord]:
        """In the order in which they were written."""
        yield from self._told.notes

    @cached_property
    def _told(self) -> _Told:
        """What all attempts tell, in one reading: unpacking events takes most of the time."""
        told = _Told([], [], [], [], [])
        for key, attempt, events in read_attempts(self._sessions, ("tool_receipt",)):
            told.attempts.append((key, attempt))
            calls = _calls(events)
            number = 0
            for event in events:
                match event:
                    case Answered():
                        told.replies.append(self._reply(key, event, is_late=False))
                    case Failed() | Interrupted():
                        told.failures.append(self._failure(key, event))
                    case ToolReceipt(name=QUERY_COMPANY.name):
                        number += 1
                        told.queries.append(self._query(key, number, event, calls))
                    case ToolReceipt(file_change=FileChange() as change):
                        told.notes.append(self._note(key, change))
        return told

    def _place(self, key: AttemptKey) -> _Place:
        return _Place(
            run_id=self._planned.run_id,
            world_version=key.version,
            seat=key.seat,
            candidate=self._planned.lineup[key.seat - 1],
            attempt=key.attempt,
        )

    def _reply(self, key: AttemptKey, event: Answered, *, is_late: bool) -> ReplyRecord:
        reply = event.reply
        return ReplyRecord(
            **self._place(key),
            request=event.ordinal,
            is_late=is_late,
            requested_model=reply.requested_model,
            returned_model=reply.returned_model,
            build=reply.fingerprint,
            request_id=reply.request_id,
            stop=reply.stop,
            tool_calls=len(reply.tool_calls),
            **_tokens(reply),
            latency_seconds=reply.latency_seconds,
            first_token_seconds=reply.first_token_seconds,
        )

    def _query(
        self, key: AttemptKey, number: int, receipt: ToolReceipt, calls: Mapping[str, ToolCall]
    ) -> QueryRecord:
        return QueryRecord(
            **self._place(key),
            number=number,
            is_answered=receipt.ok,
            sql=_statement(calls.get(receipt.call_id)),
        )

    def _note(self, key: AttemptKey, change: FileChange) -> NoteRecord:
        return NoteRecord(
            **self._place(key),
            path=change.path,
            file_version=change.version,
            size=len(change.content.encode()),
            if_then_statements=if_then_statements(change.content),
            text=change.content,
        )

    def _failure(self, key: AttemptKey, event: Failed | Interrupted) -> FailureRecord:
        fault = event.fault if isinstance(event, Failed) else None
        return FailureRecord(
            **self._place(key),
            request=event.ordinal,
            kind="interrupted" if fault is None else fault.kind,
            http_status=None if fault is None else fault.status,
            code=None if fault is None else fault.code,
            is_possibly_billed=True if fault is None else fault.maybe_billed,
        )


def company_windows(
    store: RunStore,
    planned: PlannedRun,
    journal: Journal,
    window_days: int,
    models: frozenset[str],
) -> Iterator[CompanyWindowRecord]:
    """The run's windows by world version and seat, open ones of models included.

    Raises:
        IntegrityError: a stored decision is not what was sealed.
    """
    # In this order: a window that is settled in between has its attempts, too.
    settled = {(found.version, found.seat): found for found in store.company_windows()}
    attempts = {
        place: [attempt for _, attempt in found]
        for place, found in groupby(journal.folded, lambda entry: entry[0][:2])
    }
    for version, seat in sorted({*settled, *attempts}):
        closed = settled.get((version, seat))
        own = attempts.get((version, seat), [])
        decision = None if closed is None else closed.decision
        candidate = planned.lineup[seat - 1]
        yield CompanyWindowRecord(
            run_id=planned.run_id,
            world_version=version,
            day=version * window_days,
            seat=seat,
            candidate=candidate,
            is_model=candidate in models,
            status=(own[-1] if closed is None else closed).status.value,
            is_settled=closed is not None,
            attempts=len(own),
            has_decision=decision is not None,
            **settings_written(decision),
        )


def settings_written(decision: CompanyDecision | None) -> dict[str, int]:
    """How many fields a sealed decision writes, by the columns of `CompanyWindowRecord`."""
    if decision is None:
        return dict.fromkeys(_SETTINGS, 0)
    products = decision.products.values()
    return {
        "price_settings": _present(each.price_cents for each in products)
        + _present(each.promotion_cents for each in products),
        "stock_settings": _present(each.reorder_target for each in products),
        "marketing_settings": sum(len(budgets) for budgets in decision.marketing.values()),
        "development_settings": _present(each.daily_development_budget_cents for each in products)
        + _present([decision.innovation_tier]),
        "service_settings": _present(
            [decision.reliability_budget_cents, decision.support_budget_cents]
        ),
        "capacity_settings": _present([decision.capacity]),
        "bid_settings": len(decision.bids),
        "research_settings": len(decision.research),
    }


_SETTINGS: Final = tuple(
    name for name in CompanyWindowRecord.__struct_fields__ if name.endswith("_settings")
)


def _present(values: Iterable[object]) -> int:
    return sum(value is not None for value in values)


def _calls(events: Iterable[Event]) -> dict[str, ToolCall]:
    """The calls of all replies by id; of calls with one id the first counts, as it is the one that
    runs.
    """
    calls: dict[str, ToolCall] = {}
    for event in events:
        if isinstance(event, Answered):
            for call in event.reply.tool_calls:
                calls.setdefault(call.call_id, call)
    return calls


def _statement(call: ToolCall | None) -> str:
    """The SQL of a call; the whole arguments when they hold none."""
    if call is None:
        return ""
    try:
        arguments = parse_json(call.arguments, "The arguments")
    except InputError:
        return call.arguments
    sql = arguments.get("sql") if isinstance(arguments, dict) else None
    return sql if isinstance(sql, str) else call.arguments


def _tokens(reply: Reply) -> Mapping[str, Any]:
    if reply.usage is None:
        return dict.fromkeys(_TOKENS)
    return msgspec.structs.asdict(reply.usage)


_TOKENS: Final = Usage.__struct_fields__
