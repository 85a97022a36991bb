"""A campaign that is carried out by this process's Ray, as the command line sees it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final

import psutil
import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from manifests.errors import ArenaError, InputError, StoreError
from orchestrator.actors.campaign import CampaignEnd, CampaignScheduler
from orchestrator.owners import own_name
from orchestrator.store import is_shared

# A scheduler is carry_out, leave and questions.
_CALLS: Final = 8
_MOST_DEATHS: Final = 5


class Session:
    """A scheduler and its hosts at work on one campaign."""

    def __init__(self, core: "RayCore", location: str, campaign: str, hosts: int) -> None:
        self._core = core
        self._place = (location, campaign, hosts, own_name())
        self._remote: Any = ray.remote(CampaignScheduler)
        self._deaths = 0
        self._begin(requeue=True)

    def ended(self, seconds: float) -> CampaignEnd | None:
        """The end, if it comes within so many seconds; a scheduler that died is replaced.

        Raises:
            LeaseHeld, LeaseLost: somebody else carries the campaign out.
            StoreError: the store or Ray refuses.
        """
        if not self._core.lives():
            raise StoreError(
                "Ray was ended from outside.",
                "Nothing that was settled is lost.",
            )
        try:
            done, _ = ray.wait([self._end], timeout=seconds)
            if not done:
                return None
            end: CampaignEnd = ray.get(self._end)
            return end
        except RayTaskError as error:
            if isinstance(error.cause, ArenaError):
                raise error.cause from None
            raise
        except RayActorError as error:
            self._deaths += 1
            if self._deaths > _MOST_DEATHS:
                raise _ray_failed(error) from error
            self._begin(requeue=False)
            return None
        except RayError as error:
            raise _ray_failed(error) from error

    def leave(self, seconds: float) -> None:
        """Stop all runs at their next boundary, or after so many seconds where they are."""
        try:
            self._scheduler.leave.remote()
            ray.wait([self._end], timeout=seconds)
        except RayError:
            # What is gone has nothing left to stop.
            return

    def _begin(self, *, requeue: bool) -> None:
        self._scheduler = self._remote.options(
            num_cpus=0, max_concurrency=_CALLS, max_restarts=0, max_task_retries=0
        ).remote(*self._place)
        self._end = self._scheduler.carry_out.remote(requeue)


class RayCore:
    """The processes of a private Ray without which it is none; of a cluster we know none.

    Ray itself would go on waiting for a dead one, and then end this process without a word.
    """

    def __init__(self) -> None:
        names = {"gcs_server", "raylet"}
        self._processes = [child for child in psutil.Process().children() if child.name() in names]

    def lives(self) -> bool:
        """Whether all of them are there."""
        return all(
            process.is_running() and process.status() != psutil.STATUS_ZOMBIE
            for process in self._processes
        )


@contextmanager
def session(
    options: Mapping[str, Any],
    location: str,
    campaign: str,
    hosts: int | None,
    most_hosts: int | None = None,
) -> Iterator[Session]:
    """A session on the Ray that `cluster.ray_options` describes; unless told otherwise with a host
    for each processor, but not more than the store can take.

    Raises:
        InputError: no such cluster, or one of several nodes for a store that is a directory.
        StoreError: Ray cannot be started.
    """
    with _ray_running(options):
        _check_shared(location)
        processors = _processors()
        count = hosts or min(processors, most_hosts or processors)
        yield Session(RayCore(), location, campaign, count)


@contextmanager
def _ray_running(options: Mapping[str, Any]) -> Iterator[None]:
    """Ray from its start to its end, both in one thread of its own.

    There no signal interrupts them half way, and Ray sets no signal handlers. The thread lasts as
    long as Ray, because Ray's processes end with the thread that started them.
    """
    up, over = Event(), Event()
    failures: list[Exception] = []

    def live() -> None:
        # It warns of the handlers that it does not set.
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        except Exception as error:  # noqa: BLE001 - Ray raises bare exceptions when it cannot start
            failures.append(error)
        up.set()
        over.wait()
        ray.shutdown()

    life = Thread(target=live, name="ray", daemon=True)
    life.start()
    try:
        up.wait()
        if failures:
            raise _unavailable(options["address"], failures[0]) from failures[0]
        yield
    finally:
        over.set()
        life.join()


def _check_shared(location: str) -> None:
    if is_shared(location):
        return
    found: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    count = len([node for node in found if node["Alive"]])
    if count > 1:
        raise InputError(
            f"The store {location} is a directory of this machine, but the cluster has {count} "
            "nodes, which cannot share it.",
            "Keep the store in PostgreSQL, use a cluster of one node, or leave --address out.",
        )


def _processors() -> int:
    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(int(found.get("CPU", 1)), 1)


def _unavailable(address: str, error: Exception) -> InputError | StoreError:
    reason = str(error).strip().partition("\n")[0]
    if address == "local":
        return StoreError(f"Ray cannot be started on this machine: {reason}")
    return InputError(
        f"There is no Ray cluster at {address} that this machine can join: {reason}",
        "Check the address, and RAY_AUTH_MODE if the cluster asks for a token.",
    )


def _ray_failed(error: Exception) -> StoreError:
    reason = str(error).strip().partition("\n")[0]
    return StoreError(f"Ray failed: {reason}", "Nothing that was settled is lost.")
