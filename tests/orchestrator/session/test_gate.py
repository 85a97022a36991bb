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
from orchestrator.store import WHOLE_CAMPAIGN, Asking, Spent, Store, open_store
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
from tests.orchestrator.store import samples

SEALED = CompanyWindowStatus.SEALED
OPEN = CompanyWindowStatus.OPEN
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
        attempt.gate = self.gate.seat("s11", 1, self.rests.append, attempt.stopping)
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
    attempt.gate = seat.gate.seat("s11", 1, seat.rests.append, attempt.stopping)
    status, state = attempt.play()
    assert (status, len(attempt.model.asked)) == (OPEN, 0)
    assert state.use.seconds < 1
    attempt.stopping = lambda: False
    attempt.gate = seat.gate.seat("s11", 1, seat.rests.append, attempt.stopping)
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


def test_a_lost_host_has_spent_what_it_had_set_aside(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(KeyError("a defect"), reply(SEAL))
    with pytest.raises(KeyError):
        attempt.play()
    assert attempt.play()[0] is SEALED
    (spent,) = store.controls.spent(samples.CAMPAIGN)
    assert spent.known == 2_000
    assert spent.uncertain > 20_000


def test_a_cap_of_the_campaign_counts_all_routes(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    store.controls.set_aside(samples.CAMPAIGN, "another", Asking("s29", 1, "a"), 90_000, {})
    store.controls.set_cap(samples.CAMPAIGN, WHOLE_CAMPAIGN, 10, "a test")
    seat = Seat(store, clock, tmp_path, prices=PRICES)
    attempt = seat.attempt(reply(SEAL))
    assert attempt.play()[0] is OPEN
    assert "the campaign is reached: $0.10" in seat.rests[0]
