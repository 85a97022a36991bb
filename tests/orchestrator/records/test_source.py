"""Records from a store agree with what the store and the journals hold."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeVar

import pytest

from campaigns.records import (
    AttemptRecord,
    CompanyDayRecord,
    CompanyOutcome,
    CompanyWindowRecord,
    FailureRecord,
    MarketDayRecord,
    NoteRecord,
    QueryRecord,
    Record,
    ReplyRecord,
    RunRecord,
)
from engine.decision import CompanyDecision
from orchestrator.records import StoreSource
from orchestrator.records.conduct import settings_written
from orchestrator.session.reading import WindowReader
from orchestrator.store import RunKey, SessionStore, Store, open_store
from tests.orchestrator.cli.rehearsed import DAYS, NAME, OPEN, PLAYED, make_store

Row = TypeVar("Row", bound=Record)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    location = make_store(tmp_path_factory.mktemp("rehearsed"))
    with open_store(str(location)) as opened:
        yield opened


def rows(store: Store, table: type[Row], run_id: str | None = None) -> list[Row]:
    return [
        row
        for run in StoreSource(store, NAME).runs()
        for row in run.rows(table)
        if run_id in (None, run.run.run_id)
    ]


def test_runs_say_how_far_they_are(store: Store) -> None:
    played, unfinished = rows(store, RunRecord)
    assert (played.run_id, played.status, played.day, played.world_version) == (
        PLAYED,
        "completed",
        DAYS,
        2,
    )
    assert (unfinished.run_id, unfinished.day) == (OPEN, 0)
    assert played.lineup == ("writer", "rival", "buyer")


def test_company_days_close_to_the_outcome(store: Store) -> None:
    days = rows(store, CompanyDayRecord, PLAYED)
    assert len(days) == 3 * DAYS
    for outcome in rows(store, CompanyOutcome):
        own = [day for day in days if day.seat == outcome.seat]
        assert [day.day for day in own] == list(range(1, DAYS + 1))
        assert own[0].opening_cash_cents == outcome.initial_cash_cents
        assert own[-1].closing_cash_cents == outcome.terminal_cash_cents
        assert sum(day.revenue_cents for day in own) == outcome.revenue_cents
        assert sum(day.consumer_orders for day in own) == outcome.consumer_orders
        assert sum(day.fulfilled_units for day in own) == outcome.fulfilled_units
        assert {day.candidate for day in own} == {outcome.candidate}


def test_market_days_have_the_digests_of_the_store(store: Store) -> None:
    days = rows(store, MarketDayRecord)
    stored = list(store.run(RunKey(NAME, PLAYED)).days())
    assert [(day.day, day.state_digest) for day in days] == [
        (day.day, day.state_digest) for day in stored
    ]
    assert {day.active_companies for day in days} == {3}


def test_windows_and_attempts_are_those_of_the_journal(store: Store) -> None:
    known = list(WindowReader(store, NAME).records())
    windows = rows(store, CompanyWindowRecord)
    assert [(each.run_id, each.day, each.seat, each.status) for each in windows] == [
        (each.run_id, each.day, each.seat, each.status.value) for each in known
    ]
    assert [window.is_settled for window in windows] == [each.settled for each in known]
    assert {window.candidate for window in windows if not window.is_model} == {"rival"}
    attempts = rows(store, AttemptRecord)
    folded = [attempt for each in known for attempt in each.attempts]
    assert len(attempts) == len(folded)
    for attempt, expected in zip(attempts, folded, strict=True):
        assert attempt.replies == expected.use.replies
        assert attempt.tool_calls == expected.counts.tool_calls
        assert attempt.input_tokens == expected.counts.input_tokens
        assert attempt.failures == expected.counts.faults
        assert attempt.possibly_billed == expected.counts.possibly_billed


def test_replies_and_failures_add_up_to_the_attempts(store: Store) -> None:
    replies = [each for each in rows(store, ReplyRecord) if not each.is_late]
    failures = rows(store, FailureRecord)
    for attempt in rows(store, AttemptRecord):
        place = (attempt.run_id, attempt.world_version, attempt.seat, attempt.attempt)
        own = [
            each
            for each in replies
            if (each.run_id, each.world_version, each.seat, each.attempt) == place
        ]
        assert len(own) == attempt.replies + attempt.replies_without_usage
        assert sum(each.output_tokens or 0 for each in own) == attempt.output_tokens
        assert sum(each.tool_calls for each in own if each.input_tokens is not None) == (
            attempt.tool_calls
        )
    assert [
        (each.seat, each.kind, each.http_status, each.is_possibly_billed) for each in failures
    ] == [
        (1, "transient", 503, True),
        (1, "interrupted", None, True),
        (3, "refused", 402, False),
    ]


def test_late_replies_are_those_of_the_ledger(store: Store) -> None:
    late = [each for each in rows(store, ReplyRecord) if each.is_late]
    ledger = [
        (reply.key.version, reply.key.seat, reply.request)
        for run_id in (PLAYED, OPEN)
        for reply in SessionStore(store.run(RunKey(NAME, run_id))).late_replies()
    ]
    assert ledger
    assert [(each.world_version, each.seat, each.request) for each in late] == ledger


def test_settings_are_those_of_the_sealed_decisions(store: Store) -> None:
    decisions = {
        (stored.version, stored.seat): stored.decision
        for stored in store.run(RunKey(NAME, PLAYED)).company_windows()
    }
    for window in rows(store, CompanyWindowRecord, PLAYED):
        decision = decisions[window.world_version, window.seat]
        assert window.has_decision == (decision is not None)
        assert window.marketing_settings == sum(
            len(budgets) for budgets in (decision.marketing.values() if decision else ())
        )


def test_queries_and_notes_are_those_of_the_journal(store: Store) -> None:
    queries, notes = rows(store, QueryRecord), rows(store, NoteRecord)
    assert queries
    assert all(
        query.sql and query.sql.lstrip().upper().startswith(("SELECT", "WITH"))
        for query in queries
        if query.is_answered
    )
    written = Counter((note.seat, note.path) for note in notes if note.run_id == PLAYED)
    sessions = SessionStore(store.run(RunKey(NAME, PLAYED)))
    stored = sessions.files_before(1, 99)
    assert stored
    for path, (text, version) in stored.items():
        assert written[1, path] == version
        (last,) = (
            note
            for note in notes
            if note.run_id == PLAYED and (note.path, note.file_version) == (path, version)
        )
        assert (last.text, last.size) == (text, len(text.encode()))


def test_settings_are_counted_by_kind() -> None:
    decision = CompanyDecision.model_validate(
        {
            "company_id": "company-1",
            "world_version": 0,
            "products": {
                "A": {"price_cents": 1, "promotion_cents": 0, "reorder_target": 5},
                "B": {"price_cents": 2, "daily_development_budget_cents": 3},
            },
            "marketing": {"value": {"search": 1, "social": 0}, "premium": {"search": 2}},
            "reliability_budget_cents": 0,
            "innovation_tier": 1,
            "capacity": {"action": "expand", "target_tier": 2},
            "bids": {"t1": 5, "t2": 6},
            "research": ({"segment_id": "value", "level": 1},),
        }
    )
    assert settings_written(decision) == {
        "price_settings": 3,
        "stock_settings": 1,
        "marketing_settings": 3,
        "development_settings": 2,
        "service_settings": 1,
        "capacity_settings": 1,
        "bid_settings": 2,
        "research_settings": 1,
    }
    assert set(settings_written(None).values()) == {0}
