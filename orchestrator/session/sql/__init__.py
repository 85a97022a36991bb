"""One read-only SQL statement over a company's books (interface.md section 3).

A query runs in a process of its own, so that nothing a statement does can hold, flood or end the
host. Calls block their thread and may come from many threads at once; each takes a free process,
and starts one while fewer than the agreed number run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from manifests.errors import StoreError
from orchestrator.session.books import Books
from orchestrator.session.sql.worker import (
    DEFAULT_ROWS,
    MOST_ROWS,
    RESULT_BYTES,
    SQL_CHARACTERS,
    interrupted,
)

__all__ = [
    "DEFAULT_ROWS",
    "MOST_ROWS",
    "RESULT_BYTES",
    "QueryRefused",
    "QueryResult",
    "QueryWorkers",
    "query",
]

Parameters = Sequence[object] | Mapping[str, object]

_BACKSTOP_SECONDS: Final = 30.0
"""Wall-clock time after which the process of a query is killed. A query ends by its instructions
or by its processor time long before, unless a single instruction does not end."""

_REMEDY: Final = "Check the place of temporary files; with the run resumed they are made again."

_WORKER: Final = Path(__file__).with_name("worker.py")

_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter may need to start; nothing else, above all no key, reaches the process."""


class QueryResult(NamedTuple):
    """Rows as JSON: ``{"columns": [..], "rows": [[..]], "row_count": n, "cut": bool}``; a cut
    result says in ``note`` what cut it.
    """

    text: str
    row_count: int
    cut: bool


class QueryRefused(NamedTuple):
    """Why there are no rows, in words for the CEO. ``limit`` is what interrupted the query, for
    the journal: ``instructions``, ``time``, ``memory`` or ``process`` (which it ended); empty when
    nothing was interrupted.
    """

    text: str
    limit: str = ""


class QueryWorkers:
    """The processes that run queries, shared by all companies of a host.

    A context manager; `close` ends them. They also end by themselves when the host dies. At most
    ``most`` run at once, and none before the first query.
    """

    def __init__(self, most: int = 4) -> None:
        self._free = threading.Semaphore(most)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; one that runs a query ends after it."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """A worker's answer. A process that dies is replaced once, because anybody may kill a
        process; a query that ends two of them is at fault itself.
        """
        with self._free:
            for _ in range(2):
                worker = self._take()
                reply = worker.ask(request)
                if reply is not None:
                    self._give_back(worker)
                    return reply
                worker.end()
                if worker.overran:
                    return interrupted("time")
            return interrupted("process")

    def _take(self) -> _Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return _Worker()

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(worker)
                return
        worker.end()


class _Worker:
    """One process and its pipes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-W", "ignore", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        self.overran = False

    def ask(self, request: Mapping[str, object]) -> dict[str, Any] | None:
        """The answer, or None when the process has died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(_BACKSTOP_SECONDS, self._overrun)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            return None
        finally:
            timer.cancel()
        if not line.endswith(b"\n"):
            return None
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _overrun(self) -> None:
        self.overran = True
        self._process.kill()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def query(
    workers: QueryWorkers,
    books: Books,
    sql: str,
    parameters: Parameters | None = None,
    row_limit: int | None = None,
) -> QueryResult | QueryRefused:
    """Run one SELECT or WITH statement; blocks its thread for some seconds at most.

    ``parameters`` are a list for ``?`` or a mapping for ``:name``. The outcome depends on the
    books and the arguments alone, unless time interrupts the query. Raises StoreError when the
    books cannot be read.
    """
    limit = DEFAULT_ROWS if row_limit is None else row_limit
    bound = () if parameters is None else parameters
    problem = _problem(sql, bound, limit)
    if problem:
        return QueryRefused(problem)
    reply = workers.ask(
        {
            "path": str(books.path.resolve()),
            "sql": sql,
            "parameters": dict(bound) if isinstance(bound, Mapping) else list(bound),
            "row_limit": limit,
        }
    )
    if reply["kind"] == "fault":
        raise StoreError(f"Cannot read the books {reply['text']}.", _REMEDY)
    if reply["kind"] == "refused":
        return QueryRefused(reply["text"], reply["limit"])
    return QueryResult(reply["text"], reply["row_count"], reply["cut"])


def _problem(sql: str, parameters: Parameters, row_limit: int) -> str:
    """What is wrong with the arguments, naming field, range and what was received; or nothing."""
    if len(sql) > SQL_CHARACTERS:
        return f"sql: must have at most {SQL_CHARACTERS} characters, received {len(sql)}"
    if not 1 <= row_limit <= MOST_ROWS:
        return f"row_limit: must be 1..{MOST_ROWS}, received {row_limit}"
    members = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters, 1)
    for place, value in members:
        if not isinstance(value, str | int | float | None):
            return (
                f"parameters[{place!r}]: must be text, a number or null, received a "
                f"{type(value).__name__}"
            )
    return ""
