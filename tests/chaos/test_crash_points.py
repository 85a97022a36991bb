"""A campaign whose processes die before and after every commit, each place once."""

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from campaigns.definition import load_definition
from campaigns.plan import plan
from orchestrator.binding import frozen
from orchestrator.store import CommitPoint, open_store
from tests.chaos.harness import SEARCH, place, undisturbed
from tests.chaos.models import (
    REHEARSAL,
    check_nothing_was_done_twice,
    gateway_process,
    play_on,
    playing,
    read_journals,
    undisturbed_models,
)
from tests.orchestrator.store.samples import rewind
from tests.postgresql import running_server

INJECTED = Path(__file__).parent / "injected"
DAYS = 420
DAYS_OF_MODELS = 28
# A lease is renewed and a heart beats in thirds of its time: a play is to have many of these.
OFTEN = REHEARSAL.replace("lease_seconds = 3", "lease_seconds = 1")
MOST_COMMANDS = 40
ONE = ("--hosts", "1")

# What this campaign does not commit: tests/orchestrator/store/test_crashes.py has these, and
# tests/orchestrator/session/test_crash_points.py those of a model's journal.
ELSEWHERE = {
    *(CommitPoint.APPEND_EVENT, CommitPoint.BEAT, CommitPoint.KEEP_LATE_REPLY),
    *(CommitPoint.PAUSE_ROUTE, CommitPoint.RESOLVE_ROUTES, CommitPoint.SET_CAP),
    *(CommitPoint.SET_ASIDE, CommitPoint.HOLD_SET_ASIDE, CommitPoint.SETTLE_SPENDING),
    *(CommitPoint.CREATE_DATABASE, CommitPoint.SET_HOLD, CommitPoint.RECORD_FAILURE),
    *(CommitPoint.EXTEND_CAMPAIGN, CommitPoint.RENEW_COPY),
    *(CommitPoint.COPY_STORE, CommitPoint.RELEASE_COPY),
}


# What models commit that play without a scheduler.
OF_MODELS = {
    *(CommitPoint.CREATE_RUN, CommitPoint.ACQUIRE_RUN, CommitPoint.RENEW_RUN),
    *(CommitPoint.RELEASE_RUN, CommitPoint.SET_STATUS, CommitPoint.BEGIN_RUN),
    *(CommitPoint.APPEND_EVENT, CommitPoint.BEAT),
    *(CommitPoint.COMMIT_WINDOW, CommitPoint.COMPLETE_RUN),
}


def armed(points: Path, kinds: Collection[CommitPoint]) -> dict[str, str]:
    """The environment of processes that die at these kinds of commit."""
    points.mkdir()
    for point in kinds:
        for when in ("before", "after"):
            (points / f"{point}.{when}").touch()
    paths = [str(INJECTED), os.environ.get("PYTHONPATH", "")]
    return {"CRASH_POINTS": str(points), "PYTHONPATH": os.pathsep.join(paths)}


def not_hit(points: Path) -> list[str]:
    return [path.name for path in points.iterdir() if not path.name.endswith("-hit")]


@pytest.mark.xdist_group("kills")
@pytest.mark.timeout(280)
def test_a_campaign_survives_a_death_before_and_after_every_commit(tmp_path: Path) -> None:
    points = tmp_path / "points"
    environment = armed(points, set(CommitPoint) - ELSEWHERE)
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
        assert not_hit(points) == []
        assert trial.evidence() == undisturbed(trial.file)
        assert trial.run("replay").returncode == 0


@pytest.mark.timeout(280)
def test_models_on_a_server_survive_a_death_before_and_after_every_commit(tmp_path: Path) -> None:
    points = tmp_path / "points"
    environment = armed(points, OF_MODELS)
    with (
        running_server() as server,
        place(tmp_path, OFTEN, DAYS_OF_MODELS, server.url(server.new_database())) as trial,
        gateway_process(tmp_path / "ledger") as gateway,
    ):
        worlds, journals, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        planned = plan(load_definition(trial.file))
        with open_store(trial.location, create=True) as store:
            store.catalogue.create_campaign(frozen(planned), planned.runs)
        with playing(trial, gateway, environment, play_on) as process:
            assert process.wait(timeout=240) == 0
        assert not_hit(points) == []
        assert trial.evidence() == worlds
        with open_store(trial.location) as store:
            found = read_journals(store)
        assert found.conversations() == journals.conversations()
        check_nothing_was_done_twice(found, gateway.entries())
