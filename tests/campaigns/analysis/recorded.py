"""Records written out by hand, as a source gives them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, cast

from campaigns.plan import PlannedRun
from campaigns.records import (
    AttemptRecord,
    CompanyDayRecord,
    CompanyWindowRecord,
    FailureRecord,
    NoteRecord,
    QueryRecord,
    Record,
    ReplyRecord,
    Row,
    RunRecord,
)

_SETTINGS = (
    "price",
    "stock",
    "marketing",
    "development",
    "service",
    "capacity",
    "bid",
    "research",
)


def run_record(planned: PlannedRun, **changes: Any) -> RunRecord:
    """A completed run of one window and seven days."""
    fields: dict[str, Any] = {
        "run_id": planned.run_id,
        "campaign": "trial",
        "group": planned.group,
        "repeat": planned.repeat,
        "seed": planned.seed,
        "lineup_label": planned.lineup_label,
        "lineup": planned.lineup,
        "replaced": planned.replaced,
        "baseline": planned.baseline,
        "stage": planned.stage,
        "status": "completed",
        "reason": "",
        "day": 7,
        "world_version": 1,
    }
    return RunRecord(**(fields | changes))


class Recorded:
    """A run whose rows are given."""

    def __init__(self, run: RunRecord, rows: Sequence[Record]) -> None:
        self.run = run
        self._rows: dict[type[Record], list[Record]] = defaultdict(list)
        for row in rows:
            self._rows[type(row)].append(row)

    def rows(self, table: type[Row]) -> Iterator[Row]:
        """The rows of one table, in the order given."""
        return iter(cast("list[Row]", self._rows[table]))


def window(version: int, status: str, **changes: Any) -> CompanyWindowRecord:
    """A settled window of ada's in seat 1, with one attempt and no settings."""
    fields: dict[str, Any] = {
        "run_id": "one",
        "world_version": version,
        "day": 7 * version,
        "seat": 1,
        "candidate": "ada",
        "is_model": True,
        "status": status,
        "is_settled": True,
        "attempts": 1,
        "has_decision": status == "sealed",
        **{f"{kind}_settings": 0 for kind in _SETTINGS},
    }
    return CompanyWindowRecord(**(fields | changes))


def attempt(version: int, status: str, replies: int, **changes: Any) -> AttemptRecord:
    """An attempt of ada's: ten output tokens and two calls for a reply."""
    fields: dict[str, Any] = {
        "run_id": "one",
        "world_version": version,
        "seat": 1,
        "candidate": "ada",
        "attempt": 0,
        "status": status,
        "replies": replies,
        "finalization_replies": 0,
        "tool_calls": 2 * replies,
        "input_tokens": 0,
        "cached_input_tokens": 0,
        "output_tokens": 10 * replies,
        "reasoning_tokens": 0,
        "cache_written_tokens": 0,
        "replies_without_usage": 0,
        "possibly_billed": 0,
        "failures": 0,
        "active_seconds": 1.0,
    }
    return AttemptRecord(**(fields | changes))


def _place(version: int, attempt_number: int) -> dict[str, Any]:
    return {
        "run_id": "one",
        "world_version": version,
        "seat": 1,
        "candidate": "ada",
        "attempt": attempt_number,
    }


def query(version: int, number: int, attempt_number: int = 0) -> QueryRecord:
    """A query of ada's."""
    return QueryRecord(
        **_place(version, attempt_number), number=number, is_answered=True, sql="SELECT 1"
    )


def note(version: int, statements: int, attempt_number: int = 0) -> NoteRecord:
    """A note of ada's with so many if-then statements; its text is left out."""
    return NoteRecord(
        **_place(version, attempt_number),
        path="MEMORY.md",
        file_version=1,
        size=10,
        if_then_statements=statements,
        text=None,
    )


def late(version: int, usage: tuple[int, int, int, int] | None) -> ReplyRecord:
    """A reply of ada's that came too late; usage is input, cached, output, reasoning tokens."""
    tokens = usage or (None, None, None, None)
    return answered(
        version,
        is_late=True,
        input_tokens=tokens[0],
        cached_input_tokens=tokens[1],
        output_tokens=tokens[2],
        reasoning_tokens=tokens[3],
    )


def answered(version: int, **changes: Any) -> ReplyRecord:
    """A reply of ada's."""
    fields: dict[str, Any] = {
        **_place(version, 0),
        "request": 1,
        "is_late": False,
        "requested_model": "m",
        "returned_model": "m",
        "build": None,
        "request_id": None,
        "stop": "finished",
        "tool_calls": 1,
        "input_tokens": 1,
        "cached_input_tokens": 0,
        "output_tokens": 1,
        "reasoning_tokens": 0,
        "cache_written_tokens": 0,
        "latency_seconds": 1.0,
        "first_token_seconds": None,
    }
    return ReplyRecord(**(fields | changes))


def failure(kind: str) -> FailureRecord:
    """A request of ada's that had no reply."""
    return FailureRecord(
        **_place(0, 0), request=1, kind=kind, http_status=None, code=None, is_possibly_billed=False
    )


def company_day(run_id: str, day: int, seat: int, **changes: Any) -> CompanyDayRecord:
    """A day on which nothing flows; cash is 1,000 cents."""
    fields: dict[str, Any] = dict.fromkeys(CompanyDayRecord.__struct_fields__, 0) | {
        "run_id": run_id,
        "day": day,
        "seat": seat,
        "candidate": "ada",
        "opening_cash_cents": 1_000,
        "closing_cash_cents": 1_000,
        "exited": False,
    }
    return CompanyDayRecord(**(fields | changes))
