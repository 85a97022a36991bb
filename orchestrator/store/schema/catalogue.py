"""What the catalogue holds: campaigns and their plans, and what people want of them."""

from typing import Final

from sqlalchemy import Boolean, Column, ForeignKey, Table, Text, UniqueConstraint

from orchestrator.store.schema.columns import (
    Number,
    binary,
    integer,
    key,
    metadata,
    of_run,
    text,
)

campaigns: Final = Table(
    "campaigns",
    metadata,
    Column("name", Text, primary_key=True),
    text("plan_hash"),
    binary("manifest"),
    integer("created_at"),
)

# The random key under which a campaign's endpoints are committed to; it never leaves the store.
endpoint_keys: Final = Table(
    "endpoint_keys",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    binary("key"),
)

campaign_controls: Final = Table(
    "campaign_controls",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    text("desired"),
    text("reason"),
    integer("changed_at"),
)

# What was put in force of a campaign's execution after it was frozen; the last one is.
executions: Final = Table(
    "executions",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("campaign", Text, ForeignKey("campaigns.name"), nullable=False),
    binary("content"),
    integer("changed_at"),
)

campaign_leases: Final = Table(
    "campaign_leases",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    Column("owner", Text),
    integer("epoch"),
    integer("expires_at"),
)

acts: Final = Table(
    "acts",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    integer("at"),
    Column("campaign", Text, ForeignKey("campaigns.name"), nullable=False),
    text("act"),
    text("target"),
    text("reason"),
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
    text("cause"),
    text("reason"),
    integer("paused_at"),
)

# Caps that were set after a campaign was made; an empty candidate stands for the whole campaign.
spending_caps: Final = Table(
    "spending_caps", metadata, *_of_a_route(), integer("cents"), integer("changed_at")
)

spending: Final = Table(
    "spending",
    metadata,
    *_of_a_route(),
    integer("known_microdollars"),
    integer("uncertain_microdollars"),
)

# What requests under way may cost at most, and what requests ask for that wait for money. One that
# nobody renews has lost its process.
spending_reservations: Final = Table(
    "spending_reservations",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    Column("run_id", Text, primary_key=True),
    *(key(name) for name in ("version", "seat", "attempt", "request", "epoch")),
    text("candidate"),
    integer("microdollars"),
    Column("is_granted", Boolean, nullable=False),
    integer("held_until"),
)

runs: Final = Table(
    "runs",
    metadata,
    Column("run", Number, primary_key=True, autoincrement=True),
    Column("campaign", Text, ForeignKey("campaigns.name"), nullable=False),
    text("run_id"),
    integer("position"),
    integer("seed"),
    binary("planned"),
    UniqueConstraint("campaign", "run_id"),
)

# The plans that an extended campaign had before its present one.
past_plans: Final = Table(
    "past_plans",
    metadata,
    Column("campaign", Text, ForeignKey("campaigns.name"), primary_key=True),
    Column("plan_hash", Text, primary_key=True),
    binary("manifest"),
    integer("replaced_at"),
)

# The plan under which a run began, where that is not the present one.
begun_under: Final = Table("begun_under", metadata, of_run(), text("plan_hash"))

# The catalogue notes which runs have a file of their own: one that is gone was lost, and its run
# must not begin anew as if nothing had been paid for.
made_runs: Final = Table("made_runs", metadata, of_run(), integer("at"))

# What a person wants of single runs and company-windows; a row says that it is to rest.
run_holds: Final = Table(
    "run_holds", metadata, of_run(), text("desired"), text("reason"), integer("changed_at")
)

window_holds: Final = Table(
    "window_holds",
    metadata,
    of_run(),
    key("version"),
    key("seat"),
    text("desired"),
    text("reason"),
    integer("changed_at"),
)

# The fresh attempts that are to begin at once, because a person does not want to wait for them.
hastened_attempts: Final = Table(
    "hastened_attempts",
    metadata,
    of_run(),
    key("version"),
    key("seat"),
    key("attempt"),
    integer("at"),
)
