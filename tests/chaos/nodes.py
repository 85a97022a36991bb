"""A Ray cluster of several nodes on this machine, whose processes can be stopped and killed."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from tests.chaos.harness import PATIENT, descendants, kill, kill_all

_PROGRAM: Final = """
import json, sys
from ray.cluster_utils import Cluster

size = {"num_cpus": 1, "object_store_memory": 80 << 20}
cluster = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
nodes = [cluster.head_node]
print(json.dumps(cluster.address), flush=True)


def show(node):
    print(json.dumps([node.node_id, node.all_processes["raylet"][0].process.pid]), flush=True)


show(cluster.head_node)
for order in sys.stdin:
    if order.strip() == "add":
        nodes.append(cluster.add_node(**size))
        show(nodes[-1])
    else:
        cluster.remove_node(nodes[int(order)])
        print("null", flush=True)
"""

# Ray gives a node up whose raylet does not answer three times: after some ten seconds.
_HEALTH: Final = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "3",
}


class Node:
    """One node: its id, and its raylet, whose children are the actors."""

    def __init__(self, place: int, name: str, raylet: int) -> None:
        self.place = place
        self.name = name
        self.raylet = psutil.Process(raylet)

    def actors(self) -> list[psutil.Process]:
        return self.raylet.children(recursive=True)

    def hosts(self) -> list[psutil.Process]:
        """Those that play runs."""
        return [each for each in self.actors() if _title(each).startswith("ray::Host")]

    def holds(self, process: int) -> bool:
        """Whether this process is one of the node's."""
        try:
            return self.raylet.pid in {each.pid for each in psutil.Process(process).parents()}
        except psutil.NoSuchProcess:
            return False


def _title(process: psutil.Process) -> str:
    """What Ray calls a process by the actor that it is."""
    try:
        return "".join(process.cmdline()[:1])
    except psutil.NoSuchProcess:
        return ""


class RayCluster:
    """A cluster with one processor a node, and what a command needs in its environment to join."""

    def __init__(self, program: "subprocess.Popen[str]", environment: dict[str, str]) -> None:
        self._program = program
        self.environment = environment
        self.address = str(self._answer())
        self.nodes = [Node(0, *self._answer())]

    @property
    def head(self) -> Node:
        return self.nodes[0]

    def add(self) -> Node:
        """A further node."""
        node = Node(len(self.nodes), *self._asked("add"))
        self.nodes.append(node)
        return node

    def remove(self, node: Node) -> None:
        """Take a node away, as if it were switched off."""
        self._asked(str(node.place))

    def daemons(self) -> set[int]:
        """The processes without which it is no cluster."""
        names = {"gcs_server", "raylet"}
        return {each.pid for each in descendants(self._program) if each.name() in names}

    def kill_head(self) -> None:
        """End the head node and all on it, as if it were switched off."""
        own = {node.raylet.pid for node in self.nodes[1:]}
        daemons = [psutil.Process(each) for each in self.daemons() - own]
        kill([*self.head.actors(), *daemons])

    def _asked(self, order: str) -> Any:
        assert self._program.stdin is not None
        self._program.stdin.write(f"{order}\n")
        self._program.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._program.stdout is not None
        return json.loads(self._program.stdout.readline())


@contextmanager
def ray_cluster(temporary: str, **environment: str) -> Iterator[RayCluster]:
    """A cluster of one node on loopback that asks for a token; none of its processes is left."""
    token = Path(temporary) / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32), encoding="ascii")
    settings = {
        "RAY_TMPDIR": temporary,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            **settings,
            **_HEALTH,
            **environment,
            "TMPDIR": temporary,
            "PYTHONPATH": os.pathsep.join([str(PATIENT), os.environ.get("PYTHONPATH", "")]),
        },
        start_new_session=True,
    )
    try:
        yield RayCluster(program, settings)
    finally:
        kill_all(program)
        program.communicate()
