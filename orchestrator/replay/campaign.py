"""The runs of a campaign replayed in parallel, under the manifest they were frozen with."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from campaigns.plan import PlannedRun
from manifests.errors import ArenaError, InputError
from manifests.model import CampaignManifest
from orchestrator.bound import bound_scenario
from orchestrator.ceos import identity_of
from orchestrator.replay.differences import Difference, unreadable
from orchestrator.replay.manifest_copies import catalogue_difference, manifest_of, plan_differences
from orchestrator.replay.parallel import reports
from orchestrator.replay.recorded import RecordedRun
from orchestrator.replay.reports import ReplayReport, RunReport
from orchestrator.replay.run import RunReplay
from orchestrator.store import Catalogue, RunKey, RunRow, RunStore, Store, open_store


class _Task(NamedTuple):
    """One run to replay, as it is sent to another process; `against` is where the records are."""

    location: str
    against: str
    key: RunKey


def replay_campaign(
    location: str,
    campaign: str,
    run_ids: Sequence[str],
    jobs: int,
    against: str | None,
    replayed: Callable[[RunReport], None],
) -> ReplayReport:
    """Replay the runs of a campaign, or some of them; `replayed` is told each that is done.

    With `against`, the decisions come from the store at `location` and everything else from the
    store at `against`.

    Raises:
        InputError: an unknown campaign or run, or another plan in the store to compare with.
        StoreError: one of the stores cannot be opened.
    """
    with open_store(location) as store:
        rows = _chosen(store, campaign, run_ids)
        catalogue = catalogue_difference(store, campaign, rows)
        if against is not None:
            _check_same_plan(store, against, campaign)
    tasks = [_Task(location, against or location, row.key) for row in rows]
    found = {}
    for report in reports(_replayed, tasks, jobs):
        found[report.run_id] = report
        replayed(report)
    return ReplayReport(tuple(found[row.key.run_id] for row in rows), catalogue)


def _chosen(store: Store, campaign: str, run_ids: Sequence[str]) -> list[RunRow]:
    if run_ids:
        chosen = dict.fromkeys(run_ids)
        return [store.catalogue.run(RunKey(campaign, run_id)) for run_id in chosen]
    return store.catalogue.runs(campaign)


def _check_same_plan(store: Store, against: str, campaign: str) -> None:
    with open_store(against) as other:
        here, there = (each.catalogue.campaign(campaign).plan_hash for each in (store, other))
    if here != there:
        raise InputError(
            f"Campaign {campaign} has plan {here} here, but {there} in {against}.",
            "Compare two stores of one plan.",
        )


@cache
def _opened(location: str) -> Store:
    return open_store(location)


def _replayed(task: _Task) -> RunReport:
    run_id = task.key.run_id
    decided, recorded = (_opened(place).run(task.key) for place in (task.location, task.against))
    try:
        return _replay(_opened(task.location).catalogue, decided, recorded)
    except ArenaError as error:
        difference = Difference(
            run=run_id,
            day=None,
            company=None,
            field="row",
            recorded=unreadable(error),
            recomputed=None,
            what="the database",
        )
        return RunReport(run_id, 0, 0, difference)
    finally:
        decided.close()
        recorded.close()


def _replay(catalogue: Catalogue, decided: RunStore, recorded: RunStore) -> RunReport:
    key = decided.key
    planned = catalogue.run(key).planned
    kept = catalogue.manifest_json(key.campaign)
    manifest, difference = manifest_of(kept, decided.manifest_json(), key.run_id)
    if manifest is None:
        return RunReport(key.run_id, 0, 0, difference)
    return replayed_run(manifest, planned, decided, recorded)


def replayed_run(
    manifest: CampaignManifest, planned: PlannedRun, decided: RecordedRun, recorded: RecordedRun
) -> RunReport:
    """A run replayed by the decisions in `decided`, and compared with the rest of `recorded`.

    Raises:
        InputError: this version does not know the scenario of the manifest.
    """
    difference = next(plan_differences(manifest, planned), None)
    if difference is not None:
        return RunReport(planned.run_id, 0, 0, difference)
    identities = {
        candidate.id: found
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines)
        if (found := identity_of(candidate)) is not None
    }
    return RunReplay(planned, bound_scenario(manifest), identities, decided, recorded).report()
