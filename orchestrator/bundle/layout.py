"""Which files a bundle has, and what a row of each of them is.

Every run has a folder. Its record tables (`campaigns.records`) are Parquet; what settles the run
again, and what this must lead to, are JSON Lines. Rows stand in the order of their first fields.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from campaigns.plan import PlannedRun
from campaigns.records import TABLES
from engine.records import PublicDay
from engine.state import WorldState
from orchestrator.bundle.named import named

RUNS: Final = "runs"
EARLIER_PLANS: Final = "earlier_plans"
ANALYSIS: Final = "analysis"
SCHEMAS: Final = "schemas"

BEGINNINGS: Final = "beginnings.jsonl"
PLANNED: Final = "planned.json"
DECISIONS: Final = "decisions.jsonl"
RECEIPTS: Final = "receipts.jsonl"
DAYS: Final = "days.jsonl"
BOUNDARIES: Final = "boundaries.jsonl"
ENVIRONMENTS: Final = "environments.jsonl"
ATTEMPT_FAILURES: Final = "attempt_failures.jsonl"
FRESH_ATTEMPTS: Final = "fresh_attempts.jsonl"
CONVERSATIONS: Final = "conversations.jsonl"

_LONGEST_FOLDER: Final = 100


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file."""


class DecisionRow(_Row, frozen=True, kw_only=True):
    """One closed company-window: how it closed and, when it was sealed, the decision.

    `decision` is the canonical JSON (RFC 8785) that was sealed, byte for byte, or null;
    `decision_digest` is the digest of those bytes. `identity` is the name under which `candidate`
    decided: a policy's own name or the hash of a model's route.
    """

    world_version: int
    seat: int
    status: str
    candidate: str
    identity: str
    decision_digest: str | None
    decision: msgspec.Raw


class BeginningRow(_Row, frozen=True, kw_only=True):
    """A run of an extended campaign that began under a plan before the present one."""

    run_id: str
    plan_hash: str


class ReceiptRow(_Row, frozen=True, kw_only=True):
    """What became of one action of a decision at the settlement; money in cents."""

    world_version: int
    seat: int
    number: int
    kind: str
    subject: str
    decided_day: int
    charge_cents: int
    refund_cents: int
    outcome: str
    effective_day: int


class EnvironmentRow(_Row, frozen=True, kw_only=True):
    """What a run was played with from the time its lease had this epoch."""

    epoch: int
    package: str
    interpreter: dict[str, str]
    libraries: dict[str, str]


class AttemptFailureRow(_Row, frozen=True, kw_only=True):
    """An attempt that failed, and what the supervisor made of it. `ordinal` is that of the event in
    the attempt's journal; `verdict` is `fresh attempt N`, `waits for a person` or `no attempt`.
    """

    world_version: int
    seat: int
    attempt: int
    ordinal: int
    status: str
    cause: str
    needs_person: bool
    reason: str
    verdict: str
    verdict_reason: str


class FreshAttemptRow(_Row, frozen=True, kw_only=True):
    """A fresh attempt at a company-window, numbered from 1: who granted it and why, and the digest
    of the private files with which it began.
    """

    world_version: int
    seat: int
    attempt: int
    granted_by: str
    reason: str
    files_digest: str


class Call(_Row, frozen=True, kw_only=True):
    """A tool call of a reply; `arguments` is the model's text."""

    call_id: str
    name: str
    arguments: str


class ConversationRow(_Row, frozen=True, kw_only=True):
    """One thing said in an attempt at a company-window; nothing of a model's reasoning.

    `kind`: the briefing, a model's reply, a late reply (paid for, but in no conversation), the
    result of a call, a correction or a notice of the harness. `calls` are those of a reply;
    `call_id`, `tool` and `ok` belong to a result; `ok` is false when the call was refused.
    `seconds` of the attempt's active time had gone by.
    """

    world_version: int
    seat: int
    attempt: int
    number: int
    kind: Literal["briefing", "reply", "late_reply", "tool_result", "correction", "notice"]
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    tool: str | None = None
    ok: bool | None = None
    seconds: float


DayRow: Final[Any] = msgspec.defstruct(
    "DayRow",
    [
        ("day", int),
        ("world_version", int),
        ("state_digest", str),
        ("record_digest", str),
        ("public", named(PublicDay)),
    ],
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    namespace={
        "__doc__": "One settled day: the digest of the world's state at its end "
        "(docs/state-encoding.md), that of the whole record of the day, all companies included, "
        "and what everyone may know of it. `world_version` is that of its window.",
    },
)

BoundaryRow: Final[Any] = msgspec.defstruct(
    "BoundaryRow",
    [("world_version", int), ("day", int), ("state_digest", str), ("state", named(WorldState))],
    forbid_unknown_fields=True,
    namespace={
        "__doc__": "The whole state of the world at one window boundary, that of day 0 included, "
        "and its digest (docs/state-encoding.md). The last one is the terminal state of a "
        "completed run."
    },
)

ROWS: Final[dict[str, Any]] = {
    BEGINNINGS: BeginningRow,
    DECISIONS: DecisionRow,
    RECEIPTS: ReceiptRow,
    DAYS: DayRow,
    BOUNDARIES: BoundaryRow,
    ENVIRONMENTS: EnvironmentRow,
    ATTEMPT_FAILURES: AttemptFailureRow,
    FRESH_ATTEMPTS: FreshAttemptRow,
    CONVERSATIONS: ConversationRow,
}
"""The type of a row of each file of JSON Lines, by its name."""


def run_folder(planned: PlannedRun) -> str:
    """The folder of a run: named after it, and shortened where no file system takes the name."""
    name = planned.run_id
    if len(name) > _LONGEST_FOLDER:
        name = f"{name[:_LONGEST_FOLDER]}.{planned.position}"
    return f"{RUNS}/{name}"


def earlier_plan_file(plan_hash: str) -> str:
    """The file of a manifest that an extended campaign had before."""
    return f"{EARLIER_PLANS}/{plan_hash.partition(':')[2][:16]}.json"


def table_file(table: str) -> str:
    """The file of a record table in a run's folder."""
    assert table in TABLES
    return f"{table}.parquet"
