"""A small campaign of scripted agents in a store: one run played against a rehearsal gateway, and
one that stands in the middle of a window.
"""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from campaigns.definition import parse_definition
from campaigns.plan import plan
from engine.settle import initial_state
from engine.streams import Streams
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import seated
from orchestrator.lifecycle import RunState
from orchestrator.quota import LimitLedger, ledger_path
from orchestrator.session.allowance import Allowance
from orchestrator.session.draft import ProductChange
from orchestrator.session.events import (
    Answered,
    Asked,
    Corrected,
    Event,
    Failed,
    FinalizationBegan,
    Halted,
    Interrupted,
    ToolReceipt,
    WaitBegan,
    WaitEnded,
    WindowOpened,
    encode_event,
    kind_of,
)
from orchestrator.session.files import FileChange
from orchestrator.session.prompt import prompt_digest
from orchestrator.session.services import ModelServices
from orchestrator.session.tools import tools_hash
from orchestrator.store import AttemptKey, FileVersion, RunKey, SessionStore, Store, open_store
from orchestrator.world import StopKind, StopRequest, World
from providers.contract import Fault, Reply, ToolCall, Usage
from providers.rehearsal import start_gateway

NAME = "small"
PLAYED = "small-s11-reference"
OPEN = "small-s29-reference"
DAYS = 10
DIGEST = "sha256:" + 64 * "0"

ALLOWANCE = Allowance(
    replies=32,
    output_tokens=131_072,
    seconds=3_600,
    native_ceiling=65_536,
    smallest_ceiling=1_024,
)


def route(agent: str) -> dict[str, Any]:
    """The route to a scripted agent."""
    return {
        "protocol": "chat",
        "model": f"rehearsal-{agent}",
        "native_ceiling": 65_536,
        "endpoint_env": "CEO_ARENA_REHEARSAL_URL",
        "credentials": ["CEO_ARENA_REHEARSAL_KEY"],
    }


def campaign_data(**changes: Any) -> dict[str, Any]:
    """Two agents and a policy on two seeds, in two windows: the second has three days."""
    data: dict[str, Any] = {
        "name": NAME,
        "seeds": [11, 29],
        "lineups": ["reference"],
        "horizon_days": DAYS,
        "candidates": [
            {"id": "writer", "seat": 1, "route": route("diarist")},
            {"id": "rival", "seat": 2, "policy": "growth"},
            {"id": "buyer", "seat": 3, "route": route("researcher")},
        ],
    }
    return data | changes


def make_store(folder: Path) -> Path:
    """A store with the campaign: `PLAYED` completed, and `OPEN` with one window that is open."""
    location = folder / "store"
    planned = plan(parse_definition(campaign_data(), "the campaign of a test"))
    with (
        start_gateway() as gateway,
        pytest.MonkeyPatch.context() as patch,
        open_store(str(location), create=True) as store,
    ):
        patch.setenv("CEO_ARENA_REHEARSAL_URL", gateway.base_url)
        patch.setenv("CEO_ARENA_REHEARSAL_KEY", "any-key")
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        assert asyncio.run(_play(store)) is RunState.COMPLETED
        _leave_open(store)
    return location


async def _play(store: Store) -> RunState:
    key = RunKey(NAME, PLAYED)
    manifest, run = store.catalogue.manifest(NAME), store.run(key)
    scenario, planned = bound_scenario(manifest), store.catalogue.run(key).planned
    lease = run.acquire("a test", 600)
    limits, stop = LimitLedger(ledger_path()), StopRequest()
    services = ModelServices(manifest, store.controls, limits, lambda *_: None)
    try:
        rest = partial(stop.ask, StopKind.PAUSE)
        with services.for_run(run, lease, scenario, rest) as models:
            ceos = seated(manifest, planned.lineup, models.ceo)
            world = World(run, lease, planned, scenario, ceos, stop)
            return await models.kept_while(world.play())
    finally:
        await services.close()
        run.release(lease)


