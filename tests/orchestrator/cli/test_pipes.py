"""A command whose output nobody reads any more ends without a trace and with a code of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from manifests.errors import StoreError
from orchestrator.cli.main import READER_GONE
from tests.orchestrator.cli.commands import SCRIPT

FULL = Path("/dev/full")
PRINTING = [
    ["campaigns"],
    ["plan", "rehearsal", "--runs"],
    ["tables", "--json"],
    ["scenario", "show"],
    ["launch", "--help"],
    ["--version"],
]
REFUSING = [["plan", "nowhere"], ["plan"], ["no-command"]]


@pytest.fixture
def unread() -> Iterator[IO[bytes]]:
    """A pipe that nobody reads."""
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb", buffering=0) as pipe:
        yield pipe


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_data_that_nobody_reads(arguments: list[str], unread: IO[bytes]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdout=unread,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (READER_GONE, b"")


@pytest.mark.parametrize("arguments", REFUSING, ids=" ".join)
def test_a_refusal_that_nobody_reads(arguments: list[str], unread: IO[bytes]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdout=subprocess.PIPE,
        stderr=unread,
        check=False,
    )
    assert (done.returncode, done.stdout) == (READER_GONE, b"")


@pytest.mark.skipif(not FULL.exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_output_that_finds_no_room(arguments: list[str]) -> None:
    with FULL.open("wb", buffering=0) as full:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == StoreError.exit_code
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
