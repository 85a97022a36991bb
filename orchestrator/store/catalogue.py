"""The catalogue: which campaigns and runs a store holds, and what the operator wants of them."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from campaigns.consistency import SEARCH_WINNER
from campaigns.plan import PlannedRun
from manifests.canonical import canonical_json, parse_json
from manifests.comparison import difference, told
from manifests.errors import InputError, IntegrityError
from manifests.model import CampaignManifest, unlisted
from orchestrator.store.catalogue_rows import (
    manifest_bytes,
    read_campaign,
    read_campaigns,
    read_run,
    read_runs,
    unknown_campaign,
)
from orchestrator.store.codec import planned_json
from orchestrator.store.connection import CommitPoint, Database, DatabaseNow, moment, repeated
from orchestrator.store.holds import record_act
from orchestrator.store.leases import Lease, LeaseTable
from orchestrator.store.plans import beginnings, note_execution, replace_plan
from orchestrator.store.records import (
    MADE_AGAIN,
    Act,
    CampaignRow,
    DesiredState,
    RunKey,
    RunRow,
    Target,
)
from orchestrator.store.schema import (
    acts,
    campaign_controls,
    campaign_leases,
    campaigns,
    endpoint_keys,
    executions,
    past_plans,
    runs,
)

# Names and run ids are names of directories and files, too.
_FILE_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9._-]{0,238}[a-z0-9])?")

_ACT: Final[Mapping[DesiredState, str]] = {
    DesiredState.RUNNING: "resume",
    DesiredState.PAUSED: "pause",
    DesiredState.STOPPED: "stop",
}
_SUBJECT: Final = "campaign "
_LEASES: Final = LeaseTable(campaign_leases, campaign_leases.c.campaign)


class Catalogue:
    """The campaigns of one store. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeated
    def create_campaign(
        self,
        manifest: CampaignManifest,
        planned: Sequence[PlannedRun],
        endpoint_key: bytes | None = None,
    ) -> CampaignRow:
        """Record a campaign with its runs, wanted to run; one with an equal plan is kept as it is.

        `endpoint_key` is the key of the endpoint commitments in the manifest, if it has any.

        Raises:
            InputError: the store has another plan under this name, whose differences are named;
                the runs are not those of the manifest; or a name cannot be that of a file.
        """
        name = manifest.provenance.campaign
        _check_names(name, [run.run_id for run in planned])
        bound = [(run.id, run.seed) for run in manifest.decisive.runs]
        if bound != [(run.run_id, run.seed) for run in planned]:
            raise InputError(f"Campaign {name}: the planned runs are not those of its manifest.")
        with self._database.write(CommitPoint.CREATE_CAMPAIGN) as connection:
            found = manifest_bytes(connection, name)
            if found is None:
                _insert_campaign(connection, manifest, planned)
                if endpoint_key is not None:
                    row = {"campaign": name, "key": endpoint_key}
                    connection.execute(insert(endpoint_keys).values(row))
            else:
                _check_same_plan(CampaignManifest.from_json(found), manifest)
            return read_campaign(connection, name)

    def check_plan(self, manifest: CampaignManifest) -> None:
        """Raise InputError, naming the differences, when the store has another plan of its name."""
        with self._database.read() as connection:
            found = manifest_bytes(connection, manifest.provenance.campaign)
        if found is not None:
            _check_same_plan(CampaignManifest.from_json(found), manifest)

    @repeated
    def extend_campaign(
        self,
        before: str,
        manifest: CampaignManifest,
        planned: Sequence[PlannedRun],
        begun: Collection[str],
    ) -> None:
        """Put a new plan in the place of the one with the hash `before`, which is kept beside it;
        doing it again changes nothing. The runs that have `begun` stay as they are.

        Raises:
            InputError: the campaign has another plan than both, or a name cannot be that of a file.
        """
        name = manifest.provenance.campaign
        _check_names(name, [run.run_id for run in planned])
        with self._database.write(CommitPoint.EXTEND_CAMPAIGN) as connection:
            found = read_campaign(connection, name).plan_hash
            if found == manifest.plan_hash:
                return
            if found != before:
                raise InputError(
                    f"Campaign {name} was given another plan meanwhile: {found}.", "Try again."
                )
            replace_plan(connection, manifest, planned, begun)
            record_act(connection, Target(name), "extend", f"from plan {before}")

    @repeated
    def beginnings(self, name: str) -> dict[str, str]:
        """The hash of the plan under which each run began, by run id, where that is not the present
        one.
        """
        with self._database.read() as connection:
            return beginnings(connection, name)

    @repeated
    def campaigns(self) -> list[CampaignRow]:
        """All campaigns, the oldest first."""
        with self._database.read() as connection:
            return read_campaigns(connection)

    @repeated
    def campaign(self, name: str) -> CampaignRow:
        """One campaign. Raises InputError, with the names there are, when there is none such."""
        with self._database.read() as connection:
            return read_campaign(connection, name)

    def manifest(self, name: str) -> CampaignManifest:
        """The frozen manifest of a campaign, checked against its plan hash.

        Raises:
            InputError: no such campaign.
            IntegrityError: the stored manifest is not the one that was frozen.
        """
        return CampaignManifest.from_json(
            self.manifest_json(name), f"The stored manifest of campaign {name}"
        )

    def manifest_in_force(self, name: str) -> CampaignManifest:
        """The manifest with the limits and the services under which the campaign is carried out
        now; what decides results is that of `manifest`. Errors as `manifest`.
        """
        manifest, taken = self.manifest(name), self._executions(name)
        if not taken:
            return manifest
        provenance = manifest.provenance.model_copy(update=taken[-1])
        return manifest.model_copy(update={"provenance": provenance})

    def definitions(self, name: str) -> list[dict[str, Any]]:
        """Every campaign file under which the campaign was ever carried out, as understood: those
        of its plans, and those that were put in force. Errors as `manifest`.
        """
        past = [CampaignManifest.from_json(content) for content in self.past_manifests(name)]
        planned = [each.provenance.definition for each in (*past, self.manifest(name))]
        return [*planned, *(taken["definition"] for taken in self._executions(name))]

    @repeated
    def put_in_force(self, manifest: CampaignManifest, reason: str) -> None:
        """Carry a campaign out under the limits and the services of this manifest of its plan.

        Raises:
            InputError: no such campaign, or its plan is another one.
        """
        name = manifest.provenance.campaign
        with self._database.write(CommitPoint.SET_DESIRED) as connection:
            if read_campaign(connection, name).plan_hash != manifest.plan_hash:
                raise InputError(f"Campaign {name} was given another plan meanwhile.", "Try again.")
            note_execution(connection, manifest)
            record_act(connection, Target(name), "launch", reason)

    @repeated
    def _executions(self, name: str) -> list[dict[str, Any]]:
        """The parts of provenance that were put in force, the last one last."""
        query = select(executions.c.content).where(executions.c.campaign == name)
        with self._database.read() as connection:
            found = list(connection.scalars(query.order_by(executions.c.number)))
        return [parse_json(content, f"What is in force of campaign {name}") for content in found]

    @repeated
    def manifest_json(self, name: str) -> bytes:
        """The manifest as stored, canonical JSON. Raises InputError for an unknown campaign."""
        with self._database.read() as connection:
            content = manifest_bytes(connection, name)
            if content is None:
                raise unknown_campaign(connection, name)
            return content

    @repeated
    def past_manifests(self, name: str) -> list[bytes]:
        """The manifests that an extended campaign had before its present one, as stored, by the
        hash of their plans.
        """
        with self._database.read() as connection:
            table = past_plans.c
            query = select(table.manifest).where(table.campaign == name).order_by(table.plan_hash)
            return list(connection.scalars(query))

    def endpoint_key(self, name: str) -> bytes | None:
        """The key of a campaign's endpoint commitments; None when it has none. Raises InputError
        for an unknown campaign.
        """
        with self._database.read() as connection:
            read_campaign(connection, name)
            query = select(endpoint_keys.c.key).where(endpoint_keys.c.campaign == name)
            return connection.scalar(query)

    @repeated
    def runs(self, name: str) -> list[RunRow]:
        """The runs of a campaign in scheduling order. Raises InputError for an unknown campaign."""
        with self._database.read() as connection:
            if manifest_bytes(connection, name) is None:
                raise unknown_campaign(connection, name)
            return read_runs(connection, name)

    @repeated
    def planned(self, name: str) -> tuple[CampaignManifest, list[RunRow]]:
        """The manifest of a campaign and its runs in scheduling order, as they stand together.

        Raises:
            InputError: no such campaign.
            IntegrityError: the manifest is not the one that was frozen, or the runs are not those
                that it binds: what is summed up over them would look complete, and is not.
        """
        with self._database.read() as connection:
            content = manifest_bytes(connection, name)
            if content is None:
                raise unknown_campaign(connection, name)
            rows = read_runs(connection, name)
        manifest = CampaignManifest.from_json(content, f"The stored manifest of campaign {name}")
        for run_id, is_bound in unlisted(manifest, [row.key.run_id for row in rows]):
            has, binds = ("lacks", "binds") if is_bound else ("has", "does not bind")
            raise IntegrityError(
                f"The catalogue {has} run {run_id} of campaign {name}, which its manifest {binds}.",
                "Restore the catalogue from a backup, or move it away: the runs make a new one.",
            )
        return manifest, rows

    @repeated
    def run(self, key: RunKey) -> RunRow:
        """One run. Raises InputError for an unknown campaign or run."""
        with self._database.read() as connection:
            return read_run(connection, key)

    @repeated
    def resolve_run(self, campaign: str, planned: PlannedRun) -> None:
        """Put the winner of a search into the lineup of a run that was planned for it.

        Raises:
            InputError: no such run, it does not wait for a winner, or has been given another one.
        """
        key = RunKey(campaign, planned.run_id)
        with self._database.write(CommitPoint.RESOLVE_RUN) as connection:
            found = read_run(connection, key).planned
            if found == planned:
                return
            if SEARCH_WINNER not in found.lineup or SEARCH_WINNER in planned.lineup:
                raise InputError(
                    f"The {key} has its lineup already: {', '.join(found.lineup)}.",
                    "A lineup does not change; plan another campaign.",
                )
            connection.execute(
                update(runs)
                .where(runs.c.campaign == campaign, runs.c.run_id == planned.run_id)
                .values(planned=planned_json(planned))
            )

    @repeated
    def set_desired(self, name: str, state: DesiredState, reason: str) -> None:
        """Record that the operator wants a campaign to run, to pause or to stop, and why.

        Raises:
            InputError: no such campaign.
        """
        with self._database.write(CommitPoint.SET_DESIRED) as connection:
            changed = connection.execute(
                update(campaign_controls)
                .where(campaign_controls.c.campaign == name)
                .values(desired=state, reason=reason, changed_at=DatabaseNow())
            )
            if changed.rowcount != 1:
                raise unknown_campaign(connection, name)
            record_act(connection, Target(name), _ACT[state], reason)

    @repeated
    def acts(self, name: str) -> list[Act]:
        """What people did to a campaign, in order. Raises InputError for an unknown campaign."""
        with self._database.read() as connection:
            read_campaign(connection, name)
            rows = connection.execute(
                select(acts).where(acts.c.campaign == name).order_by(acts.c.number)
            )
            return [
                Act(row["number"], moment(row["at"]), row["act"], row["target"], row["reason"])
                for row in rows.mappings()
            ]

    @repeated
    def was_made_again(self, name: str) -> bool:
        """Whether the catalogue was lost and made again, and nobody has done anything since."""
        query = select(acts.c.act).where(acts.c.campaign == name).order_by(acts.c.number.desc())
        with self._database.read() as connection:
            return connection.scalar(query.limit(1)) == MADE_AGAIN

    @repeated
    def acquire_campaign(
        self, name: str, owner: str, seconds: float, ended: str | None = None
    ) -> Lease:
        """Become the one who schedules a campaign. Nobody waits for one that has `ended`.

        Raises:
            InputError: no such campaign.
            LeaseHeld: somebody else schedules it.
        """
        with self._database.write(CommitPoint.ACQUIRE_CAMPAIGN) as connection:
            read_campaign(connection, name)
            return _LEASES.acquire(connection, name, _subject(name), owner, seconds, ended)

    @repeated
    def renew(self, lease: Lease) -> None:
        """Keep a campaign's lease for its time from now on. Raises LeaseLost when it is lost."""
        with self._database.write(CommitPoint.RENEW_CAMPAIGN) as connection:
            _LEASES.renew(connection, _name_in(lease), lease.subject, lease)

    @repeated
    def release(self, lease: Lease) -> None:
        """Give a campaign's lease up; one that is lost or released already stays as it is."""
        with self._database.write(CommitPoint.RELEASE_CAMPAIGN) as connection:
            _LEASES.release(connection, _name_in(lease), lease.subject, lease)


