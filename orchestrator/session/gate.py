"""The gate before a route: what a request passes before it is sent (providers.md section 4).

In this order: a breaker that is open makes it wait, which is active time like every wait for a
service; a route that is paused, or a spending cap that is reached, sets the run at rest; money that
others have set aside and may leave over, and a rate limit, make it queue, which is not active time.
Seats meet here only where they share a route or a cap. Nobody who queues for money holds a place
within the limits, so that those who have money get one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from manifests.errors import StoreError
from orchestrator.quota import Admission, Pool
from orchestrator.session.looking import look_until
from orchestrator.store import (
    HELD_SECONDS,
    WHOLE_CAMPAIGN,
    Asking,
    AttemptKey,
    RouteControls,
    Shortage,
)
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

    def cost(self, outcome: Reply | Fault) -> int | None: ...

    async def leave(self, given: Pass, outcome: Reply | Fault | None) -> None: ...


class Pass:
    """The right to send one request; it is closed once, with what became of it."""

    def __init__(
        self,
        counter: _Counter,
        place: int | None,
        asking: Asking | None,
        at_most: int | None,
        *,
        tries: bool,
    ) -> None:
        """``place`` is one within the rate limits; for the request ``asking`` so many micro-dollars
        are set aside. ``tries`` says that the breaker of the route is open, and this request tries
        it.
        """
        self._counter = counter
        self.place = place
        self.asking = asking
        self.at_most = at_most
        self.tries = tries

    def cost(self, outcome: Reply | Fault) -> int | None:
        """What the request did cost in micro-dollars; None when nobody knows, or without prices."""
        return None if self.asking is None else self._counter.cost(outcome)

    async def close(self, outcome: Reply | Fault | None) -> None:
        """The request has ended, and its journal says so; None when nobody knows how."""
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
        self.set_aside: set[Asking] = set()
        self._held_until = -math.inf
        self._unpaused_until = -math.inf
        self._looking = asyncio.Lock()

    def seat(
        self,
        run_id: str,
        rest: Callable[[str], None],
        key: AttemptKey,
        epoch: int,
        stopping: Callable[[], bool],
    ) -> SeatGate:
        """The gate as one attempt of a run passes it, by its owner of an epoch; ``rest`` sets that
        run at rest, ``stopping`` says whether it is to rest.
        """

        def asking(ordinal: int) -> Asking:
            return Asking(run_id, *key, ordinal, epoch)

        return SeatGate(self, asking, stopping, rest)

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
        """Hold the places of requests that are under way, and what is set aside for them."""
        if self.places:
            await asyncio.to_thread(self.ledger.renew, sorted(self.places))
        now = self.clock.monotonic()
        # Every run of the host comes by here.
        if self.set_aside and now >= self._held_until:
            self._held_until = now + HELD_SECONDS / 4
            await asyncio.to_thread(self.controls.hold, self.campaign, sorted(self.set_aside))


class SeatGate:
    """What the session of one seat sees of its route's gate."""

    def __init__(
        self,
        gate: RouteGate,
        asking: Callable[[int], Asking],
        stopping: Callable[[], bool],
        rest: Callable[[str], None],
    ) -> None:
        self._gate = gate
        self._asking = asking
        self._stopping = stopping
        self._rest = rest

    async def enter(
        self, ordinal: int, request_bytes: int, output_tokens: int
    ) -> Pass | BreakerOpen | None:
        """The right to send request number ``ordinal`` of the attempt, of so many bytes and with so
        many output tokens at most, or the wait that an open breaker imposes.

        None when the run is to rest, which it is told here where this gate is the reason. Raises
        StoreError.
        """
        closed = self._breaker_wait()
        if closed is not None:
            return closed
        prices, asking = self._gate.route.prices, self._asking(ordinal)
        at_most = None
        reason = await self._gate.paused()
        if reason is None and prices is not None:
            at_most = pricing.most(prices, request_bytes, output_tokens)
            reason = await self._set_aside(asking, at_most)
        if reason is None and not self._stopping():
            place = await self._place(pricing.input_tokens(request_bytes) + output_tokens)
            # Somebody may have failed or paused it while this request was in the queue.
            closed = self._breaker_wait()
            reason = await self._gate.paused()
            if closed is None and reason is None and not self._stopping():
                return self._passed(place, asking, at_most)
            await self._give_back(place, 0)
        if at_most is not None:
            await self._settle(asking, 0)
        if reason is not None:
            self._rest(reason)
        return closed

    def _passed(self, place: int | None, asking: Asking, at_most: int | None) -> Pass:
        gate = self._gate
        tries = gate.breaker.is_open
        gate.breaker = gate.breaker.sent(gate.clock.monotonic())
        return Pass(self, place, None if at_most is None else asking, at_most, tries=tries)

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
        if given.asking is not None and outcome is not None:
            await self._settle(given.asking, self.cost(outcome))
        elif given.asking is not None:
            # Whoever ends the play of the run finds in its journal whether it was sent.
            gate.set_aside.discard(given.asking)

    def cost(self, outcome: Reply | Fault) -> int | None:
        """What a request did cost in micro-dollars; None when it may be all that was set aside."""
        prices = self._gate.route.prices
        assert prices is not None, "what has no price is not settled"
        if isinstance(outcome, Reply):
            return None if outcome.usage is None else pricing.cost(prices, outcome.usage)
        return None if outcome.maybe_billed else 0

    async def pause_route(self, cause: str, reason: str) -> None:
        """Let nobody ask this route until a person has put right what ``reason`` names."""
        await self._gate.pause(cause, reason)

    async def _set_aside(self, asking: Asking, at_most: int) -> str | None:
        """Set money aside as soon as there is some; why the run has to rest instead."""
        gate = self._gate
        gate.set_aside.add(asking)

        async def look() -> Shortage | None:
            paused = await gate.paused()
            if paused is not None:
                return Shortage(paused, for_good=True)
            return await asyncio.to_thread(
                gate.controls.set_aside, gate.campaign, gate.candidate, asking, at_most, gate.caps
            )

        def again(found: Shortage | None) -> float | None:
            if found is None or found.for_good or self._stopping():
                return None
            return _LONGEST_LOOK_SECONDS

        found = await look_until(look, again, gate.clock.sleep)
        return found.reason if found is not None and found.for_good else None

    async def _settle(self, asking: Asking, cost: int | None) -> None:
        gate = self._gate
        gate.set_aside.discard(asking)
        # A ledger that cannot be written must not lose the reply, which is journaled; whoever ends
        # the play of the run settles what is left.
        with suppress(StoreError):
            await asyncio.to_thread(gate.controls.settle, gate.campaign, asking, cost)

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
