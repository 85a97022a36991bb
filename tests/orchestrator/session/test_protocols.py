"""The same campaign with its agents over another protocol each time: the same world, day by day."""

import asyncio
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pytest

from campaigns.definition import parse_definition
from campaigns.plan import plan
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import seated
from orchestrator.lifecycle import RunState
from orchestrator.quota import LimitLedger, ledger_path
from orchestrator.session.services import ModelServices
from orchestrator.store import RunKey, open_store
from orchestrator.world import StopKind, StopRequest, World
from providers.rehearsal import RunningGateway, start_gateway
from tests.orchestrator.session.novelties import Novelties, serving
from tests.providers.rehearsal.windows import PROTOCOLS, THINKING

AGENTS: Final = ("gambler", "apprentice", "diarist", "bidder")


def campaign(*protocols: str) -> dict[str, Any]:
    """Four agents, over these protocols in turn, and a policy for two windows, of seven days and of
    three.
    """
    models = [
        {
            "id": agent,
            "seat": seat,
            "route": {
                "protocol": protocol,
                "model": f"rehearsal-{agent}",
                "native_ceiling": 65_536,
                "endpoint_env": "CEO_ARENA_REHEARSAL_URL",
                "credentials": ["CEO_ARENA_REHEARSAL_KEY"],
                "options": THINKING[protocol],
            },
        }
        for seat, (agent, protocol) in enumerate(zip(AGENTS, cycle(protocols), strict=False), 1)
    ]
    return {
        "name": "protocols",
        "seeds": [11],
        "lineups": ["reference"],
        "horizon_days": 10,
        "candidates": [*models, {"id": "rival", "seat": len(AGENTS) + 1, "policy": "growth"}],
    }


def played(folder: Path, *protocols: str) -> tuple[list[str], list[Any]]:
    """(the digest of each day, the decision of each company at each window)."""
    planned = plan(parse_definition(campaign(*protocols), "the campaign of a test"))
    with open_store(str(folder / "-".join(protocols)), create=True) as store:
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        manifest = store.catalogue.manifest("protocols")
        key = RunKey("protocols", planned.runs[0].run_id)
        run = store.run(key)
        lease = run.acquire("a test", 600)

        async def play() -> RunState:
            limits, stop = LimitLedger(ledger_path()), StopRequest()
            services = ModelServices(manifest, store.controls, limits, lambda *_: None)
            scenario = bound_scenario(manifest)
            try:
                rest = partial(stop.ask, StopKind.PAUSE)
                with services.for_run(run, lease, scenario, rest) as models:
                    ceos = seated(manifest, planned.runs[0].lineup, models.ceo)
                    world = World(run, lease, planned.runs[0], scenario, ceos, stop)
                    return await models.kept_while(world.play())
            finally:
                await services.close()

        assert asyncio.run(play()) is RunState.COMPLETED
        days = [day.state_digest for day in run.days()]
        decisions = [
            (window.version, window.seat, window.status, window.decision)
            for window in run.company_windows()
        ]
    return days, decisions


def test_agents_over_any_protocol_make_the_same_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway: RunningGateway
    with start_gateway() as gateway:
        monkeypatch.setenv("CEO_ARENA_REHEARSAL_URL", gateway.base_url)
        monkeypatch.setenv("CEO_ARENA_REHEARSAL_KEY", "any-key")
        chat, responses, messages = (played(tmp_path, protocol) for protocol in PROTOCOLS)
        refused = gateway.statistics()["refusals"]
    assert len(chat[0]) == 10
    assert {status for _, _, status, _ in chat[1]} == {"sealed"}
    assert responses == chat
    assert messages == chat
    assert refused == {}


def test_what_a_vendor_invents_overnight_ends_no_run_and_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_gateway() as gateway, serving(Novelties(gateway.base_url)) as (novelties, base_url):
        monkeypatch.setenv("CEO_ARENA_REHEARSAL_URL", base_url)
        monkeypatch.setenv("CEO_ARENA_REHEARSAL_KEY", "any-key")
        days, decisions = played(tmp_path, *PROTOCOLS)
        refused = gateway.statistics()["refusals"]
    assert len(days) == 10
    assert {status for _, _, status, _ in decisions} == {"sealed"}
    assert refused == {}
    assert set(novelties.returned) == set(novelties.ended) == set(PROTOCOLS)
