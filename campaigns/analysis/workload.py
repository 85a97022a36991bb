"""What the decisions of models took (evaluation.md sections 2 and 3)."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import msgspec

from campaigns.analysis.conduct import Conduct, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The work of one candidate, or of all under None, over its trajectories: one is one company
    over one run.

    `counted` has the settled windows that were sealed and whose every reply told its usage; `apart`
    has all other work, and `late` the replies that came for an owner which had lost the run: paid,
    in no conversation and in none of the other figures. Mean and standard deviation (of a sample)
    are of counted replies over trajectories; None where there are too few.
    """

    candidate: str | None
    trajectories: int
    replies_per_trajectory_mean: float | None
    replies_per_trajectory_sd: float | None
    counted: Work
    apart: Work
    late: Work

    @classmethod
    def of(cls, candidate: str | None, trajectories: Sequence[Conduct]) -> Self:
        """The work of these trajectories together."""
        replies = [each.counted.replies for each in trajectories]
        return cls(
            candidate=candidate,
            trajectories=len(replies),
            replies_per_trajectory_mean=float(Fraction(sum(replies), len(replies)))
            if replies
            else None,
            replies_per_trajectory_sd=statistics.stdev(replies) if len(replies) > 1 else None,
            counted=sum((each.counted for each in trajectories), start=Work()),
            apart=sum((each.apart for each in trajectories), start=Work()),
            late=sum((each.late for each in trajectories), start=Work()),
        )

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON: the counted work at the top, the rest under `apart` and `late`."""
        counted = msgspec.structs.asdict(self.counted)
        return {
            "candidate": self.candidate,
            "trajectories": self.trajectories,
            "replies_per_trajectory_mean": self.replies_per_trajectory_mean,
            "replies_per_trajectory_sd": self.replies_per_trajectory_sd,
            "counted_windows": counted.pop("windows"),
            **counted,
            "apart": msgspec.structs.asdict(self.apart),
            "late": msgspec.structs.asdict(self.late),
        }


def workload(candidates: Sequence[str], trajectories: Sequence[Conduct]) -> list[Workload]:
    """The candidates in the order given, then all of them together."""
    chosen = [each for each in trajectories if each.candidate in candidates]
    rows = [
        Workload.of(name, [each for each in chosen if each.candidate == name])
        for name in candidates
    ]
    return [*rows, Workload.of(None, chosen)]
