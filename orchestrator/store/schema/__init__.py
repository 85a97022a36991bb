"""The one relational schema: catalogue, runs, and everything a run settles.

Every database has all the tables. With SQLite the catalogue and each run have a file of their own:
the catalogue uses `CATALOGUE_TABLES`, a run's file `RUN_TABLES`, with a copy of its campaign's rows
in `campaigns` and `runs`, so that the catalogue can be rebuilt from the runs. One PostgreSQL
database can hold all of it, because every row names its run by the integer `run`, which is unique
in a store.

Points in time are integer milliseconds since 1970 (UTC) by the database's clock. `version` in a
table of settled things is the world version at which their window opened; in `checkpoints` it is
the version that was reached.
"""

from typing import Final

from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table

from orchestrator.store.schema.catalogue import (
    acts,
    begun_under,
    campaign_controls,
    campaign_leases,
    campaigns,
    endpoint_keys,
    executions,
    hastened_attempts,
    made_runs,
    past_plans,
    route_pauses,
    run_holds,
    runs,
    spending,
    spending_caps,
    spending_reservations,
    window_holds,
)
from orchestrator.store.schema.columns import metadata
from orchestrator.store.schema.sessions import (
    blobs,
    failures,
    fresh_attempts,
    late_replies,
    private_files,
    request_costs,
    session_events,
    session_heartbeats,
)
from orchestrator.store.schema.settled import (
    COMPANY_DAY_COLUMNS,
    OUTCOME_INTEGERS,
    RECEIPT_FIELDS,
    checkpoints,
    company_days,
    company_exits,
    company_windows,
    days,
    outcomes,
    receipts,
    run_environments,
    run_leases,
    run_states,
    run_transitions,
)

__all__ = [
    "CATALOGUE_TABLES",
    "COMPANY_DAY_COLUMNS",
    "OUTCOME_INTEGERS",
    "RECEIPT_FIELDS",
    "REVISION",
    "RUN_TABLES",
    "acts",
    "begun_under",
    "blobs",
    "campaign_controls",
    "campaign_leases",
    "campaigns",
    "checkpoints",
    "company_days",
    "company_exits",
    "company_windows",
    "days",
    "endpoint_keys",
    "executions",
    "failures",
    "fresh_attempts",
    "hastened_attempts",
    "late_replies",
    "made_runs",
    "metadata",
    "outcomes",
    "past_plans",
    "private_files",
    "receipts",
    "request_costs",
    "route_pauses",
    "run_environments",
    "run_holds",
    "run_leases",
    "run_states",
    "run_transitions",
    "runs",
    "session_events",
    "session_heartbeats",
    "spending",
    "spending_caps",
    "spending_reservations",
    "version_table",
    "window_holds",
]

REVISION: Final = "0011"
"""The Alembic revision of this schema: the newest file in `migrations/versions`."""

# Alembic's own table, declared here so that a fresh database is stamped in the transaction that
# creates it.
version_table: Final = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

_OF_A_RUN_BUT_NOT_ITS_OWN: Final = (
    *(runs, run_holds, window_holds, hastened_attempts),
    *(begun_under, made_runs),
)

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
