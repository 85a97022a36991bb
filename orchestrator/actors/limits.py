"""Rate limits on a cluster of several nodes: one actor for all its campaigns keeps the ledger.

On one machine all processes share a file. Nodes share none, so the head node's is the one, and all
ask there, also those that came before there was a second node. The actor outlives the campaigns
that use it, and a cluster without its head is none.
"""

from collections.abc import Sequence
from typing import Any, Final

import ray
from ray.exceptions import RayError

from manifests.errors import StoreError
from orchestrator.actors.nodes import ON_HEAD, living_nodes
from orchestrator.quota import Admission, LimitLedger, Pool, ledger_path
from orchestrator.session.gate import Ledger

_NAME: Final = "ceo-arena-limits"
NAMESPACE: Final = "ceo-arena"
"""Where the named actors of all campaigns of a cluster are found."""
_SECONDS: Final = 30.0


class ClusterLedger:
    """The ledger of a cluster, asked from any of its nodes; its methods block."""

    def __init__(self) -> None:
        remote: Any = ray.remote(_KeptLedger)
        self._actor = remote.options(
            name=_NAME,
            namespace=NAMESPACE,
            get_if_exists=True,
            lifetime="detached",
            num_cpus=0,
            resources=ON_HEAD,
            max_restarts=-1,
            # A place that was taken by a call whose answer got lost frees itself.
            max_task_retries=0,
        ).remote()

    def admit(self, pool: Pool, tokens: int) -> Admission:
        """As `LimitLedger.admit`. Raises StoreError when the actor does not answer."""
        admission: Admission = _answer(self._actor.admit.remote(pool, tokens))
        return admission

    def give_back(self, place: int, tokens: int | None) -> None:
        """As `LimitLedger.give_back`. Raises StoreError."""
        _answer(self._actor.give_back.remote(place, tokens))

    def renew(self, places: Sequence[int]) -> None:
        """As `LimitLedger.renew`. Raises StoreError."""
        _answer(self._actor.renew.remote(list(places)))


class _KeptLedger(LimitLedger):
    """The actor: the ledger of the machine that it is on."""

    def __init__(self) -> None:
        super().__init__(ledger_path())


def shared_ledger() -> Ledger:
    """The ledger that all campaigns share which run where this process does."""
    return LimitLedger(ledger_path()) if len(living_nodes()) <= 1 else ClusterLedger()


def _answer(call: Any) -> Any:
    try:
        return ray.get(call, timeout=_SECONDS)
    except RayError as error:
        raise StoreError(
            "The rate limits of the cluster cannot be asked: the actor that keeps them is gone.",
            "Look whether the cluster has lost nodes, then resume.",
        ) from error
