"""The processes that run queries: shared, replaced when they die, gone when they must be."""

import json
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from orchestrator.session.books import Books
from orchestrator.session.sql import QueryRefused, QueryResult, QueryWorkers, query, worker
from tests.orchestrator.session.played import books_of, run

LONG = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000000) "
    "SELECT count(*) FROM r"
)


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return books_of(tmp_path_factory.mktemp("books"), 2, 72)


def test_companies_ask_at_once_and_read_only_their_own(tmp_path: Path) -> None:
    seats = run()[20].seats
    all_books = {seat: books_of(tmp_path, seat, 21) for seat in seats}
    others = alive()
    with QueryWorkers(3) as workers, ThreadPoolExecutor(16) as threads:
        asked = [seat for _ in range(10) for seat in seats]
        answers = threads.map(
            lambda seat: query(workers, all_books[seat], "SELECT company_id FROM company"), asked
        )
        for seat, answer in zip(asked, answers, strict=True):
            assert isinstance(answer, QueryResult)
            assert json.loads(answer.text)["rows"] == [[f"company-{seat}"]]
        assert 1 <= len(alive() - others) <= 3
    assert alive() <= others


def test_a_slow_query_does_not_delay_others(books: Books) -> None:
    """The slow one is still running when the others have their answers."""
    slow = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    with QueryWorkers(2) as workers, ThreadPoolExecutor(2) as threads:
        running = threads.submit(query, workers, books, slow)
        for _ in range(5):
            assert isinstance(query(workers, books, "SELECT day FROM company"), QueryResult)
        assert not running.done()
        outcome = running.result()
    assert isinstance(outcome, QueryRefused)
    assert outcome.limit == "instructions"


def test_a_killed_process_is_replaced(books: Books) -> None:
    """Idle or in the middle of a query: the answer comes all the same."""
    with QueryWorkers(1) as workers, ThreadPoolExecutor(1) as threads:
        started(workers, books).kill()
        assert isinstance(query(workers, books, "SELECT 1"), QueryResult)
        running = threads.submit(query, workers, books, LONG)
        kill_the_busy(running)
        outcome = running.result()
    assert isinstance(outcome, QueryResult)
    assert json.loads(outcome.text)["rows"] == [[5_000_000]]


def test_a_query_that_ends_two_processes_is_refused(books: Books) -> None:
    """As one would that finds a way to break SQLite; the next query is answered."""
    with QueryWorkers(1) as workers, ThreadPoolExecutor(1) as threads:
        running = threads.submit(query, workers, books, LONG)
        kill_the_busy(running)
        kill_the_busy(running)
        outcome = running.result()
        assert isinstance(outcome, QueryRefused)
        assert outcome.limit == "process"
        assert outcome.text.startswith("Interrupted: it ended the process that ran it.")
        assert isinstance(query(workers, books, "SELECT 1"), QueryResult)


def alive() -> set[psutil.Process]:
    """The children of this process, without those that have died."""
    return {
        child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE
    }


def started(workers: QueryWorkers, books: Books) -> psutil.Process:
    """The process that some workers start for their first query."""
    others = alive()
    assert isinstance(query(workers, books, "SELECT 1"), QueryResult)
    (process,) = alive() - others
    return process


def kill_the_busy(running: "Future[QueryResult | QueryRefused]") -> None:
    """Kill the process that runs a long query, once it is well under way."""
    while not running.done():
        for child in alive():
            if child.cpu_times().user > 0.15:
                child.kill()
                child.wait()
                return
        time.sleep(0.001)
    raise AssertionError("the query was over before its process could be killed")


def test_a_process_knows_no_secret(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "confidential")
    with QueryWorkers(1) as workers:
        process = started(workers, books)
        assert "confidential" not in str(process.environ())
        assert "confidential" not in str(process.cmdline())


def test_closing_ends_the_processes(books: Books) -> None:
    """Also one that answers later."""
    workers = QueryWorkers(1)
    process = started(workers, books)
    others = alive() - {process}
    workers.close()
    assert not process.is_running()
    assert isinstance(query(workers, books, "SELECT 1"), QueryResult)
    assert alive() <= others


def test_a_process_ends_with_its_input(books: Books) -> None:
    """As it must when its host is killed."""
    request = {"path": str(books.path), "sql": "SELECT 5", "parameters": [], "row_limit": 1}
    done = subprocess.run(
        [sys.executable, "-I", "-S", worker.__file__],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(json.loads(line)["text"])["rows"] == [[5]]