def insert_controls(
    connection: Connection, name: str, desired: DesiredState, act: str, reason: str
) -> None:
    """Give a campaign that was just inserted its operator's state and its free lease; the act by
    which it came to be is recorded.
    """
    connection.execute(
        insert(campaign_controls).values(
            campaign=name, desired=desired, reason=reason, changed_at=DatabaseNow()
        )
    )
    connection.execute(
        insert(campaign_leases).values(campaign=name, epoch=0, expires_at=DatabaseNow())
    )
    record_act(connection, Target(name), act, reason)


def _insert_campaign(
    connection: Connection, manifest: CampaignManifest, planned: Sequence[PlannedRun]
) -> None:
    name = manifest.provenance.campaign
    connection.execute(
        insert(campaigns).values(
            name=name,
            plan_hash=manifest.plan_hash,
            manifest=canonical_json(manifest.model_dump(mode="json")),
            created_at=DatabaseNow(),
        )
    )
    rows = [
        {
            "campaign": name,
            "run_id": run.run_id,
            "position": run.position,
            "seed": run.seed,
            "planned": planned_json(run),
        }
        for run in planned
    ]
    if rows:
        connection.execute(insert(runs), rows)
    insert_controls(connection, name, DesiredState.RUNNING, "create", "")


def _check_names(campaign: str, run_ids: Sequence[str]) -> None:
    for name in (campaign, *run_ids):
        if not _FILE_NAME.fullmatch(name):
            raise InputError(
                f"The name {name!r} cannot be the name of a file.",
                "Use up to 240 of a-z, 0-9, '.', '_' and '-', with a letter or digit at both ends.",
            )


def _check_same_plan(found: CampaignManifest, offered: CampaignManifest) -> None:
    if found.plan_hash == offered.plan_hash:
        return
    name = found.provenance.campaign
    decisive = [
        change for change in difference(found, offered) if change.path.startswith("decisive")
    ]
    raise InputError(
        f"The store has a campaign {name} with another plan:\n{told(decisive, 'there', 'now')}",
        "Give this campaign another name, or use another store. If it only adds seeds, repeats or "
        "lineups: launch it with --extend.",
    )


def _subject(name: str) -> str:
    return f"{_SUBJECT}{name}"


def _name_in(lease: Lease) -> str:
    return lease.subject.removeprefix(_SUBJECT)
