"""What a run settles, and how it stands."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    LargeBinary,
    Table,
    Text,
)

from engine.records import ActionReceipt, Ledger
from orchestrator.store.schema.columns import (
    Number,
    binary,
    integer,
    key,
    metadata,
    of_run,
    text,
)

run_states: Final = Table(
    "run_states",
    metadata,
    of_run(),
    text("status"),
    text("reason"),
    integer("world_version"),
    integer("day"),
    integer("updated_at"),
)

# Every change of a run's status, so that none of its failures is forgotten.
run_transitions: Final = Table(
    "run_transitions",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("run", BigInteger, ForeignKey("runs.run"), nullable=False),
    integer("at"),
    text("status"),
    text("reason"),
    integer("epoch"),
)

run_leases: Final = Table(
    "run_leases",
    metadata,
    of_run(),
    Column("owner", Text),
    integer("epoch"),
    integer("expires_at"),
)

# The interpreter and the libraries with which the owner of each epoch plays.
run_environments: Final = Table(
    "run_environments", metadata, of_run(), key("epoch"), binary("content")
)

checkpoints: Final = Table(
    "checkpoints",
    metadata,
    of_run(),
    key("version"),
    integer("day"),
    binary("state"),
    text("state_digest"),
    integer("epoch"),
    integer("committed_at"),
)

company_windows: Final = Table(
    "company_windows",
    metadata,
    of_run(),
    key("version"),
    key("seat"),
    text("status"),
    text("candidate"),
    text("identity"),
    Column("decision", LargeBinary),
    Column("decision_digest", Text),
)

RECEIPT_FIELDS: Final = ActionReceipt.__struct_fields__
_RECEIPT_TEXTS: Final = ("kind", "subject", "outcome")

receipts: Final = Table(
    "receipts",
    metadata,
    key("run"),
    key("version"),
    key("seat"),
    key("number"),
    *(text(name) if name in _RECEIPT_TEXTS else integer(name) for name in RECEIPT_FIELDS),
    ForeignKeyConstraint(
        ["run", "version", "seat"],
        ["company_windows.run", "company_windows.version", "company_windows.seat"],
    ),
)

days: Final = Table(
    "days",
    metadata,
    of_run(),
    key("day"),
    integer("version"),
    text("state_digest"),
    text("record_digest"),
    binary("details"),
)

COMPANY_DAY_COLUMNS: Final = (
    "opening_cash_cents",
    "closing_cash_cents",
    *Ledger.__struct_fields__,
    "exited",
)
"""The columns of `company_days` that repeat a field of the record, for queries."""

company_days: Final = Table(
    "company_days",
    metadata,
    key("run"),
    key("day"),
    key("seat"),
    *(integer(name) for name in COMPANY_DAY_COLUMNS[:-1]),
    Column(COMPANY_DAY_COLUMNS[-1], Boolean, nullable=False),
    binary("details"),
    ForeignKeyConstraint(["run", "day"], ["days.run", "days.day"]),
)

company_exits: Final = Table(
    "company_exits",
    metadata,
    of_run(),
    key("seat"),
    integer("day"),
)

OUTCOME_INTEGERS: Final = (
    "score_cents",
    "initial_cash_cents",
    "initial_stock_cents",
    "revenue_cents",
    "net_outlays_cents",
    "terminal_cash_cents",
    "salvage_cents",
    "consumer_orders",
    "fulfilled_units",
)
"""The columns of `outcomes` that repeat a field of the outcome and are never null."""

outcomes: Final = Table(
    "outcomes",
    metadata,
    of_run(),
    key("seat"),
    text("candidate"),
    Column("exit_day", BigInteger),
    *(integer(name) for name in OUTCOME_INTEGERS),
)
