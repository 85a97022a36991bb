"""How a campaign stands, read from the store alone: what `status` and `watch` show.

Any process may read it at any time, whoever carries the campaign out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from campaigns.plan import PlannedRun
from engine.scenario import Scenario
from orchestrator.bound import bound_scenario, execution_limits
from orchestrator.lifecycle import RunState
from orchestrator.owners import has_ended, is_alive, left_behind, shown
from orchestrator.status.barriers import SeatAtWork, barrier, early
from orchestrator.status.projection import Remaining, seconds_left
from orchestrator.store import (
    CampaignHolds,
    DesiredState,
    Hold,
    LeaseState,
    RunKey,
    RunStatus,
    Store,
)

INTERRUPTED: Final = "interrupted"
"""A run that is running by its record, but that nobody plays: its host was lost or left."""

# By how many of its last windows the pace of a run is told.
_LAST_WINDOWS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """One run; `state` is that of its record or of the hold on it, or `INTERRUPTED`. `owner` is who
    plays it now, `took` how many seconds each of its last windows took, the latest first.

    `barrier` has the companies with a model at the window where a run stands that is being played,
    and those whose fresh attempts one waits for that is in the queue.
    """

    planned: PlannedRun
    state: str
    reason: str
    windows: int
    days: int
    exits: Mapping[int, int]
    owner: str | None
    took: Sequence[float] = ()
    barrier: tuple[SeatAtWork, ...] = field(default=(), compare=False)

    @property
    def stragglers(self) -> tuple[SeatAtWork, ...]:
        """Who holds the barrier, the longest first."""
        holding = [seat for seat in self.barrier if seat.holds]
        return tuple(sorted(holding, key=lambda seat: -seat.open_seconds))

    def to_json(self) -> dict[str, Any]:
        """The run as plain JSON; `exits` maps seats to days."""
        return {
            "run": self.planned.run_id,
            "group": self.planned.group,
            "repeat": self.planned.repeat,
            "seed": self.planned.seed,
            "lineup": self.planned.lineup_label,
            "state": self.state,
            "reason": self.reason,
            "windows": self.windows,
            "days": self.days,
            "exits": {str(seat): day for seat, day in self.exits.items()},
            "owner": self.owner,
            "window_seconds": [round(seconds, 3) for seconds in self.took],
            "barrier": [seat.to_json() for seat in self.barrier],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """A campaign with all of its runs, in scheduling order.

    `owner` is who carries it out now, None when nobody does. `windows_per_run` and `days_per_run`
    are what every run has when it is completed, `slots` how many runs are active at once. `spent`
    is what is known to be spent in micro-dollars, None where no route has a price. `obstacle` says
    why nothing can be written into the store at present; empty when nothing is in the way.
    """

    campaign: str
    plan_hash: str
    desired: DesiredState
    reason: str
    owner: str | None
    windows_per_run: int
    days_per_run: int
    slots: int
    spent: int | None
    obstacle: str
    runs: tuple[RunProgress, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many runs are in each state; every state has a number."""
        found = Counter(run.state for run in self.runs)
        states = [*(state.value for state in RunState), INTERRUPTED]
        return {state: found[state] for state in states}

    @property
    def completed(self) -> int:
        return self.counts[RunState.COMPLETED]

    @property
    def finished(self) -> bool:
        """Whether every run is completed."""
        return self.completed == len(self.runs)

    @property
    def waiting(self) -> tuple[RunProgress, ...]:
        """The runs that wait for a person: paused or stopped."""
        at_rest = (RunState.PAUSED, RunState.STOPPED)
        return tuple(run for run in self.runs if run.state in at_rest)

    @property
    def windows(self) -> int:
        return sum(run.windows for run in self.runs)

    @property
    def days(self) -> int:
        return sum(run.days for run in self.runs)

    @property
    def bankruptcies(self) -> int:
        return sum(len(run.exits) for run in self.runs)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all runs are done that do not wait for a person, if they go on as they did
        and do now; None while that cannot be told.
        """
        waiting = {run.planned.run_id for run in self.waiting}
        return seconds_left(
            [
                Remaining(
                    self.windows_per_run - run.windows,
                    run.took,
                    run.owner is not None,
                    max((seat.open_seconds for seat in run.stragglers), default=0.0),
                )
                for run in self.runs
                if run.planned.run_id not in waiting
            ],
            self.slots,
        )

    @property
    def projected(self) -> int | None:
        """What all runs will have spent in the end, in micro-dollars, if their windows go on to
        cost what they did; None while that cannot be told.
        """
        if self.spent is None or not self.windows:
            return None
        return self.spent * len(self.runs) * self.windows_per_run // self.windows

    def to_json(self, runs: bool = False) -> dict[str, Any]:
        """The campaign as plain JSON, with a list of its runs if wanted."""
        left = self.seconds_left
        totals = {
            "campaign": self.campaign,
            "plan_hash": self.plan_hash,
            "desired": self.desired.value,
            "reason": self.reason,
            "owner": self.owner,
            "obstacle": self.obstacle,
            "finished": self.finished,
            "runs": {"total": len(self.runs), **self.counts},
            "windows": {
                "settled": self.windows,
                "total": len(self.runs) * self.windows_per_run,
            },
            "days": {"settled": self.days, "total": len(self.runs) * self.days_per_run},
            "bankruptcies": self.bankruptcies,
            "seconds_left": None if left is None else round(left),
            "spent_microdollars": self.spent,
            "projected_microdollars": self.projected,
        }
        return totals | ({"matrix": [run.to_json() for run in self.runs]} if runs else {})


class ProgressReader:
    """Reads how one campaign stands, again and again.

    What is completed is read once; the databases of other runs stay open between two readings.
    """

    def __init__(self, store: Store, campaign: str) -> None:
        self.location = store.location
        self._store = store
        self.campaign = campaign
        manifest, _ = store.catalogue.planned(campaign)
        self._scenario: Scenario = bound_scenario(manifest)
        in_force = store.catalogue.manifest_in_force(campaign)
        self._slots = execution_limits(in_force).max_active_runs
        self._completed: dict[str, RunProgress] = {}

    def read(self) -> CampaignProgress:
        """How the campaign stands now; errors as those of the store."""
        row = self._store.catalogue.campaign(self.campaign)
        holds = self._store.holds.of(self.campaign)
        spent = self._store.controls.spent(self.campaign)
        short: dict[str, set[int]] = {}
        for waiting in self._store.controls.waiting(self.campaign):
            short.setdefault(waiting.run_id, set()).add(waiting.seat)
        planned = [found.planned for found in self._store.catalogue.runs(self.campaign)]
        days, window = self._scenario.horizon_days, self._scenario.window_days
        obstacle = self._store.obstacle()
        return CampaignProgress(
            campaign=row.name,
            plan_hash=row.plan_hash,
            desired=row.desired,
            reason=row.reason,
            owner=holder_of(row.lease, renewable=not obstacle),
            windows_per_run=-(-days // window),
            days_per_run=days,
            slots=self._slots,
            spent=sum(each.known for each in spent) if spent else None,
            obstacle=obstacle,
            runs=tuple(
                self._run(run, holds, short.get(run.run_id, set()), renewable=not obstacle)
                for run in planned
            ),
        )

    def _run(
        self, planned: PlannedRun, holds: CampaignHolds, short: set[int], *, renewable: bool
    ) -> RunProgress:
        if planned.run_id in self._completed:
            return self._completed[planned.run_id]
        run = self._store.run(RunKey(self.campaign, planned.run_id))
        status = run.status()
        owner = holder_of(status.lease, renewable=renewable)
        at_work: tuple[SeatAtWork, ...] = ()
        hastened = holds.hastened_in(planned.run_id)
        if status.status is RunState.QUEUED:
            at_work = early(run, planned, status.world_version, hastened)
        elif status.status is RunState.RUNNING and owner is not None:
            at_work = barrier(run, planned, status.world_version, short, hastened)
        took = tuple(run.window_seconds(_LAST_WINDOWS))
        hold = holds.runs.get(planned.run_id)
        progress = _run_progress(planned, status, hold, owner, took, at_work)
        if status.status is RunState.COMPLETED:
            self._completed[planned.run_id] = progress
            run.close()
        return progress


def holder_of(lease: LeaseState, *, renewable: bool = True) -> str | None:
    """Who holds a lease and lives as far as can be told, as people want to read it.

    Where nobody can renew a lease because nothing can be written, one that has expired is still
    that of its owner while its process is known to live.
    """
    if lease.owner is None or has_ended(lease.owner):
        return None
    expired = lease.expires_in_seconds <= 0
    if expired and (renewable or not is_alive(lease.owner)):
        return None
    return shown(lease.owner)


def _run_progress(
    planned: PlannedRun,
    status: RunStatus,
    hold: Hold | None,
    owner: str | None,
    took: Sequence[float],
    at_work: tuple[SeatAtWork, ...],
) -> RunProgress:
    lost = status.status is RunState.RUNNING and owner is None
    state, reason = status.status.value, status.reason
    if lost:
        before = status.lease.owner
        state, reason = INTERRUPTED, "" if before is None else left_behind(before)
    if hold is not None and owner is None and status.status is not RunState.COMPLETED:
        state, reason = hold.desired.value, hold.reason
    return RunProgress(
        planned=planned,
        state=state,
        reason=reason,
        windows=status.world_version,
        days=status.day,
        exits=status.exits,
        owner=owner,
        took=took,
        barrier=at_work,
    )
