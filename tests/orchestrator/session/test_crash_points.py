"""A window that is killed before and after each of its commits, and then lived on to the end.

The window has everything in it: tools, file writes, a rejected request, faults with waits, a cut
reply, a reply of reasoning alone, one without usage, corrections, finalization and a seal. The
model's next answer follows from what the journal holds, as the world's does: what was received and
not stored is received again.
"""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import pytest
from sqlalchemy import Connection, Engine, event

from engine.decision import CompanyDecision
from manifests.canonical import digest_bytes
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session import loop
from orchestrator.session.allowance import Allowance
from orchestrator.session.ceo import StoredJournal
from orchestrator.session.events import (
    Answered,
    Asked,
    Event,
    Failed,
    ToolReceipt,
    decode_event,
)
from orchestrator.session.files import PrivateFiles
from orchestrator.session.loop import Opening, Session, sealed_decision
from orchestrator.session.state import SessionState
from orchestrator.session.tools.context import ToolContext, ToolOutcome
from orchestrator.session.tools.registry import run_tool
from orchestrator.store import AttemptKey, CommitPoint, RunStore, SessionStore, open_store
from providers.contract import Fault, ProviderFault, Reply, Request
from tests.orchestrator.session.attempts import (
    BAD_REQUEST,
    LOOK,
    PREVIEW,
    PRICE,
    QUERIES,
    SEAL,
    SEAT,
    TRANSIENT,
    FakeClock,
    OpenGate,
    call,
    context,
    reply,
)
from tests.orchestrator.store import samples

KEY: Final = AttemptKey(0, SEAT, 0)
ALLOWANCE: Final = Allowance(
    replies=10, output_tokens=60_000, seconds=3_600, native_ceiling=20_000, smallest_ceiling=1_024
)
SECONDS_A_REPLY: Final = 10.0
SCRIPT: Final[tuple[Reply | Fault, ...]] = (
    reply(LOOK, call("write_file", path="MEMORY.md", content="one\n"), tag="a"),
    BAD_REQUEST,
    reply(PRICE, call("set_product", product_id="Z", price_cents=1), call("fly"), tag="b"),
    TRANSIENT,
    TRANSIENT,
    reply(PREVIEW, tag="c", stop="length"),
    reply(tag="d", stop="length", only_reasoning=True),
    reply(tag="e", tokens=None),
    reply(tag="f", text="I wait."),
    reply(
        call("edit_file", path="MEMORY.md", old_string="one", new_string="two"),
        call("set_marketing", segment_id="value", channel="search", daily_budget_cents=700),
        tag="g",
    ),
    reply(call("set_operations", support_budget_cents=900), SEAL, tag="h"),
    reply(
        call("query_company", sql="SELECT 2"),
        call("write_file", path="notes/later.md", content="three\n"),
        call("request_market_research", segment_id="value", level=1),
        tag="i",
    ),
    reply(SEAL, tag="j"),
)


class Killed(Exception):
    """The process is gone."""


@dataclass
class Life:
    """What all lives of one window do, one after another."""

    store: SessionStore
    clock: FakeClock = field(default_factory=FakeClock)
    asked: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    commits: int = 0
    killed_at: int = 0
    killed_after: bool = False

    def wire(self, request: Request) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(request, name=""))

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        assert body is not None
        assert within_seconds is not None
        self.names.append(request.name)
        self.asked.append(digest_bytes(body))
        self.clock.seconds += SECONDS_A_REPLY
        await asyncio.sleep(0)
        known = StoredEvents.of(self.store)
        outcome = SCRIPT[len(known.replies) + len(known.failures)]
        if isinstance(outcome, Fault):
            raise ProviderFault(outcome)
        return outcome

    async def close(self) -> None:
        pass

    def run_tool(self, found: ToolContext, name: str, arguments: str) -> ToolOutcome:
        self.ran.append(f"{name} {arguments}")
        return run_tool(found, name, arguments)

    @contextmanager
    def mortal(self) -> Iterator[None]:
        """Die before, or after, the commit of the chosen event."""

        def before(connection: Connection) -> None:
            point = connection.get_execution_options().get("commit_point")
            if point is not CommitPoint.APPEND_EVENT:
                return
            self.commits += 1
            if self.commits == self.killed_at and not self.killed_after:
                raise Killed

        event.listen(Engine, "commit", before)
        try:
            yield
        finally:
            event.remove(Engine, "commit", before)


