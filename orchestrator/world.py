"""One run between its store, its CEOs and the engine: window, barrier, settlement
(runtime.md section 1).

At each boundary every active company observes and decides, all at once. When all have closed
their windows, the window is settled and one transaction commits it; then comes the next. The order
in which decisions arrive leaves no trace: they are taken by seat. Between two windows the world
yields to the others of its process and looks whether it is to stop.
"""

import asyncio
from collections.abc import Mapping
from enum import Enum
from itertools import takewhile
from typing import Final

from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome
from engine.boundary import Boundary
from engine.bounds import MarketOverflow
from engine.decision import company_name, validate_decision
from engine.scenario import Scenario
from engine.settle import initial_state, settle_window
from engine.state import WorldState
from engine.streams import Streams
from manifests.errors import IntegrityError, StoreError
from orchestrator.causes import cause_of
from orchestrator.ceos import Ceo, Window
from orchestrator.lifecycle import SETTLED, CompanyWindowStatus, RunState
from orchestrator.outcomes import Totals, company_outcomes
from orchestrator.store import (
    AttemptKey,
    CampaignHolds,
    Checkpoint,
    CompanyWindow,
    DesiredState,
    Hold,
    Lease,
    LeaseLost,
    RunStore,
    WindowAlreadyCommitted,
    WindowCommit,
)

_WAY_TO_RUNNING: Final[Mapping[RunState, tuple[RunState, ...]]] = {
    RunState.PLANNED: (RunState.QUEUED, RunState.RUNNING),
    RunState.QUEUED: (RunState.RUNNING,),
    RunState.RUNNING: (),
}


class StopKind(Enum):
    """Why a world stops at its next boundary."""

    PAUSE = "pause"
    """A person pauses the run: it waits for a person."""

    STOP = "stop"
    """A person stops the run: it waits for a person, too."""

    LEAVE = "leave"
    """Whoever played the run goes away: it waits for the next one."""


_KIND_OF_HOLD: Final[Mapping[DesiredState, StopKind]] = {
    DesiredState.PAUSED: StopKind.PAUSE,
    DesiredState.STOPPED: StopKind.STOP,
}


class StopRequest:
    """A wish that a world stop at its next boundary, made at any time from its event loop.

    It is asked of the whole campaign, or follows from a hold on the run, which can be lifted again.
    Holds on single company-windows keep these from going on, and with them the barrier. That a
    fresh attempt is hastened is heard here, too.
    """

    def __init__(self) -> None:
        self._asked: tuple[StopKind, str] | None = None
        self._hold: Hold | None = None
        self._windows: Mapping[tuple[int, int], Hold] = {}
        self._hastened: frozenset[AttemptKey] = frozenset()

    def ask(self, kind: StopKind, reason: str) -> None:
        """Ask to stop; a pause or a stop is not taken back by leaving."""
        if self._asked is None or kind is not StopKind.LEAVE:
            self._asked = kind, reason

    def heed(self, found: CampaignHolds, run_id: str) -> None:
        """Take notice of what is held of the run and of its windows, and of what is hastened."""
        self._hold = found.runs.get(run_id)
        self._windows = found.windows_of(run_id)
        self._hastened = found.hastened_in(run_id)

    @property
    def kind(self) -> StopKind | None:
        """Why the world is to stop, None while it is not."""
        wish = self._wish()
        return None if wish is None else wish[0]

    @property
    def reason(self) -> str:
        """What was said about it."""
        wish = self._wish()
        return "" if wish is None else wish[1]

    def of_window(self, version: int, seat: int) -> Hold | None:
        """The hold on a company-window."""
        return self._windows.get((version, seat))

    def is_hastened(self, attempt: AttemptKey) -> bool:
        """Whether a fresh attempt is to begin before its time."""
        return attempt in self._hastened

    def _wish(self) -> tuple[StopKind, str] | None:
        leaving = self._asked is None or self._asked[0] is StopKind.LEAVE
        if self._hold is not None and leaving:
            return _KIND_OF_HOLD[self._hold.desired], self._hold.reason
        return self._asked


class BarrierBroken(Exception):
    """A window that cannot be settled; the message names the company and the cause.

    `recovers`: a fresh attempt is made when the run goes on, for which nobody needs to be asked.
    """

    def __init__(self, reason: str, *, recovers: bool = False) -> None:
        super().__init__(reason)
        self.recovers = recovers


