"""The gate before a route: what a request passes before it is sent (providers.md section 4).

In this order: a breaker that is open makes it wait, which is active time like every wait for a
service; a route that is paused, or a spending cap that is reached, sets the run at rest; a rate
limit makes it queue, which is not active time. Seats meet here only where they share a route, so
that none waits for the trouble of another route.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from manifests.errors import StoreError
from orchestrator.quota import Admission, Pool
from orchestrator.session.looking import look_until
from orchestrator.store import WHOLE_CAMPAIGN, Asking, RouteControls
from providers import pricing
from providers.breaker import Breaker
from providers.contract import Fault, Reply
from providers.routes import Route

_SHORTEST_LOOK_SECONDS: Final = 0.2
_LONGEST_LOOK_SECONDS: Final = 1.0
"""How often a request that queues looks whether it is its turn, or whether the run is to rest."""


class Clock(Protocol):
    """Time as the gate needs it."""

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Ledger(Protocol):
    """The rate limits of a machine or cluster. Its methods block; they run in a thread."""

    def admit(self, pool: Pool, tokens: int) -> Admission: ...

    def give_back(self, place: int, tokens: int | None) -> None: ...

    def renew(self, places: Sequence[int]) -> None: ...


_UNPAUSED_SECONDS: Final = 1.0
"""For how long a route that was found unpaused is taken to be so: another host may send a request
more, and none of the many of this host reads the catalogue for nothing.
"""


@dataclass(frozen=True, slots=True)
class BreakerOpen:
    """The route is in trouble: ask again after so many seconds."""

    seconds: float
    reason: str


class _Counter(Protocol):
    """Where a pass was given, and is given back."""

    async def leave(self, given: Pass, outcome: Reply | Fault | None) -> None: ...


class Pass:
    """The right to send one request; it is closed once, with what became of it."""

    def __init__(self, counter: _Counter, place: int | None, request: str, *, tries: bool) -> None:
        """``place`` is one within the rate limits, ``request`` the name under which money is set
        aside. ``tries`` says that the breaker of the route is open, and this request tries it.
        """
        self._counter = counter
        self.request = request
        self.place = place
        self.tries = tries

    async def close(self, outcome: Reply | Fault | None) -> None:
        """The request has ended; None when nobody knows how."""
        await self._counter.leave(self, outcome)


class RouteGate:
    """The gate of one candidate's route in one host."""

    def __init__(
        self,
        campaign: str,
        candidate: str,
        route: Route,
        cap_of_campaign: int | None,
        controls: RouteControls,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        """``cap_of_campaign`` is in cents, None for no cap."""
        self.campaign = campaign
        self.candidate = candidate
        self.route = route
        self.pool = Pool.of(route)
        caps = {WHOLE_CAMPAIGN: cap_of_campaign, candidate: route.spending_cap_cents}
        self.caps = {name: cents for name, cents in caps.items() if cents is not None}
        self.controls = controls
        self.ledger = ledger
        self.clock = clock
        self.breaker = Breaker()
        self.places: set[int] = set()
        self._unpaused_until = -math.inf
        self._looking = asyncio.Lock()

    def seat(
        self, run_id: str, seat: int, rest: Callable[[str], None], stopping: Callable[[], bool]
    ) -> SeatGate:
        """The gate as one seat of a run passes it; ``rest`` sets that run at rest, ``stopping``
        says whether it is to rest.
        """
        return SeatGate(self, (run_id, seat), stopping, rest)

    async def paused(self) -> str | None:
        """Why nobody may ask this route before a person acts; None when it is not paused. Raises
        StoreError.
        """
        async with self._looking:
            now = self.clock.monotonic()
            if now < self._unpaused_until:
                return None
            for pause in await asyncio.to_thread(self.controls.pauses, self.campaign):
                if pause.candidate == self.candidate:
                    return f'The route of candidate "{self.candidate}" is paused: {pause.reason}'
            self._unpaused_until = now + _UNPAUSED_SECONDS
            return None

    async def pause(self, cause: str, reason: str) -> None:
        """Let nobody ask this route until a person has put right what ``reason`` names."""
        async with self._looking:
            self._unpaused_until = -math.inf
            await asyncio.to_thread(
                self.controls.pause, self.campaign, self.candidate, cause, reason
            )

    async def renew(self) -> None:
        """Hold the places of requests that are under way."""
        if self.places:
            await asyncio.to_thread(self.ledger.renew, sorted(self.places))


class SeatGate:
    """What the session of one seat sees of its route's gate."""

    def __init__(
        self,
        gate: RouteGate,
        seat: tuple[str, int],
        stopping: Callable[[], bool],
        rest: Callable[[str], None],
    ) -> None:
        self._gate = gate
        self._seat = seat
        self._stopping = stopping
        self._rest = rest

    async def enter(self, request_bytes: int, output_tokens: int) -> Pass | BreakerOpen | None:
        """The right to send a request of so many bytes with so many output tokens at most, or the
        wait that an open breaker imposes.

        None when the run is to rest, which it is told here where this gate is the reason. Raises
        StoreError.
        """
        closed = self._breaker_wait()
        if closed is not None:
            return closed
        place = await self._place(pricing.input_tokens(request_bytes) + output_tokens)
        # Somebody's failure may have opened it while this request was in the queue.
        closed = self._breaker_wait()
        reason = None
        if closed is None and not self._stopping():
            request = secrets.token_hex(8)
            reason = await self._obstacle(request, request_bytes, output_tokens)
            if reason is None:
                return self._passed(place, request)
        await self._give_back(place, 0)
        if reason is not None:
            self._rest(reason)
        return closed

    def _passed(self, place: int | None, request: str) -> Pass:
        gate = self._gate
        tries = gate.breaker.is_open
        gate.breaker = gate.breaker.sent(gate.clock.monotonic())
        return Pass(self, place, request, tries=tries)

    def _breaker_wait(self) -> BreakerOpen | None:
        breaker = self._gate.breaker
        wait = breaker.wait(self._gate.clock.monotonic())
        if wait <= 0:
            return None
        reason = (
            f"The route of {self._gate.candidate} has failed {breaker.failures} times in a row; "
            "its requests wait until one that tries it is answered."
        )
        return BreakerOpen(wait, reason)

    async def leave(self, given: Pass, outcome: Reply | Fault | None) -> None:
        """Close a pass: tell the breaker, give the place back, and settle what it cost."""
        gate = self._gate
        now = gate.clock.monotonic()
        if isinstance(outcome, Reply):
            gate.breaker = gate.breaker.replied()
        elif outcome is not None:
            gate.breaker = gate.breaker.failed(outcome, now, tried=given.tries)
        await self._give_back(given.place, _tokens(outcome))
        if gate.route.prices is not None:
            # A ledger that cannot be written must not lose the reply, which is journaled; what was
            # set aside is then taken for spent.
            with suppress(StoreError):
                asking, cost = Asking(*self._seat, given.request), self._cost(outcome)
                await asyncio.to_thread(gate.controls.settle, gate.campaign, asking, cost)

    async def pause_route(self, cause: str, reason: str) -> None:
        """Let nobody ask this route until a person has put right what ``reason`` names."""
        await self._gate.pause(cause, reason)

    async def _obstacle(self, request: str, request_bytes: int, output_tokens: int) -> str | None:
        """Why the run has to rest before a person acts; else the money is set aside."""
        gate = self._gate
        prices = gate.route.prices
        paused = await gate.paused()
        if paused is not None or prices is None:
            return paused
        reason = await asyncio.to_thread(
            gate.controls.set_aside,
            gate.campaign,
            gate.candidate,
            Asking(*self._seat, request),
            pricing.most(prices, request_bytes, output_tokens),
            gate.caps,
        )
        return None if reason is None else f"No request is sent: {reason}."

    def _cost(self, outcome: Reply | Fault | None) -> int | None:
        """What a request did cost; None when it may be all that was set aside."""
        prices = self._gate.route.prices
        assert prices is not None, "what has no price is not settled"
        if isinstance(outcome, Reply):
            return None if outcome.usage is None else pricing.cost(prices, outcome.usage)
        return 0 if outcome is not None and not outcome.maybe_billed else None

    async def _place(self, tokens: int) -> int | None:
        """A place within the rate limits, as soon as there is one, or None when there are none, or
        the run is to rest.
        """
        pool = self._gate.pool
        if pool is None:
            return None

        async def look() -> Admission:
            return await asyncio.to_thread(self._gate.ledger.admit, pool, tokens)

        def again(found: Admission) -> float | None:
            if found.place is not None or self._stopping():
                return None
            return min(max(found.wait_seconds, _SHORTEST_LOOK_SECONDS), _LONGEST_LOOK_SECONDS)

        admission = await look_until(look, again, self._gate.clock.sleep)
        if admission.place is not None:
            self._gate.places.add(admission.place)
        return admission.place

    async def _give_back(self, place: int | None, tokens: int | None) -> None:
        if place is None:
            return
        self._gate.places.discard(place)
        # A place that cannot be given back frees itself after a minute.
        with suppress(StoreError):
            await asyncio.to_thread(self._gate.ledger.give_back, place, tokens)


def _tokens(outcome: Reply | Fault | None) -> int | None:
    """The tokens that a request took, None when nobody knows."""
    if not isinstance(outcome, Reply) or outcome.usage is None:
        return None
    return outcome.usage.input_tokens + outcome.usage.output_tokens
