"""An attempt that halts, rests, waits, is interrupted or cancelled, and goes on."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from manifests.errors import IntegrityError
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import (
    Answered,
    Event,
    Halted,
    ToolReceipt,
)
from orchestrator.session.loop import Opening
from orchestrator.session.sql import QueryRefused
from orchestrator.session.state import SessionState
from orchestrator.session.tools.context import ToolContext
from providers.contract import Fault, Reply, Request
from tests.orchestrator.session import attempts
from tests.orchestrator.session.attempts import (
    BAD_REQUEST,
    LOOK,
    OPENING,
    PREVIEW,
    PRICE,
    REFUSED,
    SEAL,
    STANDARD,
    TRANSIENT,
    Attempt,
    MemoryJournal,
    Script,
    reply,
)

SEALED = CompanyWindowStatus.SEALED


def events_of(attempt: Attempt, kind: type[Event]) -> list[Any]:
    return [event for event in attempt.journal.load() if isinstance(event, kind)]


def texts(attempt: Attempt) -> list[str]:
    return [receipt.text for receipt in events_of(attempt, ToolReceipt)]


@pytest.mark.parametrize("kind", ["refused", "identity", "too_long"])
def test_a_fault_that_nobody_waits_out_halts_at_once(kind: Any) -> None:
    fault = Fault(kind=kind, message="Look at this.")
    attempt = Attempt([fault, reply(SEAL)])
    status, state = attempt.play()
    assert status is CompanyWindowStatus.PROVIDER_ERROR
    assert "Look at this." in attempt.reason
    assert state.closed is None
    assert len(events_of(attempt, Halted)) == 1


def test_a_halted_attempt_goes_on_when_a_person_has_let_it() -> None:
    attempt = Attempt([reply(PRICE), REFUSED, reply(SEAL)])
    assert attempt.play()[0] is CompanyWindowStatus.PROVIDER_ERROR
    asked = len(attempt.model.asked)
    assert attempt.play()[0] is CompanyWindowStatus.PROVIDER_ERROR
    assert len(attempt.model.asked) == asked, "a successor that nobody told asks nothing"
    attempt.journal.rested = True
    status, state = attempt.play()
    assert status is SEALED
    before, after = attempt.model.asked[-2:]
    assert attempt.model.wire(after) == attempt.model.wire(before)
    assert after.name != before.name
    assert state.draft.products["A"].price_cents == 4_200
    assert attempt.journal.kinds().count("Resumed") == 1


def test_the_count_of_rejected_requests_survives_a_halt() -> None:
    attempt = Attempt([BAD_REQUEST] * 9)
    attempt.play()
    attempt.journal.rested = True
    assert attempt.play()[0] is CompanyWindowStatus.PROVIDER_ERROR
    assert len(attempt.model.asked) == 4


def test_a_halt_after_the_time_is_up_becomes_a_timeout_when_it_goes_on() -> None:
    attempt = Attempt([REFUSED], seconds_each=3_600)
    assert attempt.play()[0] is CompanyWindowStatus.PROVIDER_ERROR
    attempt.journal.rested = True
    assert attempt.play()[0] is CompanyWindowStatus.TIMEOUT


def test_a_run_that_is_to_rest_leaves_the_window_open() -> None:
    rest = False
    attempt = Attempt([reply(PRICE), reply(SEAL)], stopping=lambda: rest)

    def outcomes() -> Iterator[Any]:
        nonlocal rest
        rest = True
        yield reply(PRICE)
        yield reply(SEAL)

    attempt.model = attempts.Script(attempt.clock, outcomes())
    status, state = attempt.play()
    assert status is CompanyWindowStatus.OPEN
    assert state.pending, "the reply is stored, its calls have not run"
    rest = False
    status, state = attempt.play()
    assert status is SEALED
    assert len(attempt.model.asked) == 2


def test_a_long_wait_is_left_when_the_run_is_to_rest_and_goes_on_for_the_rest_of_it() -> None:
    slow = msgspec.structs.replace(TRANSIENT, retry_after_seconds=1_000.0)
    attempt = Attempt([slow, reply(SEAL)])
    attempt.stopping = lambda: attempt.clock.seconds >= 1_000_100.0
    status, _ = attempt.play()
    assert status is CompanyWindowStatus.OPEN
    assert attempt.clock.seconds < 1_000_110.0
    attempt.stopping = lambda: False
    attempt.clock.seconds += 400.0
    attempt.clock.slept.clear()
    status, state = attempt.play()
    assert status is SEALED
    assert sum(map(round, attempt.clock.slept)) == pytest.approx(500, abs=2)
    assert state.use.seconds < 1_000, "the time at rest is not active time"


def test_a_wait_may_be_longer_than_an_hour() -> None:
    allowance = msgspec.structs.replace(attempts.STANDARD, seconds=20_000)
    slow = msgspec.structs.replace(TRANSIENT, retry_after_seconds=7_200.0)
    attempt = Attempt([slow, reply(SEAL)], allowance)
    assert attempt.play()[0] is SEALED
    assert attempt.clock.seconds == pytest.approx(1_007_200)


def test_a_clock_that_is_set_back_does_not_lengthen_a_wait() -> None:
    attempt = Attempt([TRANSIENT, reply(SEAL)])
    attempt.play()
    began = next(place for place, kind in enumerate(attempt.journal.kinds()) if kind == "WaitBegan")
    del attempt.journal.bodies[began + 1 :]
    later = Attempt([reply(SEAL)], journal=attempt.journal)
    later.clock.seconds = 1_000.0
    assert later.play()[0] is SEALED
    assert later.clock.seconds == pytest.approx(1_001.0)


def test_an_interrupted_request_may_have_been_billed_and_is_asked_again() -> None:
    attempt = Attempt([KeyError("a defect"), reply(SEAL)])
    with pytest.raises(KeyError):
        attempt.play()
    attempt.beaten = 500.0
    attempt.clock.seconds += 90_000
    status, state = attempt.play()
    assert status is SEALED
    assert state.counts.possibly_billed == 1
    first, again = attempt.model.asked
    assert attempt.model.wire(again) == attempt.model.wire(first)
    assert attempt.model.within[1] == pytest.approx(3_100.0)
    assert state.use.seconds == pytest.approx(500.0), "downtime is not active time"


def test_time_used_up_by_a_request_that_was_interrupted_is_a_timeout() -> None:
    attempt = Attempt([KeyError("a defect")])
    with pytest.raises(KeyError):
        attempt.play()
    attempt.beaten = 3_600.0
    assert attempt.play()[0] is CompanyWindowStatus.TIMEOUT


def test_a_closed_attempt_stays_closed() -> None:
    attempt = Attempt([reply(SEAL)])
    first = attempt.play()
    assert attempt.play() == first
    assert len(attempt.model.asked) == 1


def test_active_time_starts_with_the_reading_of_the_journal() -> None:
    session = Attempt(beaten=12.5).session()
    assert session.active_seconds() == 12.5


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("system", replace(OPENING, system="another")),
        ("briefing", replace(OPENING, briefing="another")),
        ("allowance", replace(OPENING, allowance=msgspec.structs.replace(STANDARD, replies=33))),
    ],
)
def test_a_journal_of_another_window_is_not_gone_on_with(field: str, changed: Opening) -> None:
    attempt = Attempt([reply(PRICE), reply(SEAL)])
    attempt.play()
    attempt.opening = changed
    with pytest.raises(IntegrityError, match=field):
        attempt.play()


def test_queries_of_one_session_hold_up_neither_journals_nor_tools_of_another() -> None:
    """All threads for queries are busy; another session plays to its end meanwhile."""
    release = threading.Event()
    busy = Attempt([reply(LOOK), reply(SEAL)])
    more = Attempt([reply(LOOK), reply(SEAL)])
    third = Attempt([reply(LOOK), reply(SEAL)])
    quick = Attempt([reply(PRICE, PREVIEW), reply(SEAL)])

    def slow(sql: str, parameters: object, row_limit: object) -> QueryRefused:
        del sql, parameters, row_limit
        assert release.wait(20)
        return QueryRefused("no")

    def waiting(state: SessionState) -> ToolContext:
        return attempts.context(state)._replace(query=slow)

    async def play() -> list[CompanyWindowStatus]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        slow_ones = [
            asyncio.create_task(attempt.session(waiting).run()) for attempt in (busy, more, third)
        ]
        status, _ = await quick.session().run()
        assert not any(task.done() for task in slow_ones)
        release.set()
        return [status, *[(await task)[0] for task in slow_ones]]

    assert asyncio.run(play()) == [SEALED] * 4


def test_a_cancelled_session_finishes_the_commit_that_it_has_begun() -> None:
    started, release = threading.Event(), threading.Event()

    class Slow(MemoryJournal):
        def append(self, event: Event, microdollars: int | None = None) -> None:
            if isinstance(event, Answered):
                started.set()
                assert release.wait(60)
            super().append(event, microdollars)

    attempt = Attempt([reply(SEAL)], journal=Slow())

    async def play() -> None:
        task = asyncio.create_task(attempt.session().run())
        assert await asyncio.to_thread(started.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
    assert attempt.journal.kinds()[-1] == "Answered"
    assert attempt.play()[0] is SEALED
    assert len(attempt.model.asked) == 1


def test_a_cancelled_session_does_not_wait_for_ever_for_its_reply() -> None:
    asked, hung_up = asyncio.Event(), asyncio.Event()

    class Endless(Script):
        async def ask(
            self,
            request: Request,
            *,
            body: bytes | None = None,
            within_seconds: float | None = None,
        ) -> Reply:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                hung_up.set()
            return await super().ask(request, body=body, within_seconds=within_seconds)

    attempt = Attempt([])
    attempt.model = Endless(attempt.clock, [])

    async def play() -> None:
        task = asyncio.create_task(attempt.session().run())
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
    assert hung_up.is_set()
    assert attempt.journal.kinds()[-1] == "Asked"