class World:
    """One run, played from its last boundary by whoever holds its lease.

    A thread commits a window: meanwhile the other worlds of the process decide and settle.
    """

    def __init__(
        self,
        run: RunStore,
        lease: Lease,
        planned: PlannedRun,
        scenario: Scenario,
        ceos: Mapping[int, Ceo],
        stop: StopRequest,
    ) -> None:
        self._run = run
        self._lease = lease
        self._planned = planned
        self._scenario = scenario
        self._ceos = ceos
        self._stop = stop
        self._streams = Streams(planned.seed)
        self._totals = Totals(len(planned.lineup))
        self._played_from = 0

    async def play(self) -> RunState:
        """Play until the run is completed, paused, stopped, or left at a boundary; its state then.

        A run that waits for a person is not touched. A CEO that fails, or decides what the world
        does not allow, stops the run with a reason; so does a market whose money overflows.

        Raises:
            LeaseLost: somebody else owns the run; nothing was written since.
            StoreError, IntegrityError: the store refuses or contradicts itself; everything up to
                the last boundary is there.
        """
        found = await asyncio.to_thread(self._run.status)
        if found.status not in _WAY_TO_RUNNING:
            return found.status
        for state in _WAY_TO_RUNNING[found.status]:
            await self._become(state, "")
        boundary = await self._first_boundary()
        self._played_from = boundary.day
        while boundary.day < self._scenario.horizon_days:
            if self._stop.kind is not None:
                return await self._stopped()
            try:
                settled = await self._window(boundary)
            except BarrierBroken as broken:
                return await self._stopped_by(broken)
            if settled is None and (held := self._held(boundary.version)):
                return await self._at_rest(*held)
            boundary = settled or boundary
            await asyncio.sleep(0)
        return RunState.COMPLETED

    async def _become(self, state: RunState, reason: str) -> None:
        await asyncio.to_thread(self._run.set_status, self._lease, state, reason)

    async def _stopped_by(self, broken: BarrierBroken) -> RunState:
        """Stop the run; where a fresh attempt follows, it waits for a slot like any other."""
        steps = [(RunState.STOPPED, str(broken))]
        if broken.recovers and self._stop.kind not in (StopKind.PAUSE, StopKind.STOP):
            steps.append((RunState.QUEUED, str(broken)))
        await asyncio.to_thread(self._run.pass_through, self._lease, steps)
        return steps[-1][0]

    async def _stopped(self) -> RunState:
        kind = self._stop.kind
        if kind is StopKind.PAUSE:
            return await self._at_rest(RunState.PAUSED, self._stop.reason)
        if kind is StopKind.STOP:
            return await self._at_rest(RunState.STOPPED, self._stop.reason)
        return RunState.RUNNING

    async def _at_rest(self, state: RunState, reason: str) -> RunState:
        await self._become(state, reason)
        return state

    def _held(self, version: int) -> tuple[RunState, str] | None:
        """How the run rests because some of its company-windows are held, and why."""
        holds = {
            seat: hold
            for seat in self._ceos
            if (hold := self._stop.of_window(version, seat)) is not None
        }
        if not holds:
            return None
        stopped = any(hold.desired is DesiredState.STOPPED for hold in holds.values())
        reasons = [
            f"the window of {company_name(seat)} on day {version * self._scenario.window_days} is "
            f"{hold.desired}" + (f": {hold.reason}" if hold.reason else "")
            for seat, hold in sorted(holds.items())
        ]
        return RunState.STOPPED if stopped else RunState.PAUSED, "; ".join(reasons)

    async def _first_boundary(self) -> Checkpoint:
        found = await asyncio.to_thread(self._run.latest)
        if found is None:
            state = initial_state(self._scenario, self._streams, len(self._planned.lineup))
            await asyncio.to_thread(self._run.begin, self._lease, state)
            return Checkpoint(state.version, state.day, state, elapsed=[], receipts={})
        return found

    async def _window(self, boundary: Checkpoint) -> Checkpoint | None:
        """From one boundary to the next, which is stored when this returns; None when the world
        is to stop and some company has not closed.
        """
        windows = await self._decided(boundary)
        if windows is None:
            return None
        return await self._settled(boundary, windows)

    async def _settled(self, boundary: Checkpoint, windows: list[CompanyWindow]) -> Checkpoint:
        decisions = {window.seat: window.decision for window in windows}
        try:
            settlement = settle_window(self._scenario, self._streams, boundary.state, decisions)
        except MarketOverflow as overflow:
            raise BarrierBroken(cause_of(overflow)) from overflow
        self._totals.add(settlement.days)
        state = settlement.state
        last = state.day >= self._scenario.horizon_days
        commit = WindowCommit(
            version_before=boundary.version,
            decisions=windows,
            receipts=settlement.receipts,
            days=settlement.days,
            state=state,
            outcomes=await asyncio.to_thread(self._outcomes, state) if last else None,
        )
        await asyncio.to_thread(self._commit, commit)
        return Checkpoint(state.version, state.day, state, settlement.days, settlement.receipts)

    async def _decided(self, boundary: Checkpoint) -> list[CompanyWindow] | None:
        """The barrier: the closed windows of all active companies, by seat; None when the world is
        to stop and one of them is still open.

        Raises:
            BarrierBroken: all have closed, and what some of them closed with cannot be settled.
        """
        view = Boundary(self._scenario, boundary.state, boundary.elapsed)
        seats = [seat for seat, firm in enumerate(boundary.state.firms, start=1) if firm.active]
        closed = await asyncio.gather(
            *(self._decide(seat, self._opened(seat, view, boundary)) for seat in seats),
            return_exceptions=True,
        )
        broken = [result for result in closed if isinstance(result, BarrierBroken)]
        if broken:
            raise BarrierBroken(
                "; ".join(map(str, broken)), recovers=all(each.recovers for each in broken)
            )
        windows = []
        for result in closed:
            if isinstance(result, BaseException):
                raise result
            windows.append(result)
        complete = [window for window in windows if window is not None]
        return complete if len(complete) == len(windows) else None

    def _opened(self, seat: int, view: Boundary, boundary: Checkpoint) -> Window:
        return Window(
            view.observe(seat),
            boundary.state,
            boundary.receipts.get(seat, ()),
            lambda: (
                self._stop.kind is not None
                or self._stop.of_window(boundary.version, seat) is not None
            ),
            lambda attempt: self._stop.is_hastened(AttemptKey(boundary.version, seat, attempt)),
        )

    async def _decide(self, seat: int, window: Window) -> CompanyWindow | None:
        """The closed window of one company; None when it stays open because the world stops, or
        because somebody holds it.
        """
        if self._stop.of_window(window.state.version, seat) is not None:
            return None
        ceo, candidate = self._ceos[seat], self._planned.lineup[seat - 1]
        observation, state = window.observation, window.state
        place = (
            f"{company_name(seat)} ({candidate}) at world version {observation.world_version}, "
            f"day {observation.day}"
        )
        try:
            status, decision, reason, recovers = await ceo.decide(window)
            if decision is not None:
                validate_decision(self._scenario, state, seat, decision)
        except (LeaseLost, StoreError, IntegrityError):
            raise
        except Exception as error:  # a CEO is anybody's code: it stops its own run and no other
            raise BarrierBroken(f"{place}: {cause_of(error)}") from error
        if status is CompanyWindowStatus.OPEN and window.stopping():
            return None
        if status not in SETTLED and reason:
            raise BarrierBroken(f"{place}: {status}: {reason}", recovers=recovers)
        if status not in SETTLED or (decision is None) is (status is CompanyWindowStatus.SEALED):
            draft = "without" if decision is None else "with"
            raise BarrierBroken(f"{place}: the window closed as {status} {draft} a decision")
        return CompanyWindow.closed(
            version=state.version,
            seat=seat,
            status=status,
            candidate=candidate,
            identity=ceo.identity,
            decision=decision,
        )

    def _outcomes(self, state: WorldState) -> list[CompanyOutcome]:
        # Days that an earlier owner of the run settled are counted only now, so that taking a run
        # over costs the same however far it is.
        earlier = takewhile(lambda day: day.day <= self._played_from, self._run.day_records())
        self._totals.add(earlier)
        campaign = self._run.key.campaign
        return company_outcomes(campaign, self._planned, self._scenario, state, self._totals)

    def _commit(self, commit: WindowCommit) -> None:
        try:
            self._run.commit_window(self._lease, commit)
        except (StoreError, WindowAlreadyCommitted):
            # The commit may have been done before its answer was lost: read back first.
            latest = self._run.latest()
            if latest is None or latest.version != commit.state.version:
                raise
            if latest.state != commit.state:
                raise IntegrityError(
                    f"The {self._run.key} has another world at version {latest.version} than the "
                    "one that was settled.",
                    "Replay the run, and go on with the package that its manifest binds.",
                ) from None


def put_to_rest(run: RunStore, lease: Lease, state: RunState, reason: str) -> None:
    """Record that a run waits for a person, whatever it was doing."""
    if run.status().status is RunState.PLANNED:
        run.set_status(lease, RunState.QUEUED, "")
    run.set_status(lease, state, reason)
