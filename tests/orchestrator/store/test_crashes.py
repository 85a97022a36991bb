"""SIGKILL before and after every commit there is, and a connection lost before each: the store goes
on as if nothing had happened.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from orchestrator.store import CommitPoint
from tests.postgresql import Server

ROOT = Path(__file__).parents[3]

# A store is copied from one kind of database to the other: test_copying.py has that.
BETWEEN = {CommitPoint.COPY_STORE}
OF_FILES = {CommitPoint.NOTE_FILE, CommitPoint.RENEW_COPY, CommitPoint.RELEASE_COPY}


def deaths(*places: str | Path) -> dict[str, Any]:
    """What becomes of stores at a place whose processes die."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.orchestrator.store.crash_points", *map(str, places)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["faults"] == [], done.stderr
    assert found["tables"] > 20
    return found


def test_a_store_in_files_survives_a_kill_at_every_commit_point(tmp_path: Path) -> None:
    assert set(deaths(tmp_path)["points"]) == set(CommitPoint) - BETWEEN


def test_a_store_on_a_server_survives_a_kill_and_a_lost_connection_at_every_commit_point(
    tmp_path: Path, postgresql: Server
) -> None:
    places = [postgresql.url(postgresql.new_database()) for _ in range(2)]
    found = deaths(tmp_path, *places)
    assert set(found["points"]) == set(CommitPoint) - BETWEEN - OF_FILES
