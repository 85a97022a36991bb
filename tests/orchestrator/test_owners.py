"""The names of lease owners, and what they prove."""

import os
import signal
import subprocess
import sys

import pytest

from orchestrator.owners import has_ended, is_alive, own_name, shown

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the proof needs /proc")
NAMER = "import sys; from orchestrator.owners import own_name; print(own_name(), flush=True); "


def other_process(then: str) -> "tuple[subprocess.Popen[str], str]":
    process = subprocess.Popen(
        [sys.executable, "-c", NAMER + then], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().rstrip("\n")


def test_a_name_says_who_and_where() -> None:
    assert f"process {os.getpid()}" in own_name()
    assert own_name() == own_name()
    assert shown(own_name()).endswith(f"process {os.getpid()}")
    assert shown("somebody") == "somebody"


@LINUX
def test_a_living_process_is_known_to_live() -> None:
    assert is_alive(own_name())
    assert not has_ended(own_name())
    process, name = other_process("sys.stdin.read()")
    with process:
        assert is_alive(name)
        process.send_signal(signal.SIGSTOP)
        assert is_alive(name)
        assert not has_ended(name)
        process.kill()
    assert has_ended(name)
    assert not is_alive(name)


@LINUX
def test_a_dead_process_that_nobody_has_buried_has_ended() -> None:
    process, name = other_process("")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended(name)
    process.communicate()
    assert has_ended(name)


@LINUX
def test_another_process_with_the_same_number_is_not_the_owner() -> None:
    head, _, started = own_name().rpartition(".")
    reborn = f"{head}.{int(started.rstrip(']')) - 1}]"
    assert has_ended(reborn)


@pytest.mark.parametrize(
    "name",
    [
        "host-1",
        "a test",
        "ana@laptop, process 4711",
        # Another machine, or this one before its last boot.
        f"ana@laptop, process {2**22 + 1} [000000000000.1]",
    ],
)
def test_nothing_is_known_of_others(name: str) -> None:
    assert not has_ended(name)
    assert not is_alive(name)
