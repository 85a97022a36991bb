"""The clock of the machine as some processes see it, which can jump while they run."""

import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final

from orchestrator.quota.ledger import STATE_VARIABLE

HOURS: Final = 3_600

CANNOT_SHIFT: Final = sys.platform != "linux" or shutil.which("gcc") is None
"""The library knows the calls of Linux, and is compiled with gcc."""

_SOURCE: Final = Path(__file__).with_name("shifted.c")


class Clock:
    """The clock of the processes that are started with `environment`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "shift"
        library = folder / "shifted.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, _SOURCE], check=True)
        self.set(0)
        self.environment = {
            "LD_PRELOAD": str(library),
            "CLOCK_SHIFT": str(self._file),
            # Other campaigns of this machine go by its own clock.
            STATE_VARIABLE: str(folder / "state"),
        }

    def set(self, seconds: int) -> None:
        """Let it be so many seconds later than it is."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("=q", seconds))
