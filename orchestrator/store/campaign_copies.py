"""What the database of each run repeats of its campaign, so that no run needs the catalogue."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from orchestrator.store.schema import campaigns, endpoint_keys, past_plans, runs

Copies = Mapping[Table, list[dict[str, Any]]]
"""Rows by table."""


def copied_rows(connection: Connection, campaign: str) -> Copies:
    """The rows of a campaign that the database of each of its runs repeats."""
    return {
        campaigns: _rows(connection, campaigns, campaigns.c.name == campaign),
        runs: _rows(connection, runs, runs.c.campaign == campaign),
        endpoint_keys: _rows(connection, endpoint_keys, endpoint_keys.c.campaign == campaign),
        past_plans: _rows(connection, past_plans, past_plans.c.campaign == campaign),
    }


def insert_copies(connection: Connection, copies: Copies) -> None:
    """Inverse of `copied_rows`."""
    for table, rows in copies.items():
        if rows:
            connection.execute(insert(table), rows)


def renew_copies(connection: Connection, own: int, copies: Copies) -> None:
    """Bring the copy that the database of run number `own` has of its campaign up to date."""
    (campaign,) = copies[campaigns]
    name = campaign["name"]
    connection.execute(update(campaigns).where(campaigns.c.name == name).values(campaign))
    connection.execute(delete(past_plans).where(past_plans.c.campaign == name))
    connection.execute(insert(past_plans), copies[past_plans])
    connection.execute(delete(runs).where(runs.c.campaign == name, runs.c.run != own))
    for row in copies[runs]:
        if row["run"] != own:
            connection.execute(insert(runs).values(row))
        else:
            # What was planned for it is what it was played with: a winner may be seated in it.
            kept = {column: row[column] for column in ("position", "seed")}
            connection.execute(update(runs).where(runs.c.run == own).values(kept))


def _rows(connection: Connection, table: Table, where: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(select(table).where(where)).mappings()]
