"""The runs of a campaign replayed in parallel, under the manifest they were frozen with."""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

from manifests.errors import ArenaError, InputError
from orchestrator.binding import bound_scenario
from orchestrator.ceos import identity_of
from orchestrator.replay.bound import catalogue_difference, manifest_of, plan_differences
from orchestrator.replay.differences import Difference, unreadable
from orchestrator.replay.run import RunReplay, RunReport
from orchestrator.store import Catalogue, RunKey, RunRow, RunStore, Store, open_store


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What the replay of a campaign found; a run matches when it has no difference."""

    runs: tuple[RunReport, ...]
    catalogue: Difference | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The first difference of every run that has one, in scheduling order."""
        found = (self.catalogue, *(run.difference for run in self.runs))
        return tuple(difference for difference in found if difference is not None)

    @property
    def matched(self) -> int:
        return sum(run.difference is None for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON; days and windows are those that were settled again, `complete`
        are the runs that were settled to their horizon.
        """
        return {
            "runs": len(self.runs),
            "matched": self.matched,
            "complete": sum(run.complete for run in self.runs),
            "days": sum(run.days for run in self.runs),
            "windows": sum(run.windows for run in self.runs),
            "differences": [difference.to_json() for difference in self.differences],
        }


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
    for report in _reports(tasks, jobs):
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


def _reports(tasks: list[_Task], jobs: int) -> Iterator[RunReport]:
    if jobs == 1 or len(tasks) <= 1:
        yield from map(_replayed, tasks)
        return
    # New interpreters, because a fork would take over threads and open databases.
    workers = min(jobs, len(tasks))
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_interrupt) as pool:
        try:
            for done in as_completed([pool.submit(_replayed, task) for task in tasks]):
                yield done.result()
        except BaseException:
            # Nothing is written by a replay, so that its workers can end anywhere.
            for worker in active_children():
                worker.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of the terminal; whoever started the workers ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
    if manifest is not None:
        difference = next(plan_differences(manifest, planned), None)
    if manifest is None or difference is not None:
        return RunReport(key.run_id, 0, 0, difference)
    identities = {
        candidate.id: found
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines)
        if (found := identity_of(candidate)) is not None
    }
    scenario = bound_scenario(manifest)
    return RunReplay(planned, scenario, identities, decided, recorded).report()
