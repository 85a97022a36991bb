"""The ledger of requests that go to limited services now, or went within the last minute.

All processes of a machine share one small SQLite file in the user's state folder, so that the
limits hold whatever stores the campaigns have (providers.md section 4). Admitting a request is one
transaction that counts and adds: two processes never take one place. A place is given back with the
answer; one whose process has died becomes free when nobody renews it any more.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from manifests.canonical import digest
from manifests.paths import refuse_url
from orchestrator.store.errors import BUSY_SECONDS, explained
from providers.routes import RateLimits, Route

STATE_VARIABLE: Final = "CEO_ARENA_STATE"
"""Names the folder of what all campaigns of a user share; without it, it is the state folder."""

HELD_SECONDS: Final = 60.0
"""How long a place is held that nobody renews."""

_MINUTE: Final = 60.0
_LEDGER_FILE: Final = "limits.db"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS places (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    pool TEXT NOT NULL,
    taken_at REAL NOT NULL,
    tokens INTEGER NOT NULL,
    held_until REAL
);
CREATE INDEX IF NOT EXISTS places_by_pool ON places (pool, taken_at);
"""


class Pool(NamedTuple):
    """What shares one set of limits: requests to one service, for one model, with one key.

    `name` is a digest of where a route goes and of the names of its variables, and of no secret.
    """

    name: str
    limits: RateLimits

    @classmethod
    def of(cls, route: Route) -> "Pool | None":
        """The pool of a route; None for one without limits."""
        if route.limits is None:
            return None
        place = {
            "model": route.model,
            "endpoint": route.endpoint,
            "endpoint_env": route.endpoint_env,
            "credentials": list(route.credentials),
        }
        return cls(digest(place), route.limits)


class Admission(NamedTuple):
    """A place in the ledger, or how many seconds to wait at least before asking for one again."""

    place: int | None
    wait_seconds: float = 0.0


class LimitLedger:
    """The ledger in one file, for any number of threads and processes; `now` tells the time, in
    seconds since 1970, which all processes of a machine share.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._lock = Lock()

    def admit(self, pool: Pool, tokens: int) -> Admission:
        """A place for a request that may take so many tokens, if the limits have one now.

        A request that is larger than a whole minute's tokens is let through by itself.
        """
        with self._transaction() as connection:
            now = self._now()
            _forget(connection, now)
            wait = _wait(connection, pool, tokens, now)
            if wait is not None:
                return Admission(None, wait)
            added = connection.execute(
                "INSERT INTO places (pool, taken_at, tokens, held_until) VALUES (?, ?, ?, ?)",
                (pool.name, now, tokens, now + HELD_SECONDS),
            )
            return Admission(added.lastrowid)

    def give_back(self, place: int, tokens: int | None) -> None:
        """The request has ended, after so many tokens; None leaves what was guessed."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE places SET held_until = NULL, tokens = COALESCE(?, tokens)"
                " WHERE number = ?",
                (tokens, place),
            )

    def renew(self, places: Sequence[int]) -> None:
        """Hold these places for their time from now on."""
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE places SET held_until = ? WHERE number = ? AND held_until IS NOT NULL",
                [(self._now() + HELD_SECONDS, place) for place in places],
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        # Opened for each transaction: that is nothing beside a request to a model, and so nobody
        # has to close the ledger.
        with self._lock, explained(self._path), closing(_connect(self._path)) as connection:
            # What a loss of power takes away was older than a minute when the machine is up again.
            connection.execute("PRAGMA synchronous=OFF")
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def ledger_path() -> Path:
    """Where the ledger is that all campaigns of this user on this machine share. Raises InputError
    when a variable names no path.
    """
    named = os.environ.get(STATE_VARIABLE, "")
    refuse_url(named, f"{STATE_VARIABLE}: ")
    home = os.environ.get("XDG_STATE_HOME")
    state = Path(home) if home else Path.home() / ".local" / "state"
    return (Path(named).expanduser() if named else state / "ceo-arena") / _LEDGER_FILE


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _forget(connection: sqlite3.Connection, now: float) -> None:
    """Free the places that nobody holds any more, and drop what no limit counts."""
    connection.execute("UPDATE places SET held_until = NULL WHERE held_until < ?", (now,))
    connection.execute(
        "DELETE FROM places WHERE held_until IS NULL AND taken_at <= ?", (now - _MINUTE,)
    )


def _wait(connection: sqlite3.Connection, pool: Pool, tokens: int, now: float) -> float | None:
    """The seconds until a place may be free, 0 when nobody can tell; None when there is one now."""
    limits = pool.limits
    if limits.concurrent_requests is not None:
        query = "SELECT COUNT(*) FROM places WHERE pool = ? AND held_until IS NOT NULL"
        (held,) = connection.execute(query, (pool.name,)).fetchone()
        if held >= limits.concurrent_requests:
            return 0.0
    recent = connection.execute(
        "SELECT taken_at, tokens FROM places WHERE pool = ? AND taken_at > ? ORDER BY taken_at",
        (pool.name, now - _MINUTE),
    ).fetchall()
    waits = (_requests_wait(recent, limits), _tokens_wait(recent, limits, tokens))
    until = max((taken_at for taken_at in waits if taken_at is not None), default=None)
    return None if until is None else max(0.0, until + _MINUTE - now)


def _requests_wait(recent: Sequence[tuple[float, int]], limits: RateLimits) -> float | None:
    """When the request was sent that must be a minute old; None when there is room."""
    most = limits.requests_per_minute
    return None if most is None or len(recent) < most else recent[len(recent) - most][0]


def _tokens_wait(
    recent: Sequence[tuple[float, int]], limits: RateLimits, tokens: int
) -> float | None:
    """When the request was sent that must be a minute old; None when there is room."""
    most = limits.tokens_per_minute
    used = sum(taken for _, taken in recent)
    if most is None or not recent or used + tokens <= most:
        return None
    for taken_at, taken in recent:
        used -= taken
        if used + tokens <= most:
            return taken_at
    return recent[-1][0]
