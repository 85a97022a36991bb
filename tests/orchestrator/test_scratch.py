"""Directories that go with their process."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from orchestrator.scratch import Scratch, clear_scratch

HOLDER = """
import sys
from pathlib import Path
from orchestrator.scratch import Scratch
scratch = Scratch("books", Path(sys.argv[1]))
(scratch.path() / "company-1.db").write_text("rows")
print(scratch.path(), flush=True)
sys.stdin.read()
"""


def holder(parent: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def path_of(process: "subprocess.Popen[str]") -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_a_directory_is_private_and_goes_when_it_is_closed(tmp_path: Path) -> None:
    scratch = Scratch("books", tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing is made before it is asked for"
    with ThreadPoolExecutor(8) as threads:
        (path,) = set(threads.map(lambda _: scratch.path(), range(32)))
    assert path.parent == tmp_path
    assert path.name.startswith("books-")
    assert path.stat().st_mode & 0o077 == 0
    (path / "file").touch()
    scratch.close()
    scratch.close()
    assert list(tmp_path.iterdir()) == []
    assert scratch.path().is_dir()
    scratch.close()


def test_what_a_killed_process_left_goes_with_the_next_one_and_what_is_in_use_stays(
    tmp_path: Path,
) -> None:
    with holder(tmp_path) as dead, holder(tmp_path) as alive:
        left, used = path_of(dead), path_of(alive)
        other = tmp_path / "bookshelf-1"
        other.mkdir()
        with closing(Scratch("books", tmp_path)) as mine:
            assert {left, used, mine.path(), other} == set(tmp_path.iterdir())
            dead.send_signal(signal.SIGKILL)
            dead.wait()
            clear_scratch("books", tmp_path)
            assert {used, mine.path(), other} == set(tmp_path.iterdir())
            assert (used / "company-1.db").read_text() == "rows"
        alive.kill()


def test_one_that_somebody_removes_is_made_again_and_stays(tmp_path: Path) -> None:
    with closing(Scratch("books", tmp_path)) as scratch:
        removed = scratch.path()
        removed.rmdir()
        assert scratch.path() != removed
        removed.mkdir()
        clear_scratch("books", tmp_path)
        assert list(tmp_path.iterdir()) == [scratch.path()]


def test_one_that_is_only_being_made_is_left_until_it_is_old(tmp_path: Path) -> None:
    young, old = tmp_path / "new-books-1", tmp_path / "new-books-2"
    young.mkdir()
    old.mkdir()
    hour_ago = time.time() - 3_600
    os.utime(old, (hour_ago, hour_ago))
    clear_scratch("books", tmp_path)
    assert list(tmp_path.iterdir()) == [young]
