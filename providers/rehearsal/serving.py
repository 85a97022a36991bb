"""A gateway that serves: here, until it is stopped."""

import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Final

from manifests.errors import InputError
from providers.rehearsal.options import GatewayOptions

LONGEST_QUEUE: Final = 4_096
KEEP_ALIVE_SECONDS: Final = 300
FAREWELL_SECONDS: Final = 1


def serve(
    host: str,
    port: int,
    options: GatewayOptions,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve on a loopback address until the process is told to stop; port 0 takes a free one.

    `on_start` is told the base URL once connections are accepted.

    Raises:
        InputError: an address beyond loopback, a port in use, or an unusable ledger.
    """
    # Imported late: a command that only names the gateway stays quick.
    import uvicorn

    from providers.rehearsal.gateway import application

    # What a fault plan breaks is broken on purpose, and nothing to report.
    logging.getLogger("uvicorn.error").addFilter(_is_worth_telling)
    with _listener(host, port) as listener:
        config = uvicorn.Config(
            application(options),
            backlog=LONGEST_QUEUE,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=FAREWELL_SECONDS,
        )
        if on_start is not None:
            on_start(_base_url(listener))
        uvicorn.Server(config).run(sockets=[listener])


def _is_worth_telling(record: logging.LogRecord) -> bool:
    return record.getMessage() != "ASGI callable returned without completing response."


@contextlib.contextmanager
def _listener(host: str, port: int) -> Iterator[socket.socket]:
    family = _family(host)
    try:
        listener = socket.create_server((host, port), family=family, backlog=LONGEST_QUEUE)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"The rehearsal gateway cannot listen on {host} port {port}: {error}.",
            "Choose another port, or 0 for any free one.",
        ) from error
    with listener:
        yield listener


def _family(host: str) -> socket.AddressFamily:
    """The family of a loopback address: the gateway answers nobody from outside."""
    if host == "localhost":
        return socket.AF_INET
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise InputError(
            f"{host} is not a loopback address.",
            "The rehearsal gateway serves this machine alone: use 127.0.0.1 or ::1.",
        )
    return socket.AF_INET6 if address.version == 6 else socket.AF_INET


def _base_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"
