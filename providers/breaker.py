"""A circuit breaker for one route: after many failures in a row its requests wait (providers.md
section 4).

Without it every seat of a route that is down would go on asking by itself. It opens after some
failures that say that the service is in trouble, with no reply between them, and lets one request
try after a pause that doubles while such tries fail. That a service asks for patience is no trouble
of the route: such a wait is for the one request that was told. Pure: time is handed in, by any
clock that does not go back.
"""

from typing import Final

import msgspec

from providers.contract import Fault

FAILURES_THAT_OPEN: Final = 6
FIRST_PAUSE_SECONDS: Final = 15.0
LONGEST_PAUSE_SECONDS: Final = 120.0

# Statuses by which a service speaks of one request or client, not of itself.
_OF_THE_REQUEST: Final = frozenset({409, 425, 429})


class Breaker(msgspec.Struct, frozen=True):
    """The state of a route's breaker: `failures` came in a row, and since the breaker opened.

    `open_until` is when the next request may try, None while the breaker is closed.
    `pause_seconds` is how long it stays open after the next failure that opens it.
    """

    failures: int = 0
    open_until: float | None = None
    pause_seconds: float = FIRST_PAUSE_SECONDS

    @property
    def is_open(self) -> bool:
        return self.open_until is not None

    def wait(self, now: float) -> float:
        """The seconds that a request has to wait; 0 when it may be sent."""
        return 0.0 if self.open_until is None else max(0.0, self.open_until - now)

    def sent(self, now: float) -> "Breaker":
        """The breaker once a request is sent: while it is open, that is the one that tries, and
        the others wait for it.
        """
        if self.open_until is None:
            return self
        return msgspec.structs.replace(self, open_until=now + self.pause_seconds)

    def failed(self, fault: Fault, now: float, *, tried: bool) -> "Breaker":
        """The breaker after a request that ended in this fault; `tried` says that it was sent
        while the breaker was open.
        """
        if not speaks_of_the_service(fault):
            # Whatever was refused, somebody is there to refuse it.
            return Breaker()
        if self.is_open and not tried:
            # Sent before the breaker opened: it says nothing new.
            return self
        failures = self.failures + 1
        if failures < FAILURES_THAT_OPEN:
            return msgspec.structs.replace(self, failures=failures)
        longer = min(LONGEST_PAUSE_SECONDS, self.pause_seconds * 2)
        return Breaker(failures, now + self.pause_seconds, longer)

    def replied(self) -> "Breaker":
        """The breaker after a reply: closed."""
        return Breaker()


def speaks_of_the_service(fault: Fault) -> bool:
    """Whether a fault says that the service, or the way to it, is in trouble."""
    return fault.kind == "transient" and fault.status not in _OF_THE_REQUEST
