"""The first signal is an exception; the second ends the process with all that it started."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from orchestrator.cli.interruption import INTERRUPTED, Interruption, interruptible

STUBBORN = """
import subprocess, sys, time
from orchestrator.cli.interruption import interruptible

with interruptible():
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL
    )
    try:
        print(child.pid, flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        print("once", flush=True)
    time.sleep(600)
"""


def wait_for_own(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_interrupts_and_the_handlers_come_back(number: signal.Signals) -> None:
    # A shell that starts the tests in its background lets them ignore ctrl-C.
    inherited = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            wait_for_own(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, inherited)


def test_the_second_signal_ends_the_process_and_its_children() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "once\n"
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == INTERRUPTED
    _, alive = psutil.wait_procs([child], timeout=10)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_deferred_signal_strikes_at_the_end_of_the_block() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt), interruptible() as interruption:
        defer_own(interruption, reached)
    assert reached == ["end"]


def defer_own(interruption: Interruption, reached: list[str]) -> None:
    with interruption.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        reached.append("end")
