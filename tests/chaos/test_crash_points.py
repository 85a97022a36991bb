"""A campaign whose processes die before and after every commit, each place once."""

import os
from pathlib import Path

import pytest

from orchestrator.store import CommitPoint, open_store
from tests.chaos.harness import SEARCH, place, undisturbed
from tests.orchestrator.store.samples import rewind

INJECTED = Path(__file__).parent / "injected"
DAYS = 420
MOST_COMMANDS = 40
ONE = ("--hosts", "1")

# What this campaign does not commit: tests/orchestrator/store/test_crashes.py has these, and
# tests/orchestrator/session/test_crash_points.py those of a model's journal.
ELSEWHERE = {
    *(CommitPoint.APPEND_EVENT, CommitPoint.BEAT, CommitPoint.KEEP_LATE_REPLY),
    *(CommitPoint.PAUSE_ROUTE, CommitPoint.RESOLVE_ROUTES, CommitPoint.SET_CAP),
    *(CommitPoint.SET_ASIDE, CommitPoint.SETTLE_SPENDING),
    *(CommitPoint.CREATE_DATABASE, CommitPoint.SET_HOLD, CommitPoint.RECORD_FAILURE),
    *(CommitPoint.EXTEND_CAMPAIGN, CommitPoint.RENEW_COPY),
    *(CommitPoint.COPY_STORE, CommitPoint.RELEASE_COPY),
}


@pytest.mark.xdist_group("kills")
@pytest.mark.timeout(280)
def test_a_campaign_survives_a_death_before_and_after_every_commit(tmp_path: Path) -> None:
    points = tmp_path / "points"
    points.mkdir()
    for point in set(CommitPoint) - ELSEWHERE:
        for when in ("before", "after"):
            (points / f"{point}.{when}").touch()
    environment = {
        "CRASH_POINTS": str(points),
        "PYTHONPATH": os.pathsep.join([str(INJECTED), os.environ.get("PYTHONPATH", "")]),
    }
    with place(tmp_path, SEARCH, DAYS) as trial:
        # An older store, so that it has to be upgraded.
        open_store(str(trial.store), create=True).close()
        rewind(trial.store / "catalogue.db")
        done = trial.run("launch", str(trial.file), *ONE, environment=environment)
        commands = 1
        while done.returncode != 0:
            assert commands < MOST_COMMANDS, f"it does not come to an end: {done.stderr}"
            created = (points / "create campaign.after-hit").exists()
            command = ("resume", *ONE) if created else ("launch", str(trial.file), *ONE)
            done = trial.run(*command, environment=environment)
            commands += 1
        not_hit = [path.name for path in points.iterdir() if not path.name.endswith("-hit")]
        assert not_hit == [], not_hit
        assert trial.evidence() == undisturbed(trial.file)
        assert trial.run("replay").returncode == 0
