"""What the model companies of a host share, and what those of one run have for themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self, TypeVar

from campaigns.definition import UNLIMITED, CampaignDefinition, RecoveryPolicy
from engine.scenario import Scenario
from manifests.errors import StoreError
from manifests.model import CampaignManifest, Candidate, ModelCandidate, PolicyCandidate
from orchestrator.bound import bound_plan
from orchestrator.ceos import Ceo, PolicyCeo
from orchestrator.money import check_own_cap
from orchestrator.session.allowance import Allowance
from orchestrator.session.ceo import ModelCeo, ModelSeat, SystemClock, Threads
from orchestrator.session.desk import Desk
from orchestrator.session.events import Event
from orchestrator.session.gate import Ledger, RouteGate
from orchestrator.session.recovery import Recovery
from orchestrator.session.sql import QueryWorkers
from orchestrator.store import Lease, RouteControls, RunStore, SessionReader, SessionStore
from providers.contract import Provider
from providers.opening import open_provider
from providers.routes import Route, parse_route

_QUERIES_AT_ONCE: Final = 4
_BOOKS_AT_ONCE: Final = 2

# Well below the time for which the ledger of limits holds a place.
_RENEW_PLACES_SECONDS: Final = 15.0

_T = TypeVar("_T")


class ModelServices:
    """Providers, their gates, query processes and working copies of one host. Nothing starts before
    a model sits somewhere; `close` ends all of it.
    """

    def __init__(
        self,
        manifest: CampaignManifest,
        controls: RouteControls,
        limits: Ledger,
        heard: Callable[[str, Event], None],
    ) -> None:
        """``controls`` are those of the store that has the campaign; ``limits`` is the ledger of
        rate limits that all campaigns here share; ``heard`` is told of every candidate what its
        sessions have journaled.
        """
        self.heard = heard
        self._definition = bound_plan(manifest).definition
        self._controls = controls
        self._limits = limits
        self._providers: dict[str, Provider] = {}
        self._gates: dict[str, RouteGate] = {}
        self._workers = QueryWorkers(_QUERIES_AT_ONCE)
        self._threads = Threads(
            ThreadPoolExecutor(_QUERIES_AT_ONCE, "queries"),
            ThreadPoolExecutor(_BOOKS_AT_ONCE, "books"),
        )

    def for_run(
        self, run: RunStore, lease: Lease, scenario: Scenario, rest: Callable[[str], None]
    ) -> RunModels:
        """The model companies of a run that this process owns under the lease; ``rest`` sets the
        run at rest for a reason.
        """
        return RunModels(self, run, lease, scenario, rest)

    @property
    def recovery_policy(self) -> RecoveryPolicy:
        return self._definition.recovery

    @property
    def controls(self) -> RouteControls:
        return self._controls

    @property
    def workers(self) -> QueryWorkers:
        return self._workers

    @property
    def threads(self) -> Threads:
        return self._threads

    def route(self, candidate: str) -> Route:
        """The route of a candidate, with where its endpoint and key are found."""
        return route_of(self._definition, candidate)

    def provider(self, candidate: str) -> Provider:
        """The one provider of a candidate's route in this host."""
        if candidate not in self._providers:
            self._providers[candidate] = open_provider(self.route(candidate))
        return self._providers[candidate]

    def gate(self, candidate: str) -> RouteGate:
        """The one gate of a candidate's route in this host."""
        if candidate not in self._gates:
            self._gates[candidate] = RouteGate(
                self._definition.name,
                candidate,
                self.route(candidate),
                self._definition.limits.spending_cap_cents,
                self._controls,
                self._limits,
                SystemClock(),
            )
        return self._gates[candidate]

    async def renew_places(self) -> None:
        """Hold the places that requests under way have within the rate limits."""
        for gate in self._gates.values():
            await gate.renew()

    def allowance(self, candidate: str) -> Allowance:
        """What the candidate may use in a company-window."""
        route = self.route(candidate)
        found = next(each for each in self._definition.all_candidates() if each.id == candidate)
        granted = self._definition.allowances_of(found)
        tokens = granted.output_tokens
        return Allowance(
            replies=granted.replies,
            output_tokens=None if tokens == UNLIMITED else int(tokens),
            seconds=granted.seconds,
            native_ceiling=route.native_ceiling,
            smallest_ceiling=route.smallest_useful_ceiling,
        )

    async def close(self) -> None:
        """End the providers' connections and the query processes; remove the working copies."""
        for provider in self._providers.values():
            await provider.close()
        self._providers.clear()
        self._threads.queries.shutdown(wait=False)
        self._threads.books.shutdown(wait=False)
        self._workers.close()


