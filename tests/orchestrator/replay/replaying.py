"""Replaying a trial, and changing one stored value of it behind the store's back."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.replay import Difference, ReplayReport, RunReport, replay_campaign
from tests.orchestrator.trial import NAME, REFERENCE

RUNS = 8
SETTLED_ROWS = ("receipts", "company_days", "days", "checkpoints", "company_exits", "outcomes")
ONE_RUN = (REFERENCE,)
SECOND = "version = 1 AND seat = 2"
"""The second window of a company."""


def replay(
    place: Path,
    runs: tuple[str, ...] = (),
    jobs: int = 1,
    against: Path | None = None,
    told: Callable[[RunReport], None] = lambda _report: None,
) -> ReplayReport:
    return replay_campaign(
        str(place), NAME, runs, jobs, None if against is None else str(against), told
    )


def only(report: ReplayReport) -> Difference:
    (difference,) = report.differences
    return difference


def run_file(place: Path, run_id: str = REFERENCE) -> Path:
    return place / "runs" / NAME / f"{run_id}.db"


class Case(NamedTuple):
    """One change of a stored value, and how it must be named."""

    table: str
    column: str
    where: str
    change: Callable[[Any], Any]
    what: str
    field: str
    company: str | None = None
    day: int | None = None
    recorded: Any = None
    recomputed: Any = None


def flip(offset: int, mask: int = 1) -> Callable[[bytes], bytes]:
    """Change one byte."""

    def change(content: bytes) -> bytes:
        return content[:offset] + bytes([content[offset] ^ mask]) + content[offset + 1 :]

    return change


def write(after: str, text: str) -> Callable[[Any], Any]:
    """Overwrite what follows a text for the first time."""

    def change(content: Any) -> Any:
        found = content if isinstance(content, str) else content.decode()
        start = found.index(after) + len(after)
        assert found[start : start + len(text)] != text
        changed = found[:start] + text + found[start + len(text) :]
        return changed if isinstance(content, str) else changed.encode()

    return change


def more(value: int) -> int:
    return value + 1


def longer(text: str) -> str:
    return text + "x"


def change(path: Path, case: Case) -> None:
    """Change one stored value, behind the store's back."""
    with sqlite3.connect(path) as connection:
        (value,) = connection.execute(
            f"SELECT {case.column} FROM {case.table} WHERE {case.where}"
        ).fetchone()
        changed = case.change(value)
        assert changed != value
        connection.execute(
            f"UPDATE {case.table} SET {case.column} = ? WHERE {case.where}", (changed,)
        )
    connection.close()
