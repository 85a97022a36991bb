"""Exact replay from a bundle: no store, no model, no network (runtime.md section 7)."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from manifests.bundle import Bundle
from manifests.errors import ArenaError, InputError
from manifests.model import CampaignManifest
from orchestrator.bundle.reading import BundledRun, BundleSource
from orchestrator.replay.campaign import replayed_run
from orchestrator.replay.differences import Difference, unreadable
from orchestrator.replay.manifest_copies import list_difference
from orchestrator.replay.parallel import reports
from orchestrator.replay.reports import ReplayReport, RunReport


class _Task(NamedTuple):
    """One run of a bundle, as it is sent to another process."""

    path: str
    run_id: str


def replay_bundle(
    path: Path,
    run_ids: Sequence[str],
    jobs: int,
    replayed: Callable[[RunReport], None],
) -> ReplayReport:
    """Replay the runs of a bundle, or some of them; `replayed` is told each that is done.

    Raises:
        InputError: there is no bundle, or no such run in it.
        IntegrityError: the statement of the bundle cannot be read.
    """
    source = BundleSource(Bundle.open(path))
    known = [run.run_id for run in source.planned]
    for run_id in run_ids:
        if run_id not in known:
            raise InputError(f"The bundle has no run {run_id}.", f"Its runs: {', '.join(known)}.")
    chosen = list(dict.fromkeys(run_ids)) or known
    tasks = [_Task(str(path), run_id) for run_id in chosen]
    found = {}
    for report in reports(_replayed, tasks, jobs):
        found[report.run_id] = report
        replayed(report)
    list_fault = list_difference(source.manifest, known, "the bundle's list of runs")
    return ReplayReport(tuple(found[run_id] for run_id in chosen), list_fault)


@cache
def _opened(path: str) -> tuple[CampaignManifest, dict[str, BundledRun]]:
    source = BundleSource(Bundle.open(Path(path)))
    return source.manifest, {run.planned.run_id: run for run in source.runs()}


def _replayed(task: _Task) -> RunReport:
    manifest, runs = _opened(task.path)
    run = runs[task.run_id]
    try:
        return replayed_run(manifest, run.planned, run, run)
    except ArenaError as error:
        difference = Difference(
            run=task.run_id,
            day=None,
            company=None,
            field="file",
            recorded=unreadable(error),
            recomputed=None,
            what="the bundle",
        )
        return RunReport(task.run_id, 0, 0, difference)