class RunModels:
    """The model companies of one run; a context manager that removes their working copies."""

    def __init__(
        self,
        services: ModelServices,
        run: RunStore,
        lease: Lease,
        scenario: Scenario,
        rest: Callable[[str], None],
    ) -> None:
        self._services = services
        self._run = run
        self._rest = rest
        self._store = SessionStore(run)
        self._recovery = Recovery(run, services.recovery_policy)
        self._lease = lease
        self._scenario = scenario
        self._seats: set[int] = set()
        self._desk = Desk(run, scenario, self._seats)
        self._ceos: list[ModelCeo] = []

    def ceo(self, candidate: ModelCandidate, seat: int) -> Ceo:
        """The candidate in a seat of this run. Raises InputError for an unusable route."""
        services, run_id = self._services, self._run.key.run_id
        self._seats.add(seat)
        ceo = ModelCeo(
            ModelSeat(
                seat,
                candidate.route_identity,
                services.provider(candidate.id),
                services.allowance(candidate.id),
                partial(services.gate(candidate.id).seat, run_id, self._rest),
                partial(services.heard, candidate.id),
            ),
            self._scenario,
            self._store,
            self._lease,
            services.workers,
            services.threads,
            self._desk,
            self._recovery,
        )
        self._ceos.append(ceo)
        return ceo

    async def kept_while(self, play: Coroutine[Any, Any, _T]) -> _T:
        """The result of a play, during which the active time of all open windows is noted.

        What was used since the last note is what a crash leaves uncharged. Money that earlier
        owners had set aside is settled before, and what this one leaves after it.
        """
        settle = partial(
            settle_left_over, self._services.controls, self._run, self._store, self._lease.epoch
        )
        beating: list[asyncio.Task[None]] = []
        try:
            if self._ceos:
                await asyncio.to_thread(settle)
            beating = [asyncio.create_task(self._beat()), asyncio.create_task(self._hold_places())]
            return await play
        finally:
            play.close()
            for each in beating:
                each.cancel()
            await asyncio.gather(*beating, return_exceptions=True)
            if self._ceos:
                # What cannot be settled now is by whoever plays the run next.
                with suppress(StoreError):
                    await asyncio.to_thread(settle)

    async def _beat(self) -> None:
        every = self._lease.seconds / 3
        while True:
            await asyncio.sleep(every)
            active = {key: used for ceo in self._ceos for key, used in ceo.beat().items()}
            with suppress(StoreError):
                await asyncio.to_thread(self._store.beat, self._lease, active)

    async def _hold_places(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_PLACES_SECONDS)
            with suppress(StoreError):
                await self._services.renew_places()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._desk.close()


def settle_left_over(
    controls: RouteControls, run: RunStore, sessions: SessionReader, epoch: int
) -> None:
    """Settle what the owners of a run up to an epoch have set aside and left: by its journal, in
    which a request that has no intent was never sent. Nobody of them may have one under way.
    """
    campaign, run_id = run.key
    for asking in controls.reservations(campaign):
        if asking.run_id != run_id or asking.epoch > epoch:
            continue
        found = sessions.request_costs(asking.key).get(asking.request)
        was_sent = found is not None and found.epoch == asking.epoch
        controls.settle(campaign, asking, found.cost if found and was_sent else 0)


def check_playable(manifest: CampaignManifest) -> None:
    """Raise InputError when a campaign cannot play here as its manifest has it."""
    definition = bound_plan(manifest).definition
    check_own_cap(definition)
    for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines):
        check_candidate(definition, candidate)


def check_candidate(definition: CampaignDefinition, candidate: Candidate) -> None:
    """Raise InputError when a candidate of a campaign cannot play here; nothing is started."""
    if isinstance(candidate, PolicyCandidate):
        PolicyCeo.of(candidate)
    elif isinstance(candidate, ModelCandidate):
        open_provider(route_of(definition, candidate.id))


def route_of(definition: CampaignDefinition, candidate: str) -> Route:
    """The route of a candidate, with where its endpoint and key are found. Raises InputError."""
    described = _described(definition, candidate)
    return parse_route(described or {}, f'The route of candidate "{candidate}"')


def _described(definition: CampaignDefinition, candidate: str) -> dict[str, object] | None:
    for each in definition.all_candidates():
        if each.id == candidate:
            return None if each.route is None else dict(each.route)
    return None
