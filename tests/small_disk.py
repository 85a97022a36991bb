"""A small file system of its own, which can be filled up and made larger."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CannotMount(Exception):
    """This user may not mount a file system here."""


class SmallDisk:
    """A mounted file system, at a place."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def fill(self) -> Path:
        """Write until nothing more can be written, into a file that makes room when it goes."""
        filler = self.place / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                return filler

    def enlarge(self, megabytes: int) -> None:
        """Let it be so large from now on."""
        option = f"remount,size={megabytes}m"
        subprocess.run(["mount", "-o", option, str(self.place)], check=True)


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[SmallDisk]:
    """A file system of so many megabytes at a new directory. Raises CannotMount."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CannotMount("there is no mount command") from error
    if done.returncode != 0:
        raise CannotMount(done.stderr.strip())
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
