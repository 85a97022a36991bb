"""Who holds the barrier of a window, for how long, and what for; read from the run's journal.

Any process may read it at any time, whoever plays the run. Companies without a model decide at once
and never hold a barrier.
"""

from collections.abc import Collection, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from campaigns.plan import PlannedRun
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import Closed, Halted, WaitBegan, decode_event
from orchestrator.store import (
    AttemptKey,
    AttemptStore,
    Latest,
    RunStore,
    SessionReader,
    StoredAttempt,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatAtWork:
    """A company at the window where its run stands.

    `status` is open, or that with which its present attempt ended. `doing` says what an open one is
    at, or why it ended; `until` is the end of a back-off, or of the wait before a fresh attempt.
    `open_seconds` counts from the opening of the present attempt, `seconds` from the last thing
    that happened in it. `is_short` says that its request waits for money that is set aside for
    others, `is_early` that its fresh attempt waits for its time, which a person can shorten.
    """

    seat: int
    candidate: str
    attempt: int
    status: CompanyWindowStatus
    doing: str
    until: datetime | None
    open_seconds: float
    seconds: float
    is_short: bool = False
    is_early: bool = False

    @property
    def holds(self) -> bool:
        """Whether the barrier waits for it."""
        return self.status is CompanyWindowStatus.OPEN

    def to_json(self) -> dict[str, Any]:
        """The seat as plain JSON; `until` in ISO 8601, null without a back-off."""
        return {
            "seat": self.seat,
            "candidate": self.candidate,
            "attempt": self.attempt,
            "status": self.status.value,
            "doing": self.doing,
            "until": None if self.until is None else self.until.isoformat(timespec="seconds"),
            "open_seconds": round(self.open_seconds, 1),
            "seconds": round(self.seconds, 1),
            "is_short": self.is_short,
            "is_early": self.is_early,
        }


def barrier(
    run: RunStore,
    planned: PlannedRun,
    version: int,
    short: Collection[int],
    hastened: Set[AttemptKey],
) -> tuple[SeatAtWork, ...]:
    """The companies with a model at a world version, by seat; those that have not begun are not
    there. The seats that are `short` wait for money; attempts that are `hastened` do not wait.
    """
    found: dict[int, SeatAtWork] = {}
    for latest in SessionReader(run).latest(version):
        seat = latest.key.seat
        found[seat] = _at_work(latest, planned.lineup[seat - 1])
        if seat in short and found[seat].holds:
            found[seat] = replace(found[seat], doing=_SHORT, is_short=True)
    for fresh in AttemptStore(run).not_begun(version):
        left = _left(fresh, hastened)
        found[fresh.key.seat] = _scheduled(found[fresh.key.seat], fresh, is_early=left > 0)
    return tuple(found[seat] for seat in sorted(found))


def early(
    run: RunStore, planned: PlannedRun, version: int, hastened: Set[AttemptKey]
) -> tuple[SeatAtWork, ...]:
    """The companies of a run in the queue whose fresh attempts wait for their time, by seat."""
    if due_in_seconds(run, version, hastened) <= 0:
        return ()
    return tuple(seat for seat in barrier(run, planned, version, (), hastened) if seat.is_early)


def due_in_seconds(run: RunStore, version: int, hastened: Set[AttemptKey]) -> float:
    """How long a run that rests at a world version has to wait before the first of its fresh
    attempts begins; 0 where there is none, or one that is `hastened`.
    """
    not_begun = AttemptStore(run).not_begun(version)
    return min((_left(fresh, hastened) for fresh in not_begun), default=0.0)


def _left(fresh: StoredAttempt, hastened: Set[AttemptKey]) -> float:
    return 0.0 if fresh.key in hastened else fresh.due_in_seconds


def _at_work(latest: Latest, candidate: str) -> SeatAtWork:
    event = decode_event(latest.body)
    status, until = CompanyWindowStatus.OPEN, None
    doing = _DOING.get(latest.kind, "deciding")
    if isinstance(event, Closed):
        status, doing = event.status, event.reason
    elif isinstance(event, Halted):
        status, doing = CompanyWindowStatus.PROVIDER_ERROR, event.reason
    elif isinstance(event, WaitBegan):
        until = datetime.fromtimestamp(event.began_at, UTC) + timedelta(seconds=event.seconds)
        doing = f"backing off until {until:%Y-%m-%d %H:%M:%S} UTC: {event.reason}"
    return SeatAtWork(
        seat=latest.key.seat,
        candidate=candidate,
        attempt=latest.key.attempt,
        status=status,
        doing=doing,
        until=until,
        open_seconds=latest.open_seconds,
        seconds=latest.seconds,
    )


def _scheduled(before: SeatAtWork, fresh: StoredAttempt, *, is_early: bool) -> SeatAtWork:
    attempt, until = fresh.key.attempt, fresh.due_at if is_early else None
    when = "" if until is None else f" until {until:%Y-%m-%d %H:%M:%S} UTC"
    return SeatAtWork(
        seat=before.seat,
        candidate=before.candidate,
        attempt=attempt,
        status=CompanyWindowStatus.OPEN,
        doing=f"waiting{when} for its fresh attempt {attempt}, after {before.status}",
        until=until,
        open_seconds=before.seconds,
        seconds=before.seconds,
        is_early=is_early,
    )


_SHORT: Final = "waiting until money that is set aside under the spending cap comes free"

_DOING = {
    "asked": "waiting for a reply of its model",
    "answered": "running the calls of a reply",
    "tool_receipt": "running the calls of a reply",
}
