"""Ray for one command: a light private one on this machine, or a cluster that is there already.

The private one listens on loopback alone, asks for a token that only this user can read, keeps its
files in a temporary directory of its own, and ends with the command. A cluster is only attached
to. Nothing here ever ends a Ray process that the command did not start.
"""

import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from manifests.errors import InputError, StoreError
from orchestrator.scratch import Scratch, clear_scratch

_OBJECT_STORE_BYTES: Final = 80 << 20

_ALWAYS: Final = {
    # The hook of `uv run` would copy the working directory to every worker.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_PRIVATE: Final = {
    # The name is misleading: set to 0, it keeps a local Ray on loopback.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    # By default, everything else on the machine would come before the hosts.
    "RAY_worker_niceness": "0",
}
_TOKEN_VARIABLE: Final = "RAY_AUTH_TOKEN_PATH"

_DIRECTORY_KIND: Final = "ceo-arena-ray"

# Ray puts sockets below its directory, and the path of a socket has 107 bytes at most.
_LONGEST_PARENT: Final = 24

_CONNECT_SECONDS: Final = 5.0
_LAST_PORT: Final = 65_535


class HeadSilent(StoreError):
    """The head node of a cluster does not answer; whether its campaigns go on cannot be told."""


@contextmanager
def ray_options(address: str | None) -> Iterator[dict[str, Any]]:
    """What `ray.init` needs to attach to the cluster at `address`, or to start a private Ray.

    Also sets the environment that Ray reads when it is imported: enter this first, import then.

    Raises:
        InputError: the text is no address, or nothing answers there.
    """
    if "ray" in sys.modules:
        raise RuntimeError("Ray was imported before its environment was prepared")
    os.environ.update(_ALWAYS)
    if address is not None:
        yield _attaching_to(address)
        return
    with _private_directory() as directory:
        yield _starting_in(directory)


def _starting_in(directory: Path) -> dict[str, Any]:
    token = directory / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32), encoding="ascii")
    os.environ.update(_PRIVATE | {_TOKEN_VARIABLE: str(token)})
    return {
        # Otherwise a variable of the environment could send the command to some cluster.
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE_BYTES,
        "_temp_dir": str(directory),
    }


def check_address(address: str | None) -> None:
    """Raise InputError when the text is no address, before anything is done for it."""
    if address is not None and address != "auto":
        _host_and_port(address)


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise InputError(
            f"{address} is not the address of a Ray cluster.",
            "Give host:port of its head node, or auto for the cluster of this machine.",
        )
    return host, int(port)


def _attaching_to(address: str) -> dict[str, Any]:
    if address != "auto":
        # Ray itself would try for minutes.
        obstacle = obstacle_to(address)
        if obstacle is not None:
            raise InputError(
                f"Nothing answers at {address}: {obstacle}.",
                "Check the address, and that the cluster's head node runs there.",
            )
    return {"address": address}


def obstacle_to(address: str) -> str | None:
    """Why nobody answers at the address of a head node, None when somebody does. Raises InputError
    when it is none.
    """
    host, port = _host_and_port(address)
    try:
        socket.create_connection((host.strip("[]"), port), _CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


@contextmanager
def _private_directory() -> Iterator[Path]:
    """A directory for Ray's files that only this user can read; removed at the end.

    What commands that were killed left behind is removed, first and at the end: their Ray may
    outlive them for some seconds, and write meanwhile.
    """
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _LONGEST_PARENT:
        parent = Path("/tmp")
    try:
        with closing(Scratch(_DIRECTORY_KIND, parent)) as scratch:
            yield scratch.path()
    finally:
        clear_scratch(_DIRECTORY_KIND, parent)
