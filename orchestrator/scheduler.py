"""Which runs start now: a pure function of how the campaign stands (runtime.md section 5).

Runs go in the order of their seed in the campaign's seed list, then of their lineup; a later seed
fills the slots that no eligible earlier run wants. A run that waits for a person, for the time of
its fresh attempt, for the runs it depends on, or for the winner of a search, holds no slot. The
answer depends on nothing else, so that a restart gives the same order.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from campaigns.consistency import SEARCH_WINNER
from campaigns.plan import PlannedRun
from orchestrator.lifecycle import RunState

WAITING_FOR_A_SLOT: Final = (RunState.PLANNED, RunState.QUEUED, RunState.RUNNING)
"""The states from which a run that nobody plays may be played: a running one lost its host."""


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the scheduler sees it; a person holds one that is `held`, and one that is `early` is
    due later.
    """

    planned: PlannedRun
    state: RunState
    held: bool = False
    early: bool = False

    @property
    def run_id(self) -> str:
        return self.planned.run_id


def runs_to_start(runs: Sequence[RunView], active: Collection[str], limit: int) -> list[str]:
    """The ids of the runs that should start now, in the order in which they should start.

    `active` are the ids of the runs that hold a slot, of which there are `limit`.
    """
    completed = _completed(runs)
    eligible = [
        run
        for run in sorted(runs, key=_order)
        if run.run_id not in active
        and run.state in WAITING_FOR_A_SLOT
        and not run.held
        and not run.early
        and SEARCH_WINNER not in run.planned.lineup
        and completed.issuperset(run.planned.depends_on)
    ]
    free = max(limit - len(active), 0)
    return [run.run_id for run in eligible[:free]]


def runs_to_resolve(runs: Sequence[RunView]) -> list[str]:
    """The ids of the runs whose search is decided, but whose seat still waits for its winner."""
    completed = _completed(runs)
    return [
        run.run_id
        for run in sorted(runs, key=_order)
        if SEARCH_WINNER in run.planned.lineup and completed.issuperset(run.planned.depends_on)
    ]


def _completed(runs: Sequence[RunView]) -> frozenset[str]:
    return frozenset(run.run_id for run in runs if run.state is RunState.COMPLETED)


def _order(run: RunView) -> tuple[int, int]:
    return run.planned.seed_position, run.planned.position
