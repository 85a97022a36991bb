"""Rate limits that hold for all threads and processes of a machine."""

import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from manifests.errors import InputError
from orchestrator.quota import LimitLedger, Pool, ledger_path
from orchestrator.quota.ledger import HELD_SECONDS, STATE_VARIABLE
from providers.routes import RateLimits, parse_route

ROUTE = {
    "protocol": "chat",
    "model": "m",
    "native_ceiling": 10_000,
    "endpoint_env": "BASE_URL",
    "credentials": ["KEY"],
}


class Time:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def ledger(tmp_path: Path, time: Time) -> LimitLedger:
    return LimitLedger(tmp_path / "state" / "limits.db", time)


def pool(name: str = "one", **limits: int) -> Pool:
    return Pool(name, RateLimits.model_validate(limits))


def test_so_many_requests_at_once_and_no_more(ledger: LimitLedger) -> None:
    two = pool(concurrent_requests=2)
    first, second = ledger.admit(two, 1), ledger.admit(two, 1)
    assert first.place is not None
    assert second.place is not None
    assert ledger.admit(two, 1).place is None
    assert ledger.admit(pool("another", concurrent_requests=2), 1).place is not None
    ledger.give_back(first.place, 7)
    assert ledger.admit(two, 1).place is not None


def test_so_many_requests_a_minute(ledger: LimitLedger, time: Time) -> None:
    three = pool(requests_per_minute=3)
    for _ in range(3):
        place = ledger.admit(three, 1).place
        assert place is not None
        ledger.give_back(place, 1)
        time.now += 10
    assert ledger.admit(three, 1) == (None, 30.0)
    time.now += 30
    assert ledger.admit(three, 1).place is not None
    assert ledger.admit(three, 1) == (None, 10.0)


def test_so_many_tokens_a_minute_as_guessed_and_then_as_counted(
    ledger: LimitLedger, time: Time
) -> None:
    thousand = pool(tokens_per_minute=1_000)
    place = ledger.admit(thousand, 900).place
    assert place is not None
    assert ledger.admit(thousand, 200) == (None, 60.0)
    ledger.give_back(place, 300)
    assert ledger.admit(thousand, 200).place is not None
    assert ledger.admit(thousand, 600).place is None
    time.now += 61
    assert ledger.admit(thousand, 600).place is not None


def test_a_request_larger_than_a_minute_goes_alone(ledger: LimitLedger, time: Time) -> None:
    small = pool(tokens_per_minute=100)
    assert ledger.admit(small, 5_000).place is not None
    assert ledger.admit(small, 5_000) == (None, 60.0)
    time.now += 61
    assert ledger.admit(small, 5_000).place is not None


def test_a_place_that_nobody_renews_becomes_free(ledger: LimitLedger, time: Time) -> None:
    one = pool(concurrent_requests=1)
    place = ledger.admit(one, 1).place
    assert place is not None
    time.now += HELD_SECONDS - 1
    ledger.renew([place])
    time.now += HELD_SECONDS - 1
    assert ledger.admit(one, 1).place is None
    time.now += 2
    assert ledger.admit(one, 1).place is not None


def _take(path: Path) -> int:
    """How many of forty places one process gets."""
    ledger, limits = LimitLedger(path), pool(concurrent_requests=20)
    return sum(ledger.admit(limits, 1).place is not None for _ in range(10))


def test_processes_share_the_places(tmp_path: Path) -> None:
    path = tmp_path / "limits.db"
    with multiprocessing.get_context("spawn").Pool(4) as processes:
        assert sum(processes.map(_take, [path] * 4)) == 20


def test_threads_share_the_places(tmp_path: Path) -> None:
    ledger, limits = LimitLedger(tmp_path / "limits.db"), pool(concurrent_requests=5)
    with ThreadPoolExecutor(8) as threads:
        admitted = list(threads.map(lambda _: ledger.admit(limits, 1), range(40)))
    assert sum(each.place is not None for each in admitted) == 5


def test_the_machine_has_one_in_the_users_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pool(concurrent_requests=1)
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "named"))
    assert LimitLedger(ledger_path()).admit(one, 1).place is not None
    assert LimitLedger(ledger_path()).admit(one, 1).place is None
    monkeypatch.setenv(STATE_VARIABLE, "https://host/state")
    with pytest.raises(InputError, match=f"{STATE_VARIABLE}: https://host/state is a URL"):
        ledger_path()
    monkeypatch.delenv(STATE_VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    assert LimitLedger(ledger_path()).admit(one, 1).place is not None
    assert (tmp_path / "home" / "ceo-arena" / "limits.db").exists()
    assert (tmp_path / "home" / "ceo-arena").stat().st_mode & 0o077 == 0


def test_a_pool_is_where_a_route_goes_and_holds_no_secret(tmp_path: Path) -> None:
    route = parse_route(ROUTE | {"limits": {"concurrent_requests": 1}}, "route")
    same = parse_route(
        ROUTE | {"limits": {"concurrent_requests": 9}, "options": {"effort": "max"}}, "route"
    )
    other = parse_route(ROUTE | {"limits": {}, "credentials": ["ANOTHER"]}, "route")
    found = [Pool.of(each) for each in (route, same, other)]
    assert Pool.of(parse_route(ROUTE, "route")) is None
    names = [each.name for each in found if each is not None]
    assert (names[0] == names[1], names[0] == names[2]) == (True, False)
    ledger = LimitLedger(tmp_path / "limits.db")
    assert found[0] is not None
    ledger.admit(found[0], 1)
    with closing(sqlite3.connect(tmp_path / "limits.db")) as connection:
        assert "BASE_URL" not in "\n".join(connection.iterdump())
