"""Runs of scripted agents against a real gateway that follows a fault plan: real requests over
HTTP, the real store, loop and gates; only the waits take no time.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from campaigns.definition import parse_definition
from campaigns.plan import plan
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import seated
from orchestrator.cli.window_text import window_lines
from orchestrator.lifecycle import RunState
from orchestrator.quota import LimitLedger, ledger_path
from orchestrator.session import ceo, services
from orchestrator.session.events import Event, decode_event
from orchestrator.session.reading import WindowReader
from orchestrator.session.services import ModelServices
from orchestrator.session.windows import WindowRecord
from orchestrator.store import AttemptKey, RunKey, RunStatus, SessionStore, Store, open_store
from orchestrator.world import StopKind, StopRequest, World
from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from providers.rehearsal.faults import FaultPlan
from tests.providers.rehearsal.windows import THINKING

NAME: Final = "faulty"
KEY: Final = "rehearsal-key-0123456789"
Fault = dict[str, Any]


class SwiftClock:
    """The machine's time, in which nobody waits: a sleep is over at once."""

    furthest: ClassVar[float] = 0.0

    def __init__(self) -> None:
        self._slept = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._slept

    def now(self) -> float:
        return time.time() + self._slept

    async def sleep(self, seconds: float) -> None:
        self._slept += seconds
        SwiftClock.furthest = max(SwiftClock.furthest, self._slept)
        await asyncio.sleep(0)


class GateClock(SwiftClock):
    """The time of a gate, which is that of the session that has slept the most."""

    def monotonic(self) -> float:
        return time.monotonic() + SwiftClock.furthest


@dataclass
class Rehearsal:
    """A campaign of one window of seven days in a store, and the gateway that plays its models."""

    store: Store
    gateway: RunningGateway

    def play(self, seed: int, stop: StopRequest | None = None) -> RunState:
        """Play the run of a seed as far as it goes."""
        return asyncio.run(self._play(seed, stop or StopRequest()))

    def resume(self, seed: int) -> RunState:
        """A person resumes the campaign: its routes are resolved, the run is played again."""
        self.store.controls.resolve(NAME)
        run = self.store.run(RunKey(NAME, run_id(seed)))
        lease = run.acquire("a person", 600)
        run.set_status(lease, RunState.QUEUED, "")
        run.release(lease)
        return self.play(seed)

    def lose_host(self, seed: int, when: Callable[[], bool]) -> None:
        """Play the run of a seed until something is so, and then lose the host without a word."""

        async def lose() -> None:
            playing = asyncio.create_task(self._play(seed, StopRequest()))
            while not await asyncio.to_thread(when):
                assert not playing.done(), playing
                await asyncio.sleep(0.02)
            playing.cancel()
            await asyncio.wait({playing})

        asyncio.run(lose())

    def windows(self, seed: int) -> list[WindowRecord]:
        """All company-windows of a run."""
        return list(WindowReader(self.store, NAME).records(run_id(seed), None, None))

    def status(self, seed: int) -> RunStatus:
        return self.store.run(RunKey(NAME, run_id(seed))).status()

    def window(self, seed: int, seat: int) -> WindowRecord:
        """The company-window as the store has it."""
        (record,) = WindowReader(self.store, NAME).records(run_id(seed), 0, seat)
        return record

    def shown(self, seed: int, seat: int) -> str:
        """The company-window as a person is shown it."""
        view = WindowReader(self.store, NAME).view(run_id(seed), 0, seat)
        return "\n".join(window_lines(view, full=True))

    def events(self, seed: int, seat: int) -> list[Event]:
        sessions = SessionStore(self.store.run(RunKey(NAME, run_id(seed))))
        return [decode_event(body) for body in sessions.events(AttemptKey(0, seat, 0))]

    async def _play(self, seed: int, stop: StopRequest) -> RunState:
        key = RunKey(NAME, run_id(seed))
        manifest, run = self.store.catalogue.manifest(NAME), self.store.run(key)
        planned, scenario = self.store.catalogue.run(key).planned, bound_scenario(manifest)
        lease = run.acquire("a test", 600)
        models = ModelServices(
            manifest, self.store.controls, LimitLedger(ledger_path()), lambda *_: None
        )
        try:
            with models.for_run(run, lease, scenario, partial(stop.ask, StopKind.PAUSE)) as seats:
                ceos = seated(manifest, planned.lineup, seats.ceo)
                world = World(run, lease, planned, scenario, ceos, stop)
                return await seats.kept_while(world.play())
        finally:
            await models.close()
            run.release(lease)


def run_id(seed: int) -> str:
    return f"{NAME}-s{seed}-reference"


def campaign(
    agents: Sequence[str],
    seeds: Sequence[int],
    routes: Mapping[str, dict[str, Any]] | None = None,
    **limits: Any,
) -> dict[str, Any]:
    """Agents in the seats, in order, all of them thinking; `routes` adds to an agent's route."""
    candidates = [
        {"id": agent, "seat": seat, "route": _route(agent, (routes or {}).get(agent, {}))}
        for seat, agent in enumerate(agents, start=1)
    ]
    return {
        "name": NAME,
        "seeds": list(seeds),
        "lineups": ["reference"],
        "horizon_days": 7,
        "limits": limits,
        "candidates": candidates,
    }


def _route(agent: str, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocol": "chat",
        "model": f"rehearsal-{agent}",
        "options": THINKING[more.get("protocol", "chat")],
        "native_ceiling": 65_536,
        "endpoint_env": "CEO_ARENA_REHEARSAL_URL",
        "credentials": ["CEO_ARENA_REHEARSAL_KEY"],
        **more,
    }


@contextmanager
def rehearsal(
    folder: Path, data: dict[str, Any], faults: Sequence[Fault] = (), **options: Any
) -> Iterator[Rehearsal]:
    """The campaign in a new store, and a gateway with this fault plan."""
    told = FaultPlan.model_validate({"faults": tuple(faults)}, strict=False)
    planned = plan(parse_definition(data, "the campaign of a test"))
    with (
        start_gateway(GatewayOptions(faults=told, **options)) as gateway,
        pytest.MonkeyPatch.context() as patch,
        open_store(str(folder / "store"), create=True) as store,
    ):
        patch.setenv("CEO_ARENA_REHEARSAL_URL", gateway.base_url)
        patch.setenv("CEO_ARENA_REHEARSAL_KEY", KEY)
        patch.setenv("CEO_ARENA_STATE", str(folder / "state"))
        patch.setattr(ceo, "SystemClock", SwiftClock)
        patch.setattr(services, "SystemClock", GateClock)
        patch.setattr(SwiftClock, "furthest", 0.0)
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        yield Rehearsal(store, gateway)


def at(agent: str, reply: int = 2, times: int = 1, **fault: Any) -> Fault:
    """A fault that an agent meets at one reply of its first window."""
    return {
        "routes": (f"rehearsal-{agent}",),
        "windows": ({"day": 0},),
        "replies": (reply,),
        "times": times,
        **fault,
    }