class MortalJournal(StoredJournal):
    """A journal whose process may end right after a commit."""

    life: Life

    def append(self, event: Event, microdollars: int | None = None) -> None:
        super().append(event, microdollars)
        if self.life.commits == self.life.killed_at and self.life.killed_after:
            raise Killed


@dataclass(frozen=True)
class StoredEvents:
    """What a journal holds at one moment."""

    events: list[Event]

    @classmethod
    def of(cls, store: SessionStore) -> "StoredEvents":
        return cls([decode_event(body) for body in store.events(KEY)])

    @property
    def replies(self) -> list[Answered]:
        return [each for each in self.events if isinstance(each, Answered)]

    @property
    def failures(self) -> list[Failed]:
        return [each for each in self.events if isinstance(each, Failed)]

    def answered_digests(self) -> set[str]:
        """The requests whose replies are stored and entered the conversation."""
        asked = {each.ordinal: each for each in self.events if isinstance(each, Asked)}
        return {
            asked[each.ordinal].request_digest
            for each in self.replies
            if each.reply.usage is not None
        }


@dataclass(frozen=True)
class Outcome:
    """What a window came to, times and bills apart."""

    status: CompanyWindowStatus
    decision: CompanyDecision | None
    messages: tuple[object, ...]
    files: PrivateFiles
    stored_files: dict[str, tuple[str, int]]
    replies: int
    tokens: int
    final_replies: int
    tool_calls: int
    without_usage: int

    @classmethod
    def of(cls, status: CompanyWindowStatus, state: SessionState, store: SessionStore) -> "Outcome":
        return cls(
            status=status,
            decision=sealed_decision(state, f"company-{SEAT}", KEY.version),
            messages=state.messages,
            files=state.files,
            stored_files=store.files_before(SEAT, KEY.version + 1),
            replies=state.use.replies,
            tokens=state.use.output_tokens,
            final_replies=state.use.final_replies,
            tool_calls=state.counts.tool_calls,
            without_usage=state.counts.replies_without_usage,
        )


def live(run: RunStore, life: Life, owner: str) -> tuple[CompanyWindowStatus, SessionState]:
    """One life of the window, from where its journal stands. It is killed with a heartbeat."""
    lease = run.acquire(owner, 0)
    journal = MortalJournal(life.store, lease, KEY, lambda _: None)
    journal.life = life
    session = Session(
        Opening("You are a CEO.", "Day 0.", ALLOWANCE, PrivateFiles(), life.store.name_of(KEY)),
        journal,
        life,
        OpenGate(),
        context,
        life.clock,
        lambda: 1.0,
        lambda: False,
        QUERIES,
        life.store.beaten_milliseconds(KEY) / 1000,
    )
    try:
        status, _ = asyncio.run(session.run())
    except Killed:
        life.store.beat(lease, {KEY: round(session.active_seconds() * 1000)})
        raise
    return status, session.state


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("template") / "store"
    with open_store(str(place), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        run.release(samples.start(run))
    return place


@cache
def undisturbed(template: Path) -> tuple[Outcome, float, int, int, int]:
    """The window without a fault, its active time, and how many commits, requests and runs of
    tools it takes.
    """
    place = template.parent / "undisturbed"
    shutil.copytree(template, place)
    with open_store(str(place)) as store, pytest.MonkeyPatch.context() as patch:
        run = store.run(samples.KEY)
        life = Life(SessionStore(run))
        patch.setattr(loop, "run_tool", life.run_tool)
        with life.mortal():
            status, state = live(run, life, "host-1")
        outcome = Outcome.of(status, state, life.store)
        return outcome, state.use.seconds, life.commits, len(life.asked), len(life.ran)


COMMITS: Final = 54


def test_the_undisturbed_window_has_everything_in_it(template: Path) -> None:
    outcome, _, commits, asked, ran = undisturbed(template)
    assert outcome.status is CompanyWindowStatus.SEALED
    assert outcome.decision is not None
    assert outcome.decision.products["A"].price_cents == 4_200
    assert outcome.decision.research
    assert outcome.stored_files == {"MEMORY.md": ("two\n", 2), "notes/later.md": ("three\n", 1)}
    assert (outcome.replies, outcome.final_replies, outcome.without_usage) == (9, 3, 1)
    assert asked == len(SCRIPT)
    assert ran == 11, "neither the calls of the cut reply nor those of the mixed seal"
    assert commits == COMMITS, "one test below for every commit"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, COMMITS + 1))
