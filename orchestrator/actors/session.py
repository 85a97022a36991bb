"""A campaign that is carried out on Ray, as the command line sees it."""

import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final, Protocol

import psutil
import ray
from ray.exceptions import RayError, RayTaskError

from manifests.errors import ArenaError, InputError, StoreError
from orchestrator.actors.campaign import CampaignEnd
from orchestrator.actors.carrier import Carrier, Charge
from orchestrator.actors.cluster import HeadSilent, obstacle_to
from orchestrator.actors.limits import NAMESPACE
from orchestrator.actors.nodes import ON_HEAD, living_nodes
from orchestrator.owners import own_name
from orchestrator.store import Lease, is_shared

# To wait for the end, and to leave.
_CALLS: Final = 8

# How often a private Ray starts the actor again.
_MOST_DEATHS: Final = 5

# How often the head node of a cluster is looked for, and for how long it may be silent.
_LOOK_SECONDS: Final = 5.0
_MOST_SILENT_SECONDS: Final = 15.0


class Session:
    """A campaign that is carried out; a `lasting` one outlives this process."""

    def __init__(self, charge: Charge, core: "Core") -> None:
        self.lasting = charge.owner is None
        self._charge = charge
        self._core = core

    def begin(self) -> None:
        """Let the campaign be carried out from now on."""
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": _CALLS}
        if self.lasting:
            options |= {
                # The name is for people; a campaign has one scheduler because it has one lease.
                "name": f"ceo-arena-{self._charge.campaign}-{secrets.token_hex(4)}",
                "namespace": NAMESPACE,
                "lifetime": "detached",
                "max_restarts": -1,
                "resources": ON_HEAD,
            }
        else:
            options["max_restarts"] = _MOST_DEATHS
        remote: Any = ray.remote(Carrier)
        self._carrier = remote.options(**options).remote(self._charge)
        self._end = self._carrier.end.remote()

    def ended(self, seconds: float) -> CampaignEnd | None:
        """The end, if it comes within so many seconds.

        Raises:
            LeaseHeld, LeaseLost: somebody else carries the campaign out.
            HeadSilent: the head node of the cluster does not answer.
            StoreError: the store or Ray refuses.
        """
        self._core.check()
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
        except RayError as error:
            raise _ray_failed(error) from error

    def leave(self, seconds: float) -> None:
        """Stop all runs at their next boundary, or after so many seconds where they are."""
        try:
            self._carrier.leave.remote()
            ray.wait([self._end], timeout=seconds)
        except RayError:
            # What is gone has nothing left to stop.
            return


class Core(Protocol):
    """That without which a Ray is none. Ray itself would go on waiting for it for a minute or more,
    and then end this process without a word.
    """

    def check(self) -> None:
        """Raise StoreError when it is gone."""
        ...


class RayCore:
    """The processes of a private Ray."""

    def __init__(self) -> None:
        names = {"gcs_server", "raylet"}
        self._processes = [child for child in psutil.Process().children() if child.name() in names]

    def check(self) -> None:
        """Raise StoreError when one of them is gone."""
        for process in self._processes:
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                raise StoreError("Ray was ended from outside.", "Nothing that was settled is lost.")


class ClusterHead:
    """The head node of the cluster that this process has joined."""

    def __init__(self) -> None:
        self._address: str = ray.get_runtime_context().gcs_address
        self._looked = self._heard = time.monotonic()

    def check(self) -> None:
        """Raise HeadSilent when it has not answered for some time."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked, obstacle = now, obstacle_to(self._address)
        if obstacle is None:
            self._heard = now
        elif now - self._heard >= _MOST_SILENT_SECONDS:
            raise HeadSilent(
                f"The head node of the Ray cluster at {self._address} has not answered for "
                f"{now - self._heard:.0f} seconds: {obstacle}."
            )


@contextmanager
def session(
    options: Mapping[str, Any],
    location: str,
    campaign: str,
    hosts: int | None,
    most_hosts: int | None,
    *,
    lasting: bool,
    announced: Lease | None,
) -> Iterator[Session]:
    """A session on the Ray that `cluster.ray_options` describes; unless told otherwise with a host
    for each processor, but not more than the store can take. A `lasting` one takes over the lease
    by which this process `announced` the campaign.

    Raises:
        InputError: no such cluster, or one of several nodes for a store that is a directory.
        StoreError: Ray cannot be started.
    """
    with _ray_running(options):
        _check_shared(location)
        processors = _processors()
        yield Session(
            Charge(
                location=location,
                campaign=campaign,
                hosts=hosts or min(processors, most_hosts or processors),
                owner=None if lasting else own_name(),
                announced=announced if lasting else None,
            ),
            RayCore() if options["address"] == "local" else ClusterHead(),
        )


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
    count = len(living_nodes())
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
        return StoreError(
            f"Ray cannot be started on this machine: {reason}",
            "Try again when the machine has less to do; doctor starts Ray, too, and tells more.",
        )
    return InputError(
        f"There is no Ray cluster at {address} that this machine can join: {reason}",
        "Check the address, and RAY_AUTH_MODE if the cluster asks for a token.",
    )


def _ray_failed(error: Exception) -> StoreError:
    reason = str(error).strip().partition("\n")[0]
    return StoreError(f"Ray failed: {reason}", "Nothing that was settled is lost.")
