"""Runs replayed side by side, each in whichever process is free."""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import TypeVar

from orchestrator.replay.reports import RunReport

_Task = TypeVar("_Task")


def reports(
    replay: Callable[[_Task], RunReport], tasks: Sequence[_Task], jobs: int
) -> Iterator[RunReport]:
    """The report of every task, in the order in which they are done, by up to `jobs` processes;
    `replay` and the tasks are sent to them.
    """
    if jobs == 1 or len(tasks) <= 1:
        yield from map(replay, tasks)
        return
    # New interpreters, because a fork would take over threads and open databases.
    workers = min(jobs, len(tasks))
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_interrupt) as pool:
        try:
            for done in as_completed([pool.submit(replay, task) for task in tasks]):
                yield done.result()
        except BaseException:
            # Nothing is written by a replay, so that its workers can end anywhere.
            for worker in active_children():
                worker.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of the terminal; whoever started the workers ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
