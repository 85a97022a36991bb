"""A command whose output nobody reads any more ends without a trace and with a code of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

import pytest

from orchestrator.cli.main import READER_GONE
from tests.orchestrator.cli.commands import SCRIPT

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
