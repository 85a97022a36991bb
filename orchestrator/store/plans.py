"""The plans of an extended campaign: the present one, those before it, and which run began under
which.
"""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select, update

from campaigns.plan import PlannedRun
from manifests.canonical import canonical_json
from manifests.model import CampaignManifest
from orchestrator.store.codec import planned_json
from orchestrator.store.connection import DatabaseNow
from orchestrator.store.schema import (
    begun_under,
    campaigns,
    executions,
    past_plans,
    run_holds,
    runs,
    window_holds,
)


def replace_plan(
    connection: Connection,
    manifest: CampaignManifest,
    planned: Sequence[PlannedRun],
    begun: Collection[str],
) -> None:
    """Put a manifest and its runs in the place of a campaign's present ones; the runs that have
    begun keep their numbers and say under which plan they did.
    """
    name = manifest.provenance.campaign
    of_campaign = campaigns.c.name == name
    before = connection.execute(select(campaigns).where(of_campaign)).one()
    numbers = {
        row.run_id: row.run
        for row in connection.execute(
            select(runs.c.run_id, runs.c.run).where(runs.c.campaign == name)
        )
    }
    _note_beginnings(connection, before.plan_hash, [numbers[run_id] for run_id in begun])
    if not was_planned(connection, name, before.plan_hash):
        connection.execute(
            insert(past_plans).values(
                campaign=name,
                plan_hash=before.plan_hash,
                manifest=before.manifest,
                replaced_at=DatabaseNow(),
            )
        )
    connection.execute(
        update(campaigns)
        .where(of_campaign)
        .values(
            plan_hash=manifest.plan_hash,
            manifest=canonical_json(manifest.model_dump(mode="json")),
        )
    )
    note_execution(connection, manifest)
    _replace_runs(connection, name, planned, numbers)


def note_execution(connection: Connection, manifest: CampaignManifest) -> None:
    """Note how a manifest says that its campaign is carried out: from now on that is in force."""
    taken = manifest.provenance.model_dump(mode="json", include={"definition", "limits"})
    connection.execute(
        insert(executions).values(
            campaign=manifest.provenance.campaign,
            content=canonical_json(taken),
            changed_at=DatabaseNow(),
        )
    )


def beginnings(connection: Connection, campaign: str) -> dict[str, str]:
    """The hash of the plan under which each run began, by run id, where it is an earlier one."""
    rows = connection.execute(
        select(runs.c.run_id, begun_under.c.plan_hash)
        .join(begun_under, begun_under.c.run == runs.c.run)
        .where(runs.c.campaign == campaign)
    )
    return {row.run_id: row.plan_hash for row in rows}


def was_planned(connection: Connection, campaign: str, plan_hash: str) -> bool:
    """Whether a campaign had this plan before its present one."""
    found = select(past_plans.c.plan_hash).where(
        past_plans.c.campaign == campaign, past_plans.c.plan_hash == plan_hash
    )
    return connection.scalar(found) is not None


def _note_beginnings(connection: Connection, plan_hash: str, numbers: Sequence[int]) -> None:
    noted = set(connection.scalars(select(begun_under.c.run)))
    rows = [{"run": run, "plan_hash": plan_hash} for run in numbers if run not in noted]
    if rows:
        connection.execute(insert(begun_under), rows)


def _replace_runs(
    connection: Connection, name: str, planned: Sequence[PlannedRun], numbers: Mapping[str, int]
) -> None:
    wanted = {run.run_id for run in planned}
    for run_id in numbers.keys() - wanted:
        for table in (run_holds, window_holds, runs):
            connection.execute(delete(table).where(table.c.run == numbers[run_id]))
    for run in planned:
        values = {"position": run.position, "seed": run.seed, "planned": planned_json(run)}
        if run.run_id in numbers:
            connection.execute(update(runs).where(runs.c.run == numbers[run.run_id]).values(values))
        else:
            row = {"campaign": name, "run_id": run.run_id, **values}
            connection.execute(insert(runs).values(row))
