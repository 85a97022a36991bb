"""Company-windows read back from a store, settled and open ones: what was asked, done and used.

Any process may read at any time, whoever plays the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final

from campaigns.plan import PlannedRun
from engine.decision import company_name
from engine.scenario import Scenario
from manifests.errors import InputError
from manifests.model import CampaignManifest, ModelCandidate
from orchestrator.bound import bound_scenario
from orchestrator.chosen import chosen_runs, version_on
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import Event, decode_event, kind_of
from orchestrator.session.files import PrivateFiles
from orchestrator.session.state import fold
from orchestrator.session.windows import Attempt, LateAnswer, WindowRecord, WindowView
from orchestrator.store import (
    AttemptKey,
    CompanyWindow,
    RunStore,
    SessionReader,
    Store,
)

_TELLING: Final = frozenset(
    {
        "answered",
        "failed",
        "interrupted",
        "wait_began",
        "finalization_began",
        "halted",
        "resumed",
        "closed",
    }
)
"""The kinds of events from which it follows what a closed attempt used and how it ended. The others
are most of a journal: a list of thousands of windows does without them.
"""


class WindowReader:
    """Reads the company-windows of one campaign."""

    def __init__(self, store: Store, campaign: str) -> None:
        self._store = store
        self._campaign = campaign
        self._manifest: CampaignManifest = store.catalogue.manifest(campaign)
        self._scenario: Scenario = bound_scenario(self._manifest)

    def records(
        self, run_id: str | None = None, day: int | None = None, seat: int | None = None
    ) -> Iterator[WindowRecord]:
        """The company-windows of the campaign by run, day and seat, or some of them.

        Raises:
            InputError: no such run or seat, or no window opens on that day.
        """
        version = None if day is None else version_on(day, self._scenario)
        for row in chosen_runs(self._store.catalogue, self._campaign, run_id, seat):
            run = self._store.run(row.key)
            try:
                yield from self._of_run(run, row.planned, version, seat)
            finally:
                run.close()

    def view(self, run_id: str, day: int, seat: int, attempt: int | None = None) -> WindowView:
        """One company-window, by its last attempt or another one.

        Raises:
            InputError: no such run, day, seat or attempt, or the window has not opened.
        """
        version = version_on(day, self._scenario)
        (row,) = chosen_runs(self._store.catalogue, self._campaign, run_id, seat)
        run = self._store.run(row.key)
        found = list(self._of_run(run, row.planned, version, seat))
        if not found:
            raise self._not_there(run, version, seat)
        (record,) = found
        settled = _settled(run, version, seat)
        events: tuple[Event, ...] = ()
        state = None
        shown = _chosen(record, attempt)
        if shown is not None:
            events = _events(SessionReader(run), AttemptKey(version, seat, shown.number))
            state = fold(PrivateFiles(), events)
        is_last = not record.attempts or shown is record.attempts[-1]
        decision = None if settled is None or not is_last else settled.decision
        if settled is None and state is not None and state.seals:
            decision = state.draft.to_decision(company_name(seat), version)
        return WindowView(
            record=record,
            attempt=shown,
            campaign=self._campaign,
            identity=self._identity(record.candidate) if settled is None else settled.identity,
            last_day=min(day + self._scenario.window_days, self._scenario.horizon_days),
            events=events,
            state=state,
            decision=decision,
            receipts=tuple(
                stored.receipt
                for stored in run.receipts()
                if is_last and (stored.version, stored.seat) == (version, seat)
            ),
        )

    def _of_run(
        self, run: RunStore, planned: PlannedRun, version: int | None, seat: int | None
    ) -> Iterator[WindowRecord]:
        def is_wanted(found: CompanyWindow | AttemptKey) -> bool:
            return version in (None, found.version) and seat in (None, found.seat)

        # In this order: a window that is settled in between has its attempts, too.
        settled = {
            (found.version, found.seat): found
            for found in run.company_windows()
            if is_wanted(found)
        }
        sessions = SessionReader(run)
        late: dict[tuple[int, int], list[LateAnswer]] = defaultdict(list)
        for reply in sessions.late_replies():
            if is_wanted(reply.key):
                late[reply.key[:2]].append(LateAnswer.of(reply))
        wanted = [key for key in sessions.attempts() if is_wanted(key)]
        keys = {place: tuple(found) for place, found in groupby(wanted, lambda key: key[:2])}
        telling = sessions.of_kinds(_TELLING, version, seat)
        walls = sessions.wall_seconds(version, seat)
        holds = self._store.holds.of(self._campaign).windows_of(planned.run_id)
        for place in sorted({*settled, *keys}):
            attempts = tuple(
                _attempt(sessions, key, map(decode_event, telling.get(key, ())))
                for key in keys.get(place, ())
            )
            closed = settled.get(place)
            status = attempts[-1].status if closed is None else closed.status
            reason = attempts[-1].reason if attempts else ""
            if status is CompanyWindowStatus.OPEN and place in holds:
                status, reason = CompanyWindowStatus.PAUSED, holds[place].reason
            yield WindowRecord(
                run_id=planned.run_id,
                version=place[0],
                day=place[0] * self._scenario.window_days,
                seat=place[1],
                candidate=planned.lineup[place[1] - 1],
                status=status,
                reason=reason,
                settled=closed is not None,
                attempts=attempts,
                wall_seconds=walls.get(place),
                late=tuple(late[place]),
            )

    def _not_there(self, run: RunStore, version: int, seat: int) -> InputError:
        status = run.status()
        day = version * self._scenario.window_days
        what = f"{company_name(seat)} has no window on day {day} of run {run.key.run_id}"
        exit_day = status.exits.get(seat)
        if exit_day is not None and exit_day <= day:
            return InputError(f"{what}: it has been bankrupt since day {exit_day}.")
        return InputError(
            f"{what} yet.",
            f"The run is {status.status} on day {status.day}. A company without a model has a "
            "window to show once it is settled.",
        )

    def _identity(self, candidate: str) -> str:
        decisive = self._manifest.decisive
        for known in (*decisive.candidates, *decisive.baselines):
            if known.id == candidate and isinstance(known, ModelCandidate):
                return known.route_identity
        return ""


def read_attempts(
    sessions: SessionReader, also: Collection[str]
) -> Iterator[tuple[AttemptKey, Attempt, list[Event]]]:
    """Every attempt of a run that has begun, by world version, seat and number, with those of its
    events that tell how it stands and those of the kinds `also`; the journal of one world version
    is in memory at a time.
    """
    for version, keys in groupby(sessions.attempts(), lambda key: key.version):
        found = sessions.of_kinds({*_TELLING, *also}, version)
        for key in keys:
            events = [decode_event(body) for body in found.get(key, ())]
            telling = (event for event in events if kind_of(event) in _TELLING)
            yield key, _attempt(sessions, key, telling), events


def _events(sessions: SessionReader, key: AttemptKey) -> tuple[Event, ...]:
    return tuple(decode_event(body) for body in sessions.events(key))


def _attempt(sessions: SessionReader, key: AttemptKey, telling: Iterable[Event]) -> Attempt:
    """How an attempt stands, by the events of it that tell; of one that is open or that began with
    usage of earlier ones, by all of them.
    """
    state = fold(PrivateFiles(), telling)
    if state.closed is None or key.attempt:
        state = fold(PrivateFiles(), _events(sessions, key))
    return Attempt.of(key.attempt, state)


def _chosen(record: WindowRecord, attempt: int | None) -> Attempt | None:
    """The attempt of this number, or the last. Raises InputError when there is none such."""
    if attempt is None:
        return record.attempts[-1] if record.attempts else None
    for each in record.attempts:
        if each.number == attempt:
            return each
    known = ", ".join(str(each.number) for each in record.attempts) or "none"
    raise InputError(f"The window has no attempt {attempt}.", f"Its attempts: {known}.")


def _settled(run: RunStore, version: int, seat: int) -> CompanyWindow | None:
    found = (each for each in run.company_windows() if (each.version, each.seat) == (version, seat))
    return next(found, None)
