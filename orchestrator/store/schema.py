"""The one relational schema: catalogue, runs, and everything a run settles.

Every database has all the tables. With SQLite the catalogue and each run have a file of their own:
the catalogue uses the first group of tables, a run's file the second, with a copy of its campaign's
rows in `campaigns` and `runs`, so that the catalogue can be rebuilt from the runs. One PostgreSQL
database can hold all of it, because every row names its run by the integer `run`, which is unique
in a store.

Points in time are integer milliseconds since 1970 (UTC) by the database's clock. `version` in a
table of settled things is the world version at which their window opened; in `checkpoints` it is
the version that was reached.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from engine.records import ActionReceipt, Ledger

REVISION: Final = "0008"
"""The Alembic revision of this schema: the newest file in `migrations/versions`."""

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

# Alembic's own table, declared here so that a fresh database is stamped in the transaction that
# creates it.
version_table: Final = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

# SQLite numbers rows by itself only where the key is INTEGER.
_Number: Final = BigInteger().with_variant(Integer(), "sqlite")


def _integer(name: str, **options: Any) -> Column[int]:
    return Column(name, BigInteger, nullable=options.pop("nullable", False), **options)


class _Words(TypeDecorator[str]):
    """Text that may come from anywhere, such as the reason of an error: without what PostgreSQL
    cannot hold, a zero, and what no encoding can, half a surrogate pair.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()


def _text(name: str) -> Column[str]:
    return Column(name, _Words, nullable=False)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


def _run() -> Column[int]:
    return Column("run", BigInteger, ForeignKey("runs.run"), primary_key=True)


def _key(name: str) -> Column[int]:
    return Column(name, BigInteger, primary_key=True, autoincrement=False)


campaigns: Final = Table(
    "campaigns",
    metadata,
    Column("name", Text, primary_key=True),
    _text("plan_hash"),
    _bytes("manifest"),
    _integer("created_at"),
)

# The random key under which a campaign's endpoints are committed to; it never leaves the store.
endpoint_keys: Final = Table(
    "endpoint_keys",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    _bytes("key"),
)

campaign_controls: Final = Table(
    "campaign_controls",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    _text("desired"),
    _text("reason"),
    _integer("changed_at"),
)

campaign_leases: Final = Table(
    "campaign_leases",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    Column("owner", Text),
    _integer("epoch"),
    _integer("expires_at"),
)

acts: Final = Table(
    "acts",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    _integer("at"),
    Column("campaign", Text, ForeignKey("campaigns.name"), nullable=False),
    _text("act"),
    _text("target"),
    _text("reason"),
)


def _of_a_route() -> list[Column[str]]:
    """A candidate of a campaign."""
    return [
        Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
        Column("candidate", Text, primary_key=True),
    ]


# Routes that nobody may ask before a person has put something right.
route_pauses: Final = Table(
    "route_pauses",
    metadata,
    *_of_a_route(),
    _text("cause"),
    _text("reason"),
    _integer("paused_at"),
)

# Caps that were set after a campaign was made; an empty candidate stands for the whole campaign.
spending_caps: Final = Table(
    "spending_caps", metadata, *_of_a_route(), _integer("cents"), _integer("changed_at")
)

spending: Final = Table(
    "spending",
    metadata,
    *_of_a_route(),
    _integer("known_microdollars"),
    _integer("uncertain_microdollars"),
)

# What requests under way may cost at most: one for each seat of a run.
spending_reservations: Final = Table(
    "spending_reservations",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    Column("run_id", Text, primary_key=True),
    _key("seat"),
    _text("request"),
    _text("candidate"),
    _integer("microdollars"),
)

runs: Final = Table(
    "runs",
    metadata,
    Column("run", _Number, primary_key=True, autoincrement=True),
    Column("campaign", Text, ForeignKey("campaigns.name"), nullable=False),
    _text("run_id"),
    _integer("position"),
    _integer("seed"),
    _bytes("planned"),
    UniqueConstraint("campaign", "run_id"),
)

# The plans that an extended campaign had before its present one.
past_plans: Final = Table(
    "past_plans",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    Column("plan_hash", Text, primary_key=True),
    _bytes("manifest"),
    _integer("replaced_at"),
)

# The plan under which a run began, where that is not the present one.
begun_under: Final = Table("begun_under", metadata, _run(), _text("plan_hash"))

# The catalogue notes which runs have a file of their own: one that is gone was lost, and its run
# must not begin anew as if nothing had been paid for.
made_runs: Final = Table("made_runs", metadata, _run(), _integer("at"))

run_states: Final = Table(
    "run_states",
    metadata,
    _run(),
    _text("status"),
    _text("reason"),
    _integer("world_version"),
    _integer("day"),
    _integer("updated_at"),
)

# Every change of a run's status, so that none of its failures is forgotten.
run_transitions: Final = Table(
    "run_transitions",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("run", BigInteger, ForeignKey("runs.run"), nullable=False),
    _integer("at"),
    _text("status"),
    _text("reason"),
    _integer("epoch"),
)

# What a person wants of single runs and company-windows; a row says that it is to rest.
run_holds: Final = Table(
    "run_holds", metadata, _run(), _text("desired"), _text("reason"), _integer("changed_at")
)

