"""A campaign of scripted agents whose gateway is a process of its own, what its journals hold, and
what the gateway has counted.
"""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from campaigns.definition import load_definition
from campaigns.plan import plan
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario, execution_limits
from orchestrator.ceos import seated
from orchestrator.lifecycle import RunState
from orchestrator.quota import LimitLedger, ledger_path
from orchestrator.session.events import (
    Answered,
    Asked,
    Event,
    Failed,
    Interrupted,
    ToolReceipt,
    WindowOpened,
    decode_event,
)
from orchestrator.session.services import ModelServices
from orchestrator.store import SessionStore, Store, open_store
from orchestrator.tenure import tenure_of_run
from orchestrator.world import StopKind, StopRequest, World
from providers.rehearsal import start_gateway
from providers.rehearsal.statistics import Entry
from tests.chaos.harness import CAMPAIGN, COMMAND, Evidence, Place, evidence_in
from tests.orchestrator.store.crash_points import forked
from tests.patience import until

DAYS: Final = 14
URL, KEY = "CEO_ARENA_REHEARSAL_URL", "CEO_ARENA_REHEARSAL_KEY"
_ROOT: Final = Path(__file__).parents[2]
_PLAY: Final = "import sys; from tests.chaos import models; models.{}(sys.argv[1])"
_DELAY_SECONDS: Final = "0.05"

_ROUTE: Final = (
    f'protocol = "chat", native_ceiling = 65_536, endpoint_env = "{URL}", credentials = ["{KEY}"]'
)

# One sets its prices from all that it was told, one keeps files, one errs.
REHEARSAL: Final = """
name = "trial"
release = "rehearsal"
seeds = [11, 29]
lineups = ["reference"]
horizon_days = {days}
limits = {{ lease_seconds = 3 }}
candidates = [
    {{ id = "gambler", seat = 1, route = {{ model = "rehearsal-gambler", ROUTE }} }},
    {{ id = "diarist", seat = 2, route = {{ model = "rehearsal-diarist", ROUTE }} }},
    {{ id = "apprentice", seat = 3, route = {{ model = "rehearsal-apprentice", ROUTE }} }},
    {{ id = "rule", seat = 4, policy = "rule" }},
]
""".replace("ROUTE", _ROUTE)


class GatewayProcess:
    """The gateway as a command, which can be killed and started again at its address."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger
        self._port = "0"
        self.start()

    def start(self) -> None:
        """Serve, at the same address as before if there was one."""
        options = ("--port", self._port, "--delay", _DELAY_SECONDS, "--ledger", str(self.ledger))
        self.process = subprocess.Popen(
            [*COMMAND, "gateway", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(2)]
        exported = (line.removeprefix("export ").strip().partition("=") for line in lines)
        self.environment = {name: value for name, _, value in exported}
        self._port = self.environment[URL].removesuffix("/v1").rpartition(":")[2]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Meanwhile it answers nobody."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def entries(self) -> list[Entry]:
        """What was asked and answered so far, by its own notes."""
        lines = self.ledger.read_bytes().splitlines() if self.ledger.exists() else []
        return [msgspec.json.decode(line, type=Entry) for line in lines]

    def wait_for_requests(self, number: int) -> None:
        """Until so many requests were asked."""
        until(lambda: sum(entry.event == "asked" for entry in self.entries()) >= number)


@contextmanager
def gateway_process(ledger: Path) -> Iterator[GatewayProcess]:
    gateway = GatewayProcess(ledger)
    try:
        yield gateway
    finally:
        gateway.kill()


class Conversation(NamedTuple):
    """What one company-window came to, times and bills apart: the replies as received, what the
    tools answered and changed, and what was used of the allowance.
    """

    replies: tuple[str, ...]
    results: tuple[ToolReceipt, ...]
    output_tokens: int


@dataclass(frozen=True)
class Journals:
    """The events of all attempts of a store by the names of the attempts, and the late replies."""

    attempts: dict[str, tuple[Event, ...]]
    late: dict[str, set[int]]

    def conversations(self) -> dict[str, Conversation]:
        return {name: _conversation(events) for name, events in self.attempts.items()}


def read_journals(store: Store) -> Journals:
    attempts: dict[str, tuple[Event, ...]] = {}
    late: dict[str, set[int]] = defaultdict(set)
    for row in store.catalogue.runs(CAMPAIGN):
        sessions = SessionStore(store.run(row.key))
        for key in sessions.attempts():
            events = tuple(decode_event(body) for body in sessions.events(key))
            attempts[sessions.name_of(key)] = events
        for reply in sessions.late_replies():
            late[sessions.name_of(reply.key)].add(reply.request)
    return Journals(attempts, dict(late))


def check_nothing_was_done_twice(journals: Journals, entries: list[Entry]) -> None:
    """What was stored was never asked for again, by the journals and by the gateway's count."""
    asked = _ordinals(entry for entry in entries if entry.event == "asked")
    answered = _ordinals(entry for entry in entries if entry.event == "answered")
    assert asked.keys() <= journals.attempts.keys()
    for name, events in journals.attempts.items():
        stored = {event.ordinal for event in events if isinstance(event, Answered)}
        failed = {event.ordinal for event in events if isinstance(event, Failed | Interrupted)}
        intents = [event.ordinal for event in events if isinstance(event, Asked)]
        # Every intent has its own number, and one end: a reply, a fault, or an interruption.
        assert intents == list(range(1, len(intents) + 1))
        assert stored | failed == set(intents)
        assert not stored & failed
        # No request was sent without an intent, and none under the number of another.
        sent = [ordinal for ordinals in asked[name].values() for ordinal in ordinals]
        assert len(set(sent)) == len(sent)
        assert stored <= set(sent) <= set(intents)
        for ordinals in asked[name].values():
            assert stored & set(ordinals) <= {max(ordinals)}, "nothing follows a stored reply"
        # A reply that the gateway wrote out and nobody stored was possibly billed, and is told.
        paid = {ordinal for ordinals in answered[name].values() for ordinal in ordinals}
        assert paid - stored <= failed
        assert journals.late.get(name, set()) <= failed
        # One window, one allowance, and time that only grows.
        assert sum(isinstance(event, WindowOpened) for event in events) == 1
        seconds = [event.active_seconds for event in events]
        assert all(before <= after for before, after in itertools.pairwise(seconds))
        calls = [event.call_id for event in events if isinstance(event, ToolReceipt)]
        assert len(set(calls)) == len(calls), "no call has two receipts"


