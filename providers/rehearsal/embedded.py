"""A gateway in a process of its own that lives exactly as long as its parent wants it.

The parent holds the one writing end of the child's standard input. When the parent closes it, or
dies in whatever way, the child reads the end of the file and is gone at once.
"""

import contextlib
import http.client
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from manifests.errors import ArenaError, InputError, StoreError
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.serving import serve

START_SECONDS: Final = 60.0
END_SECONDS: Final = 10.0
ORPHAN_CHECK_SECONDS: Final = 1.0
DEATH_CHECK_SECONDS: Final = 0.2


class _Order(msgspec.Struct, frozen=True):
    """What the parent tells the child, through a pipe so that no key shows in a process list."""

    port: int
    options: dict[str, Any]
    parent: int


class _Answer(msgspec.Struct, frozen=True):
    """What the child tells the parent: where it listens, or what a person must change."""

    base_url: str = ""
    message: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class RunningGateway:
    """A gateway in a process of its own. `base_url` ends with `/v1`, as clients want it."""

    base_url: str
    process: "subprocess.Popen[bytes]"

    def statistics(self) -> dict[str, Any]:
        """What the gateway has counted so far, as `Statistics.report` describes it."""
        address = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/rehearsal/statistics")
            report: dict[str, Any] = msgspec.json.decode(connection.getresponse().read())
            return report


@contextlib.contextmanager
def start_gateway(
    options: GatewayOptions | None = None, *, port: int = 0
) -> Iterator[RunningGateway]:
    """Run a gateway on 127.0.0.1, in a process of its own, for the time of a `with` block.

    The process is in a session of its own, so that an interrupt from the keyboard does not end it
    before its parent is done with it.

    Raises:
        InputError: an address beyond loopback, a port in use, or an unusable ledger.
        StoreError: the process did not start.
    """
    with subprocess.Popen(
        # -P: a folder named like one of our packages in the working directory is not ours.
        [sys.executable, "-P", "-m", "providers.rehearsal"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            base_url = _give_order(process, port, options or GatewayOptions())
            yield RunningGateway(base_url, process)
        finally:
            _end(process)


@contextlib.contextmanager
def keep_gateway(options: GatewayOptions) -> Iterator[str]:
    """As `start_gateway`, and start the gateway again at its address whenever it dies; the base
    URL.

    Its agents know nothing but what they are asked, so that the new one answers as the old one
    would have.
    """
    over = threading.Event()
    with start_gateway(options) as first:
        keeper = threading.Thread(target=_keep, args=(first, options, over))
        keeper.start()
        try:
            yield first.base_url
        finally:
            over.set()
            keeper.join()


def _keep(running: RunningGateway, options: GatewayOptions, over: threading.Event) -> None:
    port = urlsplit(running.base_url).port or 0
    with contextlib.ExitStack() as started:
        while not over.wait(DEATH_CHECK_SECONDS):
            if running.process.poll() is not None:
                # Where it cannot start now, it is tried again at the next look.
                with contextlib.suppress(ArenaError):
                    running = started.enter_context(start_gateway(options, port=port))


def obey() -> None:
    """The child's part: read the order, serve, and leave with the parent."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    order = msgspec.json.decode(line, type=_Order)
    threading.Thread(target=_leave_with, args=(order.parent,), daemon=True).start()
    try:
        options = GatewayOptions.model_validate_json(msgspec.json.encode(order.options))
        serve("127.0.0.1", order.port, options, lambda base_url: _tell(_Answer(base_url)))
    except ArenaError as error:
        _tell(_Answer(message=error.message, remedy=error.remedy))


def _give_order(process: "subprocess.Popen[bytes]", port: int, options: GatewayOptions) -> str:
    """The base URL of the gateway that the child has started."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the child was started with pipes")
    key = None if options.api_key is None else options.api_key.get_secret_value()
    plain = options.model_dump(mode="json", exclude={"api_key"}) | {"api_key": key}
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(msgspec.json.encode(_Order(port, plain, os.getpid())) + b"\n")
        process.stdin.flush()
    is_ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if is_ready else b""
    if not line:
        raise StoreError(
            "The rehearsal gateway did not start.",
            "What its process wrote on the error output says why.",
        )
    answer = msgspec.json.decode(line, type=_Answer)
    if answer.message:
        raise InputError(answer.message, answer.remedy)
    return answer.base_url


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _tell(answer: _Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def _leave_with(parent: int) -> None:
    """End this process, whatever it is doing, once its parent has closed the pipe or is gone.

    The second is asked too, because another child of the parent may have inherited the pipe.
    """
    while os.getppid() == parent:
        is_readable, _, _ = select.select([0], [], [], ORPHAN_CHECK_SECONDS)
        if is_readable and not os.read(0, 1):
            break
    os._exit(0)
