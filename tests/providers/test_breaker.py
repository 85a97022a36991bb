"""When a route's requests wait for the route (providers.md section 4)."""

import pytest

from providers.breaker import (
    FAILURES_THAT_OPEN,
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    Breaker,
    speaks_of_the_service,
)
from providers.contract import Fault

DOWN = Fault(kind="transient", message="Overloaded.", status=529)


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES_THAT_OPEN):
        breaker = breaker.failed(DOWN, now, tried=False)
    return breaker


def test_it_opens_after_failures_in_a_row_and_not_before() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_THAT_OPEN - 1):
        breaker = breaker.failed(DOWN, 0, tried=False)
        assert breaker.wait(0) == 0
    assert breaker.failed(DOWN, 0, tried=False).wait(0) == FIRST_PAUSE_SECONDS
    assert breaker.replied().failed(DOWN, 0, tried=False).wait(0) == 0


def test_one_request_tries_and_the_others_wait_for_it() -> None:
    breaker = opened()
    assert breaker.wait(FIRST_PAUSE_SECONDS) == 0
    trying = breaker.sent(FIRST_PAUSE_SECONDS)
    assert trying.wait(FIRST_PAUSE_SECONDS) > 0
    assert trying.replied().wait(FIRST_PAUSE_SECONDS) == 0


def test_pauses_double_to_a_limit_while_tries_fail() -> None:
    breaker, now, pauses = opened(), 0.0, []
    for _ in range(6):
        pauses.append(breaker.wait(now))
        now += pauses[-1]
        breaker = breaker.sent(now).failed(DOWN, now, tried=True)
    assert pauses == [15, 30, 60, 120, 120, 120]
    assert pauses[-1] == LONGEST_PAUSE_SECONDS


def test_failures_of_requests_that_were_sent_before_it_opened_say_nothing_new() -> None:
    breaker = opened()
    assert breaker.failed(DOWN, 3, tried=False) == breaker


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="transient", message="", status=429),
        Fault(kind="transient", message="", status=409),
        Fault(kind="bad_request", message="", status=400),
        Fault(kind="refused", message="", status=401),
        Fault(kind="protocol", message=""),
    ],
)
def test_what_is_said_to_one_request_stalls_no_other(fault: Fault) -> None:
    assert not speaks_of_the_service(fault)
    breaker = Breaker()
    for _ in range(100):
        breaker = breaker.failed(fault, 0, tried=False)
    assert breaker.wait(0) == 0
    assert opened().sent(15).failed(fault, 15, tried=True).wait(15) == 0


@pytest.mark.parametrize("status", [None, 408, 500, 502, 503, 529])
def test_what_speaks_of_the_service(status: int | None) -> None:
    assert speaks_of_the_service(Fault(kind="transient", message="", status=status))
