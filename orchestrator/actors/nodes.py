"""The nodes of a Ray cluster, and which of them hosts are put on.

What needs no processor Ray puts anywhere, whatever it is told about spreading; so hosts are shared
out over the nodes here, by processors.
"""

from collections.abc import Mapping
from typing import Any, Final

import ray
from ray._private.state import state as ray_state
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ON_HEAD: Final[Mapping[str, float]] = {"node:__internal_head__": 0.001}
"""What an actor asks for to be on the head node: its loss ends Ray itself, so that nothing else is
lost by being there.
"""

Processors = Mapping[str, float]
"""How many processors the nodes have that are at work, by their ids."""


def nodes_at_work() -> Processors:
    """Those that live and are not being drained; those that live where all are being drained."""
    living = {node["NodeID"]: node["Resources"].get("CPU", 0.0) for node in living_nodes()}
    # Ray tells people of a drain by its own means alone; its libraries ask in this way, too.
    drained = ray_state.get_draining_nodes()
    return {node: room for node, room in living.items() if node not in drained} or living


def living_nodes() -> list[dict[str, Any]]:
    """The nodes that Ray knows to live, as `ray.nodes` describes them."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in nodes if node["Alive"]]


def roomiest(processors: Processors, hosts: Mapping[str, int]) -> str:
    """The node that is to have the next host, of those that have so many `hosts`: that with most
    processors for each host it would then have. One without processors is to have none, unless all
    are such.
    """
    return max(processors, key=lambda node: processors[node] / (hosts.get(node, 0) + 1))


def crowded(processors: Processors, hosts: Mapping[str, int]) -> str | None:
    """The node one of whose hosts would have more processors to itself elsewhere, if there is one.

    What `roomiest` has shared out stays as it is, until nodes join.
    """
    taken = {node: processors[node] / number for node, number in hosts.items() if number}
    if not taken:
        return None
    fullest = min(taken, key=lambda node: taken[node])
    other = roomiest(processors, hosts)
    gain = processors[other] / (hosts.get(other, 0) + 1)
    return fullest if gain > taken[fullest] else None


def on_node(node: str) -> NodeAffinitySchedulingStrategy:
    """On this node and no other, which Ray heeds of an actor that asks for no processor, where it
    does not heed a mere preference.
    """
    return NodeAffinitySchedulingStrategy(node, soft=False)
