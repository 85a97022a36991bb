"""What the sessions of models leave: journals, private files, attempts, late replies."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from orchestrator.store.schema.columns import (
    Number,
    binary,
    integer,
    key,
    metadata,
    of_run,
    text,
)


def _attempt() -> list[Column[int]]:
    """One attempt at a company-window: run, world version, seat, number of the attempt."""
    return [of_run(), key("version"), key("seat"), key("attempt")]


# Contents by their digests, compressed; a column `blob` names one of the same run.
blobs: Final = Table(
    "blobs",
    metadata,
    of_run(),
    Column("digest", LargeBinary, primary_key=True),
    binary("content"),
)

session_events: Final = Table(
    "session_events",
    metadata,
    *_attempt(),
    key("ordinal"),
    text("kind"),
    integer("epoch"),
    integer("committed_at"),
    binary("blob"),
)

# What every request of a route with prices may cost at most, and what it did cost: NULL while, or
# where, nobody knows. `request` is its number in the attempt, `epoch` that of who asked.
request_costs: Final = Table(
    "request_costs",
    metadata,
    *_attempt(),
    key("request"),
    integer("epoch"),
    integer("at_most_microdollars"),
    Column("microdollars", BigInteger),
)

session_heartbeats: Final = Table(
    "session_heartbeats", metadata, *_attempt(), integer("active_milliseconds")
)

private_files: Final = Table(
    "private_files",
    metadata,
    *_attempt(),
    Column("path", Text, primary_key=True),
    key("file_version"),
    binary("blob"),
)

# Every failure of an attempt; `ordinal` is that of the event with which it failed.
failures: Final = Table(
    "failures",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("run", BigInteger, ForeignKey("runs.run"), nullable=False),
    *(integer(name) for name in ("version", "seat", "attempt", "ordinal")),
    text("status"),
    text("cause"),
    Column("needs_person", Boolean, nullable=False),
    text("reason"),
    text("verdict"),
    text("verdict_reason"),
    integer("epoch"),
    integer("failed_at"),
    UniqueConstraint("run", "version", "seat", "attempt", "ordinal"),
)

# A fresh attempt, and the archive of the one that it replaces.
fresh_attempts: Final = Table(
    "fresh_attempts",
    metadata,
    *_attempt(),
    text("granted_by"),
    text("reason"),
    text("files_digest"),
    binary("carried"),
    binary("archive"),
    integer("epoch"),
    integer("granted_at"),
)

# Replies that came for an owner that had lost the run: paid, and not part of any conversation.
late_replies: Final = Table(
    "late_replies",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("run", BigInteger, ForeignKey("runs.run"), nullable=False),
    *(integer(name) for name in ("version", "seat", "attempt", "request")),
    text("owner"),
    integer("epoch"),
    integer("committed_at"),
    binary("blob"),
)
