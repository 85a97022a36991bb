"""What went wrong in a campaign, what followed, and what people did, in order of time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from engine.decision import company_name
from orchestrator.chosen import chosen_runs
from orchestrator.lifecycle import RunState
from orchestrator.status.progress import INTERRUPTED
from orchestrator.store import AttemptStore, RunStore, Store

_ROUTINE: Final = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.COMPLETED, "create"})
"""What every run becomes and every campaign begins with, and what nobody needs to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry: a failure of an attempt, a fresh attempt, a change of a run's status, which has no
    window, or what a person did to a target, whose text names its run. That somebody left the run
    without giving it up is found by whoever takes it over.
    """

    at: datetime
    kind: str
    run_id: str | None = None
    target: str | None = None
    version: int | None = None
    seat: int | None = None
    attempt: int | None = None
    status: str = ""
    cause: str = ""
    reason: str = ""
    followed_by: str = ""

    @property
    def is_routine(self) -> bool:
        """Whether it is what happens to every run, or to every campaign."""
        return self.kind in _ROUTINE and not self.reason

    def to_json(self) -> dict[str, Any]:
        """The entry as plain JSON; `at` in ISO 8601."""
        return {
            "at": self.at.isoformat(timespec="milliseconds"),
            "run": self.run_id,
            "target": self.target,
            "kind": self.kind,
            "world_version": self.version,
            "seat": self.seat,
            "attempt": self.attempt,
            "status": self.status,
            "cause": self.cause,
            "reason": self.reason,
            "followed_by": self.followed_by,
        }


def history(
    store: Store, campaign: str, run_id: str | None = None, seat: int | None = None
) -> list[Entry]:
    """The history of a campaign, of one of its runs, or of one seat, the oldest first.

    Raises:
        InputError: no such campaign, run or seat.
    """
    entries: list[Entry] = []
    for row in chosen_runs(store.catalogue, campaign, run_id, seat):
        run = store.run(row.key)
        try:
            entries += [entry for entry in _of_run(run) if seat in (None, entry.seat)]
        finally:
            run.close()
    return sorted(entries, key=lambda entry: entry.at)


def acts(
    store: Store, campaign: str, run_id: str | None = None, seat: int | None = None
) -> list[Entry]:
    """What people did to a campaign and all in it, to one of its runs, or to one seat, and why; the
    oldest first.

    Raises:
        InputError: no such campaign.
    """
    return [
        Entry(at=act.at, kind=act.act, target=act.target, reason=act.reason)
        for act in store.catalogue.acts(campaign)
        if _is_about(act.target, run_id, seat)
    ]


def _is_about(target: str, run_id: str | None, seat: int | None) -> bool:
    of_run = run_id is None or f"run {run_id} " in f"{target} "
    return of_run and (seat is None or target.startswith(f"{company_name(seat)} "))


def _of_run(run: RunStore) -> Iterator[Entry]:
    attempts, run_id = AttemptStore(run), run.key.run_id
    for failure in attempts.failures():
        yield Entry(
            at=failure.failed_at,
            run_id=run_id,
            kind="failure",
            version=failure.key.version,
            seat=failure.key.seat,
            attempt=failure.key.attempt,
            status=failure.status.value,
            cause=failure.cause,
            reason=failure.reason,
            followed_by=f"{failure.verdict}: {failure.verdict_reason}",
        )
    for fresh in attempts.fresh():
        yield Entry(
            at=fresh.granted_at,
            run_id=run_id,
            kind="fresh attempt",
            version=fresh.key.version,
            seat=fresh.key.seat,
            attempt=fresh.key.attempt,
            reason=f"{fresh.reason}; granted by {fresh.granted_by}",
        )
    for change in run.transitions():
        left_behind = change.status is RunState.RUNNING and change.reason
        kind = INTERRUPTED if left_behind else change.status.value
        yield Entry(at=change.at, run_id=run_id, kind=kind, reason=change.reason)
