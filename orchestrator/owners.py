"""Who holds a lease: a name for one process in one life, and proof whether it has ended.

A successor may always wait until a lease expires. Where the name proves that its process is gone,
it need not: the name holds a mark of the machine's boot and process namespace, the process id and
the moment at which the process started. The proof only saves time; what keeps a stale owner out is
the epoch of its lease.
"""

import getpass
import hashlib
import os
import re
import socket
from functools import cache
from pathlib import Path
from typing import Final

_MARK: Final = re.compile(r" \[(?P<machine>[0-9a-f]{12})\.(?P<started>\d+)\]$")
_PROCESS: Final = re.compile(r", process (?P<process>\d+) \[")

# The field of /proc/<pid>/stat that holds the start time, counted after the command's name.
_STARTED: Final = 19


def own_name() -> str:
    """The name of this process, such as `ana@laptop, process 4711 [3f2a9c01d4e5.123456]`."""
    process = os.getpid()
    name = f"{_user()}@{socket.gethostname()}, process {process}"
    machine, started = _machine(), _start_of(process)
    return name if machine is None or started is None else f"{name} [{machine}.{started}]"


def shown(owner: str) -> str:
    """An owner's name for people: without the mark that proves its end."""
    return _MARK.sub("", owner)


def left_behind(owner: str) -> str:
    """What can be said of an owner whose lease was not given up, and that nobody hears from."""
    return f"{shown(owner)} left it without a word: it was killed, stood still, or could not write."


def has_ended(owner: str) -> bool:
    """Whether the process that bore this name is known to be gone; False when it may live."""
    return _lives(owner) is False


def is_alive(owner: str) -> bool:
    """Whether the process that bears this name is known to live; False when it may have ended."""
    return _lives(owner) is True


def _lives(owner: str) -> bool | None:
    mark, named = _MARK.search(owner), _PROCESS.search(owner)
    if mark is None or named is None or mark["machine"] != _machine():
        return None
    process = int(named["process"])
    started = _start_of(process)
    if started is None:
        return None if _exists(process) else False
    return started == int(mark["started"])


@cache
def _machine() -> str | None:
    """A mark of this boot of this machine and of the process ids that this process can see."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return None
    return hashlib.sha256(f"{boot}|{namespace}".encode()).hexdigest()[:12]


def _start_of(process: int) -> int | None:
    """When a process started, in ticks since the boot; 0 of a dead one, None of an unseen one."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name stands in parentheses and may itself contain some.
    state, *fields = status.rpartition(")")[2].split()
    return 0 if state in {"Z", "X"} else int(fields[_STARTED - 1])


def _exists(process: int) -> bool:
    # Asks the kernel, which knows also the processes that a hardened /proc hides from other users.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
