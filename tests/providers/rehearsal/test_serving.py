"""A gateway lives as long as it is wanted, on loopback, and no longer."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from pydantic import ValidationError

from manifests.errors import InputError
from providers.rehearsal import GatewayOptions, keep_gateway, serve, start_gateway
from tests.providers.rehearsal.client import body, post

PATIENCE_SECONDS = 60

EMBEDDING = """
import sys, time
from providers.rehearsal import start_gateway
with start_gateway() as gateway:
    print(gateway.base_url, gateway.process.pid, flush=True)
    time.sleep(600)
"""

FORKING = """
import os, sys, time
from providers.rehearsal import start_gateway
with start_gateway() as gateway:
    if os.fork() == 0:
        time.sleep(600)
    print(gateway.base_url, gateway.process.pid, flush=True)
    time.sleep(600)
"""

SERVING = """
import sys
from providers.rehearsal import GatewayOptions, serve
serve("127.0.0.1", 0, GatewayOptions(), lambda url: print(url, flush=True))
print("ended", flush=True)
"""


def is_listening(base_url: str) -> bool:
    address = urlsplit(base_url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname or "", address.port or 0)) == 0


def patiently_posted(base_url: str) -> int:
    """The status of a request that is repeated until somebody is there to answer it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return post(base_url, body()).status_code
        except httpx2.TransportError:
            assert time.monotonic() < deadline, "nobody came back"
            time.sleep(0.05)


def wait_for_end(process_id: int) -> None:
    """Until that process is gone; raises when it stays."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(process_id)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "the gateway outlives its parent"
            time.sleep(0.02)


def test_the_block_is_the_life_of_an_embedded_gateway() -> None:
    with start_gateway() as gateway:
        assert is_listening(gateway.base_url)
        assert gateway.process.pid != os.getpid()
    assert not is_listening(gateway.base_url)
    assert not psutil.pid_exists(gateway.process.pid)


def test_an_error_in_the_block_ends_it_too() -> None:
    with pytest.raises(ZeroDivisionError), start_gateway() as gateway:
        raise ZeroDivisionError
    assert not is_listening(gateway.base_url)


@pytest.mark.parametrize("program", [EMBEDDING, FORKING], ids=["alone", "with another child"])
def test_it_ends_when_its_parent_is_killed(program: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        base_url, process_id = parent.stdout.readline().split()
        children = psutil.Process(parent.pid).children()
        assert is_listening(base_url)
        parent.kill()
        try:
            wait_for_end(int(process_id))
        finally:
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
    assert not is_listening(base_url)


def test_the_end_of_its_input_is_its_own_end() -> None:
    order = {"host": "127.0.0.1", "port": 0, "options": {}, "parent": os.getpid()}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "providers.rehearsal"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(order).encode() + b"\n")
        child.stdin.flush()
        base_url = json.loads(child.stdout.readline())["base_url"]
        assert is_listening(base_url)
        child.stdin.close()
        assert child.wait(PATIENCE_SECONDS) == 0
    assert not is_listening(base_url)


def test_it_can_be_killed_and_started_again_at_its_address() -> None:
    with start_gateway() as first:
        port = urlsplit(first.base_url).port or 0
        os.kill(first.process.pid, signal.SIGKILL)
        wait_for_end(first.process.pid)
        with start_gateway(port=port) as second:
            assert second.base_url == first.base_url
            assert post(second.base_url, body()).status_code == 200


def test_one_that_is_kept_comes_back_at_its_address_until_it_is_no_longer_wanted() -> None:
    def processes() -> list[psutil.Process]:
        return [
            child
            for child in psutil.Process().children()
            if child.status() != psutil.STATUS_ZOMBIE and "providers.rehearsal" in child.cmdline()
        ]

    others = set(processes())
    with keep_gateway(GatewayOptions()) as base_url:
        for _ in range(2):
            (running,) = set(processes()) - others
            running.kill()
            wait_for_end(running.pid)
            assert patiently_posted(base_url) == 200
    assert set(processes()) == others
    assert not is_listening(base_url)


def test_a_port_in_use_is_said_to_be() -> None:
    with start_gateway() as gateway:
        port = urlsplit(gateway.base_url).port or 0
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}"):
            serve("127.0.0.1", port, GatewayOptions())
        with (
            pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}"),
            start_gateway(port=port),
        ):
            pass


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org", ""])
def test_it_serves_this_machine_alone(host: str) -> None:
    with pytest.raises(InputError, match="is not a loopback address"):
        serve(host, 0, GatewayOptions())


def test_a_bad_ledger_is_said_before_anything_is_served(tmp_path: Path) -> None:
    options = GatewayOptions(ledger=tmp_path / "missing" / "ledger")
    with pytest.raises(InputError, match="cannot use its ledger"), start_gateway(options):
        pass


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_serving_process_ends_when_it_is_told_to(sent: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        assert post(base_url, body()).status_code == 200
        process.send_signal(sent)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert not is_listening(base_url)


@pytest.mark.parametrize(
    "wrong",
    [
        {"reply_delay_seconds": -1.0},
        {"chunks_per_reply": 0},
        {"output_tokens": 0},
        {"output_tokens_by_model": {"rehearsal-trader": 0}},
        {"delay": 1.0},
    ],
)
def test_options_have_their_ranges(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GatewayOptions.model_validate(wrong)
