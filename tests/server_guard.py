"""Ends the database server in a directory, and removes both, when its tests are gone: however they
went, and SIGKILL lets nobody clean up.

Run as a program with the directory; the tests hold the other end of its standard input.
"""

import shutil
import signal
import sys
from contextlib import suppress

import psutil

_PATIENCE_SECONDS = 60.0


def main(directory: str) -> None:
    sys.stdin.buffer.read()
    left = [process for process in psutil.process_iter() if _is_of(process, directory)]
    for process in left:
        # An immediate shutdown, which ends the processes of its connections as well.
        with suppress(psutil.Error):
            process.send_signal(signal.SIGQUIT)
    psutil.wait_procs(left, _PATIENCE_SECONDS)
    shutil.rmtree(directory, ignore_errors=True)


def _is_of(process: psutil.Process, directory: str) -> bool:
    with suppress(psutil.Error):
        return f"{directory}/data" in process.cmdline()
    return False


if __name__ == "__main__":
    main(sys.argv[1])
