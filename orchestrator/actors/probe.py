"""Whether Ray works: an actor is started, asked once, and ended."""

import logging
from collections.abc import Mapping
from typing import Any

import ray

from manifests.errors import StoreError
from orchestrator.actors.nodes import living_nodes


class _Probe:
    def answer(self) -> str:
        return str(ray.__version__)


def probe(options: Mapping[str, Any]) -> str:
    """What an actor on the Ray that `cluster.ray_options` describes says of it.

    Raises:
        StoreError: Ray cannot be started or joined, or starts no actor.
    """
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        remote: Any = ray.remote(_Probe)
        actor = remote.options(num_cpus=0).remote()
        version = ray.get(actor.answer.remote(), timeout=60)
        nodes = len(living_nodes())
    except Exception as error:  # Ray raises bare exceptions when it cannot start
        reason = str(error).strip().partition("\n")[0]
        raise StoreError(
            f"Ray does not work here: {reason}", "See whether memory, /dev/shm and ports allow it."
        ) from error
    finally:
        ray.shutdown()
    return f"Ray {version} on {nodes} node{'' if nodes == 1 else 's'} started an actor"
