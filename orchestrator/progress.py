"""How a campaign stands, read from the store alone: what `status` and `watch` show.

Any process may read it at any time, whoever carries the campaign out.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from campaigns.plan import PlannedRun
from engine.scenario import Scenario
from orchestrator.binding import bound_scenario
from orchestrator.lifecycle import RunState
from orchestrator.owners import has_ended, shown
from orchestrator.store import CampaignRow, DesiredState, LeaseState, RunKey, RunStatus, Store

INTERRUPTED: Final = "interrupted"
"""A run that is running by its record, but that nobody plays: its host was lost or left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """One run; `state` is that of its record, or `INTERRUPTED`. `owner` is who plays it now."""

    planned: PlannedRun
    state: str
    reason: str
    windows: int
    days: int
    exits: Mapping[int, int]
    owner: str | None

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
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """A campaign with all of its runs, in scheduling order.

    `owner` is who carries it out now, None when nobody does. `windows_per_run` and `days_per_run`
    are what every run has when it is completed.
    """

    campaign: str
    plan_hash: str
    desired: DesiredState
    reason: str
    owner: str | None
    windows_per_run: int
    days_per_run: int
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
    def windows_to_play(self) -> int:
        """The windows that are not settled yet, without those of runs that wait for a person."""
        waiting = sum(self.windows_per_run - run.windows for run in self.waiting)
        return len(self.runs) * self.windows_per_run - self.windows - waiting

    def to_json(self, runs: bool = False) -> dict[str, Any]:
        """The campaign as plain JSON, with a list of its runs if wanted."""
        totals = {
            "campaign": self.campaign,
            "plan_hash": self.plan_hash,
            "desired": self.desired.value,
            "reason": self.reason,
            "owner": self.owner,
            "finished": self.finished,
            "runs": {"total": len(self.runs), **self.counts},
            "windows": {
                "settled": self.windows,
                "total": len(self.runs) * self.windows_per_run,
            },
            "days": {"settled": self.days, "total": len(self.runs) * self.days_per_run},
            "bankruptcies": self.bankruptcies,
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
        self._scenario: Scenario = bound_scenario(store.catalogue.manifest(campaign))
        self._completed: dict[str, RunStatus] = {}

    def read(self) -> CampaignProgress:
        """How the campaign stands now; errors as those of the store."""
        row = self._store.catalogue.campaign(self.campaign)
        planned = [found.planned for found in self._store.catalogue.runs(self.campaign)]
        days, window = self._scenario.horizon_days, self._scenario.window_days
        return CampaignProgress(
            campaign=row.name,
            plan_hash=row.plan_hash,
            desired=row.desired,
            reason=row.reason,
            owner=holder(row),
            windows_per_run=-(-days // window),
            days_per_run=days,
            runs=tuple(_run_progress(run, self._status(run.run_id)) for run in planned),
        )

    def _status(self, run_id: str) -> RunStatus:
        if run_id in self._completed:
            return self._completed[run_id]
        run = self._store.run(RunKey(self.campaign, run_id))
        status = run.status()
        if status.status is RunState.COMPLETED:
            self._completed[run_id] = status
            run.close()
        return status


def holder(row: CampaignRow) -> str | None:
    """Who carries a campaign out now, as people want to read it."""
    return _living(row.lease)


def _living(lease: LeaseState) -> str | None:
    if lease.owner is None or lease.expires_in_seconds <= 0 or has_ended(lease.owner):
        return None
    return shown(lease.owner)


def _run_progress(planned: PlannedRun, status: RunStatus) -> RunProgress:
    owner = _living(status.lease)
    lost = status.status is RunState.RUNNING and owner is None
    return RunProgress(
        planned=planned,
        state=INTERRUPTED if lost else status.status.value,
        reason=status.reason,
        windows=status.world_version,
        days=status.day,
        exits=status.exits,
        owner=owner,
    )