def undisturbed_models(file: Path, folder: Path) -> tuple[dict[str, Evidence], Journals, int]:
    """What the campaign of a file leaves when nothing goes wrong, played in this process: the
    worlds, the journals, and how many requests it takes.
    """
    planned = plan(load_definition(file))
    with (
        start_gateway() as gateway,
        pytest.MonkeyPatch.context() as patch,
        open_store(str(folder), create=True) as store,
    ):
        patch.setenv(URL, gateway.base_url)
        patch.setenv(KEY, "any")
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        asyncio.run(_play_all(store))
        return evidence_in(store), read_journals(store), gateway.statistics()["requests"]


def play_store(location: str) -> None:
    """Play all runs of the campaign of a store in this process, one after the other."""
    with open_store(location) as store:
        asyncio.run(_play_all(store))


def play_on(location: str) -> None:
    """Play them in one process after the other, as long as these end by SIGKILL."""
    while (end := forked(partial(play_store, location))) == -signal.SIGKILL:
        pass
    sys.exit(end)


@contextmanager
def playing(
    trial: Place,
    gateway: GatewayProcess,
    environment: Mapping[str, str],
    play: Callable[[str], None] = play_store,
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that plays the campaign, without Ray."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PLAY.format(play.__name__), trial.location],
        cwd=_ROOT,
        env={**os.environ, **gateway.environment, **environment},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def _play_all(store: Store) -> None:
    manifest = store.catalogue.manifest(CAMPAIGN)
    limits, stop = LimitLedger(ledger_path()), StopRequest()
    services = ModelServices(manifest, store.controls, limits, lambda *_: None)
    rest = partial(stop.ask, StopKind.PAUSE)
    seconds = execution_limits(manifest).lease_seconds
    try:
        for row in store.catalogue.runs(CAMPAIGN):
            run, scenario = store.run(row.key), bound_scenario(manifest)
            tenure = tenure_of_run(run, seconds)
            lease = await tenure.take_unless_kept()
            with services.for_run(run, lease, scenario, rest) as models:
                ceos = seated(manifest, row.planned.lineup, models.ceo)
                world = World(run, lease, row.planned, scenario, ceos, stop)
                end = await tenure.keep(lease, models.kept_while(world.play()))
                assert end is RunState.COMPLETED
    finally:
        await services.close()


def _conversation(events: tuple[Event, ...]) -> Conversation:
    replies = [event.reply for event in events if isinstance(event, Answered)]
    receipts = [event for event in events if isinstance(event, ToolReceipt)]
    return Conversation(
        tuple(reply.native for reply in replies),
        tuple(msgspec.structs.replace(receipt, active_seconds=0.0) for receipt in receipts),
        sum(reply.usage.output_tokens for reply in replies if reply.usage is not None),
    )


def _ordinals(entries: Any) -> dict[str, dict[str, list[int]]]:
    """The numbers of the requests by attempt and by the digest of what was asked, as they came."""
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        attempt, _, ordinal = entry.name.rpartition("/request-")
        found[attempt][entry.digest].append(int(ordinal))
    return found
