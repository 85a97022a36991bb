"""The gate before a route, with the real ledger of limits and the real store."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.quota import LimitLedger
from orchestrator.session.events import WaitBegan
from orchestrator.session.gate import RouteGate
from orchestrator.store import WHOLE_CAMPAIGN, Asking, AttemptKey, Spent, Store, open_store
from providers.contract import Fault
from providers.pricing import cost
from providers.routes import parse_route
from tests.orchestrator.session.attempts import (
    PRICE,
    REFUSED,
    SEAL,
    STANDARD,
    Attempt,
    FakeClock,
    reply,
)
from tests.orchestrator.store import raw, samples

SEALED = CompanyWindowStatus.SEALED
OPEN = CompanyWindowStatus.OPEN
KEY = AttemptKey(0, 1, 0)
ANOTHER = Asking("s29", 0, 1, 0, 1, 1)
PRICES = {"input": "1", "output": "10"}
DOWN = Fault(kind="transient", message="Down.", status=503)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store"), create=True) as opened:
        samples.create_campaign(opened)
        yield opened


class Seat:
    """One seat behind a gate of its own host; several may share a store, a ledger and a clock."""

    def __init__(self, store: Store, clock: FakeClock, folder: Path, **route: Any) -> None:
        described = {
            "protocol": "chat",
            "model": "m",
            "native_ceiling": 2_000,
            "credentials": "no key",
            **route,
        }
        self.clock = clock
        self.rests: list[str] = []
        self.ledger = LimitLedger(folder / "limits.db", clock.now)
        self.gate = RouteGate(
            samples.CAMPAIGN,
            "grower",
            parse_route(described, "route"),
            None,
            store.controls,
            self.ledger,
            clock,
        )

    def attempt(self, *outcomes: Any, seconds_each: float = 0.0) -> Attempt:
        allowance = msgspec.structs.replace(STANDARD, native_ceiling=2_000)
        attempt = Attempt(outcomes, allowance, seconds_each, clock=self.clock)
        attempt.stopping = lambda: bool(self.rests)
        attempt.gate = self.gate.seat("s11", self.rests.append, KEY, 1, attempt.stopping)
        return attempt


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_to_queue_for_a_turn_is_not_active_time(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path, limits={"requests_per_minute": 1})
    began = clock.seconds
    status, state = seat.attempt(reply(PRICE), reply(PRICE, tag="b"), reply(SEAL)).play()
    assert status is SEALED
    assert clock.seconds - began >= 120, "the second and the third queued for a minute each"
    assert state.use.seconds < 1


def test_a_run_that_is_to_rest_leaves_the_queue(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path, limits={"concurrent_requests": 1})
    assert seat.gate.pool is not None
    taken = seat.ledger.admit(seat.gate.pool, 1).place
    assert taken is not None
    attempt = seat.attempt(reply(SEAL))
    leaves = clock.seconds + 30
    attempt.stopping = lambda: clock.seconds > leaves
    attempt.gate = seat.gate.seat("s11", seat.rests.append, KEY, 1, attempt.stopping)
    status, state = attempt.play()
    assert (status, len(attempt.model.asked)) == (OPEN, 0)
    assert state.use.seconds < 1
    attempt.stopping = lambda: False
    attempt.gate = seat.gate.seat("s11", seat.rests.append, KEY, 1, attempt.stopping)
    seat.ledger.give_back(taken, 0)
    assert attempt.play()[0] is SEALED


def test_to_wait_for_a_service_in_trouble_is_active_time_and_journaled(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path)
    for _ in range(6):
        seat.gate.breaker = seat.gate.breaker.failed(DOWN, clock.monotonic(), tried=False)
    attempt = seat.attempt(reply(SEAL))
    status, state = attempt.play()
    assert status is SEALED
    (wait,) = [each for each in attempt.journal.load() if isinstance(each, WaitBegan)]
    assert wait.seconds == pytest.approx(15)
    assert "failed 6 times in a row" in wait.reason
    assert state.use.seconds == pytest.approx(15)
    assert not seat.gate.breaker.is_open, "the reply has closed it"


def test_time_that_ends_before_an_open_breaker_is_a_timeout(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path)
    for _ in range(6):
        seat.gate.breaker = seat.gate.breaker.failed(DOWN, clock.monotonic(), tried=False)
    attempt = seat.attempt(reply(SEAL))
    attempt.beaten = 3_590.0
    status, state = attempt.play()
    assert status is CompanyWindowStatus.TIMEOUT
    assert len(attempt.model.asked) == 0
    assert state.use.seconds == pytest.approx(3_600)


def test_a_refusal_pauses_the_route_for_every_run(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    first, second = Seat(store, clock, tmp_path), Seat(store, clock, tmp_path)
    assert first.attempt(REFUSED).play()[0] is CompanyWindowStatus.PROVIDER_ERROR
    attempt = second.attempt(reply(SEAL))
    assert attempt.play()[0] is OPEN
    assert attempt.journal.kinds() == ["WindowOpened"]
    assert len(attempt.model.asked) == 0
    (reason,) = second.rests
    assert "is paused: The key is not valid." in reason
    store.controls.resolve(samples.CAMPAIGN)
    second.rests.clear()
    assert attempt.play()[0] is SEALED


def test_a_pause_holds_at_once_here_and_a_second_later_on_other_hosts(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    here, elsewhere = (Seat(store, clock, tmp_path).gate for _ in range(2))
    assert asyncio.run(here.paused()) is None
    assert asyncio.run(elsewhere.paused()) is None
    asyncio.run(here.pause("refused", "No credit."))
    assert "No credit." in (asyncio.run(here.paused()) or "")
    assert asyncio.run(elsewhere.paused()) is None, "it was found unpaused a moment ago"
    clock.seconds += 1
    assert "No credit." in (asyncio.run(elsewhere.paused()) or "")
    store.controls.resolve(samples.CAMPAIGN)
    assert asyncio.run(here.paused()) is None
    assert asyncio.run(elsewhere.paused()) is None


def test_a_cap_sets_the_run_at_rest_and_a_raised_one_lets_it_go_on(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path, prices=PRICES, spending_cap_cents=3)
    attempt = seat.attempt(reply(PRICE, tokens=1_500), reply(SEAL))
    # The reply takes 1,000 tokens in and 1,500 out, $0.016; the next may take $0.02 and more.
    assert attempt.play()[0] is OPEN
    assert len(attempt.model.asked) == 1
    assert "spending cap" in seat.rests[0]
    (spent,) = store.controls.spent(samples.CAMPAIGN)
    assert spent == Spent("grower", 16_000, 0, 0)
    store.controls.set_cap(samples.CAMPAIGN, "grower", 100, "a test")
    seat.rests.clear()
    status, state = attempt.play()
    assert status is SEALED
    assert state.use.replies == 2
    assert store.controls.spent(samples.CAMPAIGN) == [Spent("grower", 18_000, 0, 0)]


def test_money_that_nobody_knows_of_counts_as_spent(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    cut = Fault(kind="transient", message="Cut.", maybe_billed=True)
    refused = Fault(kind="transient", message="Busy.", status=429)
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(cut, reply(PRICE, tokens=None), refused, reply(SEAL))
    status, state = attempt.play()
    assert status is SEALED
    (spent,) = store.controls.spent(samples.CAMPAIGN)
    usage = state.last.usage if state.last is not None else None
    assert usage is not None
    assert spent.known == cost(seat.gate.route.prices, usage)  # type: ignore[arg-type]
    # Two requests of 2,000 output tokens at $10 a million and an input that is guessed.
    assert spent.uncertain > 2 * 20_000
    assert spent.set_aside == 0


def test_what_a_request_may_and_did_cost_goes_into_the_journal(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    cut = Fault(kind="transient", message="Cut.", maybe_billed=True)
    refused = Fault(kind="transient", message="Busy.", status=429)
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(cut, refused, reply(SEAL))
    attempt.play()
    first, second, busy, third, cost = attempt.journal.costs
    assert min(first, second, third) > 20_000
    assert (busy, cost) == (0, 2_000), "nothing is told of the first"


def test_the_end_of_a_request_that_is_not_journaled_settles_nothing(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(KeyError("a defect"))
    with pytest.raises(KeyError):
        attempt.play()
    (spent,) = store.controls.spent(samples.CAMPAIGN)
    assert spent == Spent("grower", 0, 0, attempt.journal.costs[0])
    assert not seat.gate.set_aside, "it is held no longer"


def test_a_request_waits_for_money_that_others_may_leave_over(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    controls = store.controls
    controls.set_aside(samples.CAMPAIGN, "another", ANOTHER, 90_000, {})
    controls.set_cap(samples.CAMPAIGN, WHOLE_CAMPAIGN, 10, "a test")
    limits = {"concurrent_requests": 1}
    seat = Seat(store, clock, tmp_path, prices=PRICES, limits=limits)
    attempt = seat.attempt(reply(SEAL))
    began, free = clock.seconds, clock.seconds + 300
    assert seat.gate.pool is not None

    def stopping() -> bool:
        if clock.seconds < free:
            if clock.seconds > began:
                assert controls.waiting(samples.CAMPAIGN) == {("s11", 1)}
                place = seat.ledger.admit(seat.gate.pool, 1).place  # type: ignore[arg-type]
                assert place is not None, "who waits for money holds no place"
                seat.ledger.give_back(place, 0)
        else:
            controls.settle(samples.CAMPAIGN, ANOTHER, 10_000)
        return bool(seat.rests)

    attempt.stopping = stopping
    attempt.gate = seat.gate.seat("s11", seat.rests.append, KEY, 1, stopping)
    status, state = attempt.play()
    assert (status, seat.rests) == (SEALED, [])
    assert clock.seconds >= free
    assert state.use.seconds < 1, "to wait for money is not active time"
    assert controls.waiting(samples.CAMPAIGN) == set()
    assert [each.set_aside for each in controls.spent(samples.CAMPAIGN)] == [0, 0]


def test_a_run_rests_when_what_was_under_way_is_spent(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    controls = store.controls
    controls.set_aside(samples.CAMPAIGN, "another", ANOTHER, 90_000, {})
    controls.set_cap(samples.CAMPAIGN, WHOLE_CAMPAIGN, 10, "a test")
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(reply(SEAL))
    spent_at = clock.seconds + 30

    def stopping() -> bool:
        if clock.seconds >= spent_at:
            controls.settle(samples.CAMPAIGN, ANOTHER, None)
        return bool(seat.rests)

    attempt.stopping = stopping
    attempt.gate = seat.gate.seat("s11", seat.rests.append, KEY, 1, stopping)
    assert attempt.play()[0] is OPEN
    assert "the campaign is reached: $0.10, of which up to $0.09 are spent" in seat.rests[0]
    assert controls.waiting(samples.CAMPAIGN) == set()
    assert [each.candidate for each in controls.spent(samples.CAMPAIGN)] == ["another"]


def test_a_run_that_is_to_rest_leaves_the_queue_for_money(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    store.controls.set_aside(samples.CAMPAIGN, "another", ANOTHER, 90_000, {})
    store.controls.set_cap(samples.CAMPAIGN, WHOLE_CAMPAIGN, 10, "a test")
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(reply(SEAL))
    leaves = clock.seconds + 30
    attempt.stopping = lambda: clock.seconds > leaves
    attempt.gate = seat.gate.seat("s11", seat.rests.append, KEY, 1, attempt.stopping)
    assert attempt.play()[0] is OPEN
    assert seat.rests == []
    assert store.controls.waiting(samples.CAMPAIGN) == set()
    assert not seat.gate.set_aside


def test_money_is_set_aside_for_nobody_who_leaves_the_queue_of_a_limit(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path, prices=PRICES, limits={"concurrent_requests": 1})
    assert seat.gate.pool is not None
    assert seat.ledger.admit(seat.gate.pool, 1).place is not None
    attempt = seat.attempt(reply(SEAL))
    leaves = clock.seconds + 30
    attempt.stopping = lambda: clock.seconds > leaves
    attempt.gate = seat.gate.seat("s11", seat.rests.append, KEY, 1, attempt.stopping)
    assert attempt.play()[0] is OPEN
    assert store.controls.spent(samples.CAMPAIGN) == []


def test_money_that_nobody_renews_is_not_waited_for(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    store.controls.set_aside(samples.CAMPAIGN, "another", ANOTHER, 90_000, {})
    store.controls.set_cap(samples.CAMPAIGN, WHOLE_CAMPAIGN, 10, "a test")
    long_ago = "UPDATE spending_reservations SET held_until = 0"
    raw.execute(store.location, long_ago)
    assert store.controls.spent(samples.CAMPAIGN) == [Spent("another", 0, 90_000, 0)]
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    assert seat.attempt(reply(SEAL)).play()[0] is OPEN
    assert "of which up to $0.09 are spent" in seat.rests[0]
    # Its process was only slow: what it says now is known.
    store.controls.hold(samples.CAMPAIGN, [ANOTHER])
    assert store.controls.spent(samples.CAMPAIGN) == [Spent("another", 0, 0, 90_000)]
    store.controls.settle(samples.CAMPAIGN, ANOTHER, 10_000)
    assert store.controls.spent(samples.CAMPAIGN) == [Spent("another", 10_000, 0, 0)]


def test_the_gate_renews_what_is_set_aside_for_its_requests(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    gate = Seat(store, clock, tmp_path, prices=PRICES).gate
    store.controls.set_aside(samples.CAMPAIGN, "grower", ANOTHER, 90_000, {})
    raw.execute(store.location, "UPDATE spending_reservations SET held_until = 0")
    gate.set_aside.add(ANOTHER)
    asyncio.run(gate.renew())
    assert store.controls.spent(samples.CAMPAIGN) == [Spent("grower", 0, 0, 90_000)]


def test_a_cap_of_the_campaign_counts_all_routes(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    store.controls.set_aside(samples.CAMPAIGN, "another", ANOTHER, 90_000, {})
    store.controls.settle(samples.CAMPAIGN, ANOTHER, 90_000)
    store.controls.set_cap(samples.CAMPAIGN, WHOLE_CAMPAIGN, 10, "a test")
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(reply(SEAL))
    assert attempt.play()[0] is OPEN
    assert "the campaign is reached: $0.10" in seat.rests[0]
