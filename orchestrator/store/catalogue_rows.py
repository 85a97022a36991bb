"""The catalogue's rows, read: campaigns with what is wanted of them, and their planned runs."""

from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, select

from manifests.errors import InputError, IntegrityError
from orchestrator.store.codec import read_member, read_planned
from orchestrator.store.connection import DatabaseNow, moment
from orchestrator.store.leases import LeaseState
from orchestrator.store.records import CampaignRow, DesiredState, RunKey, RunRow
from orchestrator.store.schema import (
    acts,
    campaign_controls,
    campaign_leases,
    campaigns,
    runs,
)


def manifest_bytes(connection: Connection, name: str) -> bytes | None:
    """The present manifest of a campaign as stored, or None when there is no such campaign."""
    return connection.scalar(select(campaigns.c.manifest).where(campaigns.c.name == name))


def read_campaigns(connection: Connection) -> list[CampaignRow]:
    """All campaigns, the oldest first."""
    rows = connection.execute(_campaigns().order_by(campaigns.c.created_at, campaigns.c.name))
    return [_campaign_row(row) for row in rows.mappings()]


def read_campaign(connection: Connection, name: str) -> CampaignRow:
    """One campaign. Raises InputError, with the names there are, when there is none such."""
    row = connection.execute(_campaigns().where(campaigns.c.name == name)).mappings().one_or_none()
    if row is None:
        raise unknown_campaign(connection, name)
    return _campaign_row(row)


def read_runs(connection: Connection, campaign: str) -> list[RunRow]:
    """The runs of a campaign in scheduling order."""
    rows = connection.execute(
        select(runs).where(runs.c.campaign == campaign).order_by(runs.c.position)
    )
    return [_run_row(row) for row in rows.mappings()]


def read_run(connection: Connection, key: RunKey) -> RunRow:
    """One run. Raises InputError for an unknown campaign or run."""
    row = (
        connection.execute(
            select(runs).where(runs.c.campaign == key.campaign, runs.c.run_id == key.run_id)
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        read_campaign(connection, key.campaign)
        known = connection.scalars(
            select(runs.c.run_id).where(runs.c.campaign == key.campaign).order_by(runs.c.position)
        )
        raise InputError(
            f"The campaign {key.campaign} has no run {key.run_id}.",
            f"Its runs: {', '.join(known) or 'none'}.",
        )
    return _run_row(row)


def unknown_campaign(connection: Connection, name: str) -> InputError:
    """What is wrong with a name that no campaign has."""
    known = sorted(connection.scalars(select(campaigns.c.name)))
    return InputError(
        f"The store has no campaign {name}.", f"Its campaigns: {', '.join(known) or 'none'}."
    )


def _campaigns() -> Select[Any]:
    counted = (
        select(func.count())
        .select_from(runs)
        .where(runs.c.campaign == campaigns.c.name)
        .scalar_subquery()
    )
    last_act = (
        select(func.coalesce(func.max(acts.c.number), 0))
        .where(acts.c.campaign == campaigns.c.name)
        .scalar_subquery()
    )
    return (
        select(
            campaigns.c.name,
            campaigns.c.plan_hash,
            campaigns.c.created_at,
            campaign_controls.c.desired,
            campaign_controls.c.reason,
            campaign_controls.c.changed_at,
            counted.label("runs"),
            last_act.label("last_act"),
            campaign_leases.c.owner,
            campaign_leases.c.epoch,
            (campaign_leases.c.expires_at - DatabaseNow()).label("expires_in"),
        )
        .join(campaign_controls, campaign_controls.c.campaign == campaigns.c.name)
        .join(campaign_leases, campaign_leases.c.campaign == campaigns.c.name)
    )


def _campaign_row(row: RowMapping) -> CampaignRow:
    return CampaignRow(
        name=row["name"],
        plan_hash=row["plan_hash"],
        created_at=moment(row["created_at"]),
        desired=read_member(
            DesiredState, row["desired"], f"What is wanted of campaign {row['name']}"
        ),
        reason=row["reason"],
        changed_at=moment(row["changed_at"]),
        runs=row["runs"],
        last_act=row["last_act"],
        lease=LeaseState(row["owner"], row["epoch"], row["expires_in"] / 1000),
    )


def _run_row(row: RowMapping) -> RunRow:
    key = RunKey(row["campaign"], row["run_id"])
    planned = read_planned(row["planned"], f"The plan of {key}")
    for name in ("run_id", "seed", "position"):
        if getattr(planned, name) != row[name]:
            raise IntegrityError(
                f"The catalogue's row of the {key} has {name} {row[name]}, but its plan has "
                f"{getattr(planned, name)}.",
                "Restore the catalogue from a backup, or move it away: the runs make a new one.",
            )
    return RunRow(key, planned)
