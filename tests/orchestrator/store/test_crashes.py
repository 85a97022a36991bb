"""SIGKILL before and after every commit there is: the store goes on as if nothing had happened."""

import json
import subprocess
import sys
from pathlib import Path

from orchestrator.store import CommitPoint

ROOT = Path(__file__).parents[3]


def test_a_store_survives_a_kill_at_every_commit_point(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.orchestrator.store.crash_points", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == {}, done.stderr
    assert set(found["points"]) == set(CommitPoint) - {CommitPoint.COPY_STORE}
    assert found["tables"] > 20
