"""What a replay found, of a run and of a campaign."""

from dataclasses import dataclass
from typing import Any

from orchestrator.replay.differences import Difference


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the replay of a run found: how many days and windows it settled, and a difference.

    `complete` says whether it was settled to its horizon.
    """

    run_id: str
    days: int
    windows: int
    difference: Difference | None
    complete: bool = False

    @property
    def matches(self) -> bool:
        """Whether there was something to settle again, and all of it came out as recorded."""
        return self.difference is None and self.windows > 0

    @property
    def nothing_recorded(self) -> bool:
        """Whether no window was ever settled, so that there was nothing to compare."""
        return self.difference is None and self.windows == 0


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What the replay of a campaign found: a run matches, differs, or has nothing recorded."""

    runs: tuple[RunReport, ...]
    catalogue: Difference | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The first difference of every run that has one, in scheduling order."""
        found = (self.catalogue, *(run.difference for run in self.runs))
        return tuple(difference for difference in found if difference is not None)

    @property
    def matched(self) -> int:
        return sum(run.matches for run in self.runs)

    @property
    def nothing_recorded(self) -> tuple[str, ...]:
        """The ids of the runs of which no window was settled yet, in scheduling order."""
        return tuple(run.run_id for run in self.runs if run.nothing_recorded)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON; days and windows are those that were settled again, `complete`
        are the runs that were settled to their horizon.
        """
        return {
            "runs": len(self.runs),
            "matched": self.matched,
            "nothing_recorded": len(self.nothing_recorded),
            "complete": sum(run.complete for run in self.runs),
            "days": sum(run.days for run in self.runs),
            "windows": sum(run.windows for run in self.runs),
            "differences": [difference.to_json() for difference in self.differences],
        }