window_holds: Final = Table(
    "window_holds",
    metadata,
    _run(),
    _key("version"),
    _key("seat"),
    _text("desired"),
    _text("reason"),
    _integer("changed_at"),
)

run_leases: Final = Table(
    "run_leases",
    metadata,
    _run(),
    Column("owner", Text),
    _integer("epoch"),
    _integer("expires_at"),
)

# The interpreter and the libraries with which the owner of each epoch plays.
run_environments: Final = Table(
    "run_environments", metadata, _run(), _key("epoch"), _bytes("content")
)

checkpoints: Final = Table(
    "checkpoints",
    metadata,
    _run(),
    _key("version"),
    _integer("day"),
    _bytes("state"),
    _text("state_digest"),
    _integer("epoch"),
    _integer("committed_at"),
)

company_windows: Final = Table(
    "company_windows",
    metadata,
    _run(),
    _key("version"),
    _key("seat"),
    _text("status"),
    _text("candidate"),
    _text("identity"),
    Column("decision", LargeBinary),
    Column("decision_digest", Text),
)

RECEIPT_FIELDS: Final = ActionReceipt.__struct_fields__
_RECEIPT_TEXTS: Final = ("kind", "subject", "outcome")

receipts: Final = Table(
    "receipts",
    metadata,
    _key("run"),
    _key("version"),
    _key("seat"),
    _key("number"),
    *(_text(name) if name in _RECEIPT_TEXTS else _integer(name) for name in RECEIPT_FIELDS),
    ForeignKeyConstraint(
        ["run", "version", "seat"],
        ["company_windows.run", "company_windows.version", "company_windows.seat"],
    ),
)

days: Final = Table(
    "days",
    metadata,
    _run(),
    _key("day"),
    _integer("version"),
    _text("state_digest"),
    _text("record_digest"),
    _bytes("details"),
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
    _key("run"),
    _key("day"),
    _key("seat"),
    *(_integer(name) for name in COMPANY_DAY_COLUMNS[:-1]),
    Column(COMPANY_DAY_COLUMNS[-1], Boolean, nullable=False),
    _bytes("details"),
    ForeignKeyConstraint(["run", "day"], ["days.run", "days.day"]),
)

company_exits: Final = Table(
    "company_exits",
    metadata,
    _run(),
    _key("seat"),
    _integer("day"),
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
    _run(),
    _key("seat"),
    _text("candidate"),
    Column("exit_day", BigInteger),
    *(_integer(name) for name in OUTCOME_INTEGERS),
)


def _attempt() -> list[Column[int]]:
    """One attempt at a company-window: run, world version, seat, number of the attempt."""
    return [_run(), _key("version"), _key("seat"), _key("attempt")]


# Contents by their digests, compressed; a column `blob` names one of the same run.
blobs: Final = Table(
    "blobs",
    metadata,
    _run(),
    Column("digest", LargeBinary, primary_key=True),
    _bytes("content"),
)

session_events: Final = Table(
    "session_events",
    metadata,
    *_attempt(),
    _key("ordinal"),
    _text("kind"),
    _integer("epoch"),
    _integer("committed_at"),
    _bytes("blob"),
)

session_heartbeats: Final = Table(
    "session_heartbeats", metadata, *_attempt(), _integer("active_milliseconds")
)

private_files: Final = Table(
    "private_files",
    metadata,
    *_attempt(),
    Column("path", Text, primary_key=True),
    _key("file_version"),
    _bytes("blob"),
)

# Every failure of an attempt; `ordinal` is that of the event with which it failed.
failures: Final = Table(
    "failures",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("run", BigInteger, ForeignKey("runs.run"), nullable=False),
    *(_integer(name) for name in ("version", "seat", "attempt", "ordinal")),
    _text("status"),
    _text("cause"),
    Column("needs_person", Boolean, nullable=False),
    _text("reason"),
    _text("verdict"),
    _text("verdict_reason"),
    _integer("epoch"),
    _integer("failed_at"),
    UniqueConstraint("run", "version", "seat", "attempt", "ordinal"),
)

# A fresh attempt, and the archive of the one that it replaces.
fresh_attempts: Final = Table(
    "fresh_attempts",
    metadata,
    *_attempt(),
    _text("granted_by"),
    _text("reason"),
    _text("files_digest"),
    _bytes("carried"),
    _bytes("archive"),
    _integer("epoch"),
    _integer("granted_at"),
)

# Replies that came for an owner that had lost the run: paid, and not part of any conversation.
late_replies: Final = Table(
    "late_replies",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("run", BigInteger, ForeignKey("runs.run"), nullable=False),
    *(_integer(name) for name in ("version", "seat", "attempt", "request")),
    _text("owner"),
    _integer("epoch"),
    _integer("committed_at"),
    _bytes("blob"),
)

_OF_A_RUN_BUT_NOT_ITS_OWN: Final = (runs, run_holds, window_holds, begun_under, made_runs)

CATALOGUE_TABLES: Final = tuple(
    table
    for table in metadata.sorted_tables
    if "run" not in table.c or table in _OF_A_RUN_BUT_NOT_ITS_OWN
)
"""What the catalogue holds, parents first: campaigns, their plans, and what people want of them."""

RUN_TABLES: Final = tuple(
    table for table in metadata.sorted_tables if table not in CATALOGUE_TABLES
)
"""What is written under the lease of a run, parents first; with SQLite it has a file of its own."""