def test_a_window_killed_at_a_commit_ends_as_if_nothing_had_happened(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool
) -> None:
    expected, seconds, commits, asked, ran = undisturbed(template)
    place = tmp_path / "store"
    shutil.copytree(template, place)
    with open_store(str(place)) as store:
        run = store.run(samples.KEY)
        life = Life(SessionStore(run), killed_at=number, killed_after=after)
        monkeypatch.setattr(loop, "run_tool", life.run_tool)
        with life.mortal(), pytest.raises(Killed):
            live(run, life, "host-1")
        found = StoredEvents.of(life.store)
        assert len(found.events) == (number if after else number - 1)
        requests, runs = len(life.asked), len(life.ran)
        life.killed_at = 0
        with life.mortal():
            status, state = live(run, life, "host-2")

        assert Outcome.of(status, state, life.store) == expected
        # Nothing that is stored is asked for, or done, once more.
        assert not found.answered_digests() & set(life.asked[requests:])
        assert len(life.asked) - requests == asked - _stored_requests(found)
        assert len(life.ran) - runs == ran - _stored_runs(found)
        assert len(set(life.names)) == len(life.names), "no two sendings bear one name"
        # What was asked and has no answer may have been billed, and nothing else.
        under_way = bool(found.events) and isinstance(found.events[-1], Asked)
        assert state.counts.possibly_billed == under_way
        assert len(StoredEvents.of(life.store).events) == commits + (2 if under_way else 0)
        # The allowance is not granted anew: all time until the last heartbeat is charged.
        assert state.use.seconds >= seconds
        assert state.use.seconds <= seconds + SECONDS_A_REPLY


def test_lives_of_three_commits_each_get_there_all_the_same(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _, _, _, ran = undisturbed(template)
    place = tmp_path / "store"
    shutil.copytree(template, place)
    with open_store(str(place)) as store:
        run = store.run(samples.KEY)
        life = Life(SessionStore(run), killed_after=True)
        monkeypatch.setattr(loop, "run_tool", life.run_tool)
        status = CompanyWindowStatus.OPEN
        lives = 0
        while status is CompanyWindowStatus.OPEN:
            lives += 1
            life.killed_at = life.commits + 3
            with life.mortal(), suppress(Killed):
                status, state = live(run, life, f"host-{lives}")
        assert lives > 18
        assert Outcome.of(status, state, life.store) == expected
        assert len(life.ran) == ran


def _stored_requests(found: StoredEvents) -> int:
    return len(found.replies) + len(found.failures)


def _stored_runs(found: StoredEvents) -> int:
    """Receipts of calls that ran; the others were given a refusal by the harness."""
    return len(
        [
            each
            for each in found.events
            if isinstance(each, ToolReceipt) and not each.text.startswith("Not run")
        ]
    )