def reply(*calls: ToolCall, text: str = "", usage: Usage | None = None, stop: str = "") -> Reply:
    """A reply with these calls."""
    return Reply(
        native='{"role":"assistant"}',
        text=text,
        tool_calls=calls,
        stop="length" if stop else "tool_calls" if calls else "finished",
        stop_reason=stop or "stop",
        usage=usage,
        requested_model="m",
        returned_model="m",
        request_id="r-1",
        fingerprint=None,
        latency_seconds=1.25,
        first_token_seconds=0.5,
        has_reasoning=False,
        is_only_reasoning=False,
    )


EVENTS: tuple[Event, ...] = (
    WindowOpened(0.0, prompt_digest(), tools_hash(), "# company-1, day 0\n" * 40, ALLOWANCE),
    Asked(0.1, 1, DIGEST, 65_536),
    Failed(
        1.0,
        1,
        Fault(kind="transient", message="busy", status=503, code="overloaded", maybe_billed=True),
    ),
    WaitBegan(1.0, 1_000.0, 2.5, "busy"),
    WaitEnded(3.5),
    Asked(3.5, 2, DIGEST, 65_536),
    Interrupted(4.0, 2),
    Asked(4.1, 3, DIGEST, 65_536),
    Answered(5.0, 3, reply(text="Cut \x1b[31mof", usage=Usage(100, 40, 20, 5), stop="max_tokens")),
    Corrected(5.1, "Continue with complete tool calls."),
    FinalizationBegan(5.2, "28 of 32 replies are used", "Finalization has begun."),
    Asked(5.3, 4, DIGEST, 65_536),
    Answered(
        6.0,
        4,
        reply(
            ToolCall("a", "set_product", '{"product_id":"A","price_cents":4100}'),
            ToolCall("b", "write_file", '{"path":"MEMORY.md","content":"one\\ntwo"}'),
            ToolCall("c", "dance", "not JSON"),
            ToolCall("d", "preview_decision", "{}"),
            usage=Usage(200, 150, 30, 0),
        ),
    ),
    ToolReceipt(
        6.1,
        "a",
        "set_product",
        '{"status":"staged"}',
        ok=True,
        draft_change=ProductChange("A", price_cents=4_100),
    ),
    ToolReceipt(
        6.2,
        "b",
        "write_file",
        '{"status":"written"}',
        ok=True,
        file_change=FileChange("MEMORY.md", 1, "one\ntwo"),
    ),
    ToolReceipt(6.3, "c", "dance", "tool: must be one of", ok=False),
)

LATE = Answered(
    9.0,
    2,
    reply(
        ToolCall("z", "preview_decision", "{}"),
        text="Too \x1b[31mlate.",
        usage=Usage(1_100, 0, 70, 0),
    ),
)

HALT: tuple[Event, ...] = (
    EVENTS[0],
    Asked(0.1, 1, DIGEST, 65_536),
    Failed(1.0, 1, Fault(kind="refused", message="no credit left", status=402)),
    Halted(1.0, "refused: no credit left"),
)


def _leave_open(store: Store) -> None:
    """Journal what the two agents of the other run did before their host was lost."""
    run = store.run(RunKey(NAME, OPEN))
    scenario = bound_scenario(store.catalogue.manifest(NAME))
    lease = run.acquire("a test", 600)
    run.begin(lease, initial_state(scenario, Streams(29), 3))
    sessions = SessionStore(run)
    for seat, events in ((1, EVENTS), (3, HALT)):
        for ordinal, event in enumerate(events):
            key = AttemptKey(0, seat, 0)
            change = event.file_change if isinstance(event, ToolReceipt) else None
            file = change and FileVersion(change.path, change.version, change.content)
            sessions.append(lease, key, ordinal, kind_of(event), encode_event(event), file)
    # What request 2 was answered came for an owner that was gone by then.
    sessions.keep_late_reply(lease, AttemptKey(0, 1, 0), 2, encode_event(LATE))
    run.release(lease)
