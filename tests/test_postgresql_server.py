"""The server of the tests themselves."""

import subprocess
import sys
from pathlib import Path

import psutil

from tests.patience import until
from tests.postgresql import Server

ROOT = Path(__file__).parent.parent

PROGRAM = """
import time
from tests.postgresql import running_server
with running_server() as server:
    print(server.directory, *(process.pid for process in server.processes()), flush=True)
    time.sleep(600)
"""


def test_a_server_goes_with_the_tests_that_were_killed(postgresql: Server) -> None:
    # The server of other tests is one that must stay.
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        directory, *pids = tests.stdout.readline().split()
        assert Path(directory, "data").is_dir()
        tests.kill()
    until(lambda: not Path(directory).exists())
    assert not any(map(psutil.pid_exists, map(int, pids)))
    assert postgresql.execute("SELECT 1") == [(1,)]
