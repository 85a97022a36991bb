"""How the models of a campaign fared as deciders, and what their decisions took (evaluation.md
section 3). Pure: computed from the company-windows that were read back.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from orchestrator.lifecycle import SETTLED, CompanyWindowStatus
from orchestrator.session.reading import Attempt, WindowRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the settled windows of a candidate, or of all, closed.

    `active` are its company-windows that are settled, so that the four statuses add up to it;
    `open` are those that are not. `fresh_attempts` came after failed ones, which `failed_attempts`
    counts.
    """

    candidate: str | None
    active: int
    sealed: int
    budget_exhausted: int
    timeout: int
    protocol_error: int
    open: int
    fresh_attempts: int
    failed_attempts: int

    @classmethod
    def of(cls, candidate: str | None, records: Sequence[WindowRecord]) -> Self:
        """The health of one candidate's windows; of all candidates' under None."""
        settled = Counter(record.status for record in records if record.settled)
        return cls(
            candidate=candidate,
            active=settled.total(),
            **{status.value: settled[status] for status in SETTLED},
            open=len(records) - settled.total(),
            fresh_attempts=sum(len(record.attempts[1:]) for record in records),
            failed_attempts=sum(len(record.attempts[:-1]) for record in records),
        )

    @property
    def unsealed_rate(self) -> float | None:
        """Windows that were not sealed, as a share of the active ones."""
        return float(Fraction(self.active - self.sealed, self.active)) if self.active else None

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON."""
        return asdict(self) | {"unsealed_rate": self.unsealed_rate}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What some attempts took: replies and calls, and tokens as the services counted them.

    `cached_input_tokens` are a part of the input, `reasoning_tokens` of the output. Replies without
    usage and requests that were possibly billed are in none of the other figures: what they took is
    not known.
    """

    windows: int = 0
    replies: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    replies_without_usage: int = 0
    possibly_billed: int = 0

    @classmethod
    def of(cls, windows: int, attempts: Sequence[Attempt]) -> Self:
        """The work of these attempts at so many windows."""
        counts = [attempt.counts for attempt in attempts]
        return cls(
            windows=windows,
            replies=sum(attempt.use.replies for attempt in attempts),
            tool_calls=sum(each.tool_calls for each in counts),
            input_tokens=sum(each.input_tokens for each in counts),
            cached_input_tokens=sum(each.cached_input_tokens for each in counts),
            output_tokens=sum(each.output_tokens for each in counts),
            reasoning_tokens=sum(each.reasoning_tokens for each in counts),
            replies_without_usage=sum(each.replies_without_usage for each in counts),
            possibly_billed=sum(each.possibly_billed for each in counts),
        )

    @classmethod
    def of_late(cls, records: Sequence[WindowRecord]) -> Self:
        """The work of the replies that came too late for these windows."""
        replies = [answer.reply for record in records for answer in record.late]
        usages = [reply.usage for reply in replies if reply.usage is not None]
        return cls(
            windows=len([record for record in records if record.late]),
            replies=len(replies),
            tool_calls=sum(len(reply.tool_calls) for reply in replies),
            input_tokens=sum(usage.input_tokens for usage in usages),
            cached_input_tokens=sum(usage.cached_input_tokens for usage in usages),
            output_tokens=sum(usage.output_tokens for usage in usages),
            reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
            replies_without_usage=len(replies) - len(usages),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The work of one candidate, or of all.

    A trajectory is one company over one run. `counted` has the settled windows that were sealed and
    whose every reply told its usage; `apart` has all other work: unsealed and open windows, and
    attempts that failed. `late` has the replies that came for an owner which had lost the run: they
    were paid, they are in no conversation and in none of the other figures, and the window that
    they were for counts their requests as possibly billed. Mean and standard deviation (of a
    sample) are of counted replies over trajectories; None where there are too few.
    """

    candidate: str | None
    trajectories: int
    replies_per_trajectory_mean: float | None
    replies_per_trajectory_sd: float | None
    counted: Work
    apart: Work
    late: Work

    @classmethod
    def of(cls, candidate: str | None, records: Sequence[WindowRecord]) -> Self:
        """The work in one candidate's windows; in all candidates' under None."""
        counted = [record for record in records if is_counted(record)]
        replies = {(record.run_id, record.seat): 0 for record in records}
        for record in counted:
            replies[record.run_id, record.seat] += record.use.replies
        each = list(replies.values())
        return cls(
            candidate=candidate,
            trajectories=len(each),
            replies_per_trajectory_mean=float(Fraction(sum(each), len(each))) if each else None,
            replies_per_trajectory_sd=statistics.stdev(each) if len(each) > 1 else None,
            counted=Work.of(len(counted), [record.attempts[-1] for record in counted]),
            apart=Work.of(
                len(records) - len(counted),
                [
                    attempt
                    for record in records
                    for attempt in record.attempts[: -1 if is_counted(record) else None]
                ],
            ),
            late=Work.of_late(records),
        )

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON: the counted work at the top, the rest under `apart` and `late`."""
        row = asdict(self)
        return row | {"counted_windows": row["counted"].pop("windows"), **row.pop("counted")}


@dataclass(frozen=True, slots=True)
class Conduct:
    """Decision health and workload by candidate in the order of the campaign, and of all."""

    health: tuple[Health, ...]
    health_of_all: Health
    workload: tuple[Workload, ...]
    workload_of_all: Workload

    def to_json(self) -> dict[str, Any]:
        """Both tables as plain JSON, under `decision_health` and `workload`."""
        return {
            "decision_health": {
                "candidates": [row.to_json() for row in self.health],
                "all": self.health_of_all.to_json(),
            },
            "workload": {
                "candidates": [row.to_json() for row in self.workload],
                "all": self.workload_of_all.to_json(),
            },
        }


def conduct(models: Sequence[str], records: Iterable[WindowRecord]) -> Conduct:
    """The conduct of the candidates that are models; windows of others are left out."""
    by_candidate: dict[str, list[WindowRecord]] = defaultdict(list)
    for record in records:
        by_candidate[record.candidate].append(record)
    everything = [record for name in models for record in by_candidate[name]]
    return Conduct(
        health=tuple(Health.of(name, by_candidate[name]) for name in models),
        health_of_all=Health.of(None, everything),
        workload=tuple(Workload.of(name, by_candidate[name]) for name in models),
        workload_of_all=Workload.of(None, everything),
    )


def is_counted(record: WindowRecord) -> bool:
    """Whether the workload counts a window (evaluation.md section 2): it is settled and sealed, and
    every reply in it told its usage.
    """
    return (
        record.settled
        and record.status is CompanyWindowStatus.SEALED
        and record.counts.replies_without_usage == 0
    )
