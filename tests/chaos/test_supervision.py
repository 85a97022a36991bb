"""Failures on purpose in a campaign of models: fresh attempts by themselves where they may be, a
person where one is needed, and the same end as if nothing had happened.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.store import AttemptStore, RunKey, SessionStore, open_store
from tests.chaos.harness import CAMPAIGN, Place, finished, place
from tests.chaos.models import DAYS, REHEARSAL, undisturbed_models

pytestmark = pytest.mark.xdist_group("supervision")

RUNS: Final = ("trial-s11-reference", "trial-s29-reference")

# In the second window, the second company's request is rejected until its attempt ends, and the
# third company's key is refused.
FAULTS: Final = """
[[faults]]
fault = "refuse"
status = 400
windows = [{ day = 7, seat = 2 }]
replies = [2]
times = 3

[[faults]]
fault = "refuse"
status = 401
windows = [{ day = 7, seat = 3 }]
replies = [1]
"""


def asked(trial: Place, *command: str) -> Any:
    """What a command answers as JSON."""
    done = trial.run(*command, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def journal(trial: Place, run_id: str, seat: int, attempt: int = 0) -> list[bytes]:
    with open_store(str(trial.store)) as store:
        sessions = SessionStore(store.run(RunKey(CAMPAIGN, run_id)))
        key = next(
            key
            for key in sessions.attempts()
            if (key.version, key.seat, key.attempt) == (1, seat, attempt)
        )
        return sessions.events(key)


def test_failures_stop_a_run_and_people_and_the_supervisor_bring_it_to_its_end(
    tmp_path: Path,
) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text(FAULTS, encoding="utf-8")
    with place(tmp_path, REHEARSAL, DAYS) as trial:
        worlds, _, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        launched = finished(trial.launch("--hosts", "1", "--faults", str(faults)))
        assert launched.returncode == 1, launched.stderr

        # The run drained: the first company kept its seal, and the run waits for a person.
        first = {run_id: journal(trial, run_id, 1) for run_id in RUNS}
        answers = asked(trial, "why")["answers"]
        waiting = {each["subject"]: each["waits_for"] for each in answers}
        assert {waiting[f"run {run_id}"] for run_id in RUNS} == {"person"}
        matrix = asked(trial, "status", "--runs")["campaigns"][0]["matrix"]
        assert {run["state"] for run in matrix} == {"stopped"}

        found = asked(trial, "retry", "--dry-run")["windows"]
        by_seat = {(row["run"], row["seat"]): row for row in found}
        for run_id in RUNS:
            assert not by_seat[run_id, 1]["eligible"]
            assert by_seat[run_id, 1]["reason"] == "it is sealed"
            assert by_seat[run_id, 2]["reason"] == "it has not begun"
            assert by_seat[run_id, 3]["eligible"]
            assert "401" in by_seat[run_id, 3]["reason"]
        with open_store(str(trial.store)) as store:
            assert store.catalogue.acts(CAMPAIGN)[-1].act == "create", "a dry run changes nothing"

        one = ("retry", "--run", RUNS[0], "--seat", "3", "--reason", "new key")
        assert asked(trial, *one)["windows"][0]["attempt"] == 1
        assert not asked(trial, *one)["windows"][0]["eligible"], "doing it twice does no harm"
        matrix = asked(trial, "status", "--runs")["campaigns"][0]["matrix"]
        assert [run["state"] for run in matrix] == ["queued", "stopped"]

        resumed = trial.run("resume", "--hosts", "1", "--reason", "new key")
        assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == worlds
        assert {run_id: journal(trial, run_id, 1) for run_id in RUNS} == first
        check_history(trial)
        check_usage(asked(trial, "results"))
        assert trial.run("replay").returncode == 0


def check_history(trial: Place) -> None:
    history = asked(trial, "failures")["history"]
    for run_id in RUNS:
        own = [entry for entry in history if entry["run"] == run_id]
        failed = sorted(
            (entry["seat"], entry["cause"], entry["followed_by"].partition(":")[0])
            for entry in own
            if entry["kind"] == "failure"
        )
        assert failed == [
            (2, "bad_request", "fresh attempt 1"),
            (3, "refused", "waits for a person"),
        ]
        assert [entry["kind"] for entry in own if entry["kind"] == "stopped"] == ["stopped"]
    with open_store(str(trial.store)) as store:
        granted = {
            run_id: [
                (fresh.key.seat, fresh.key.attempt, fresh.granted_by == "supervisor")
                for fresh in AttemptStore(store.run(RunKey(CAMPAIGN, run_id))).fresh()
            ]
            for run_id in RUNS
        }
    # Where a person only resumed, the refused attempt went on as it was.
    assert granted == {RUNS[0]: [(2, 1, True), (3, 1, False)], RUNS[1]: [(2, 1, True)]}


def check_usage(results: dict[str, Any]) -> None:
    """Usage of failed attempts is apart from that of settled ones."""
    workload = {row["candidate"]: row for row in results["workload"]["candidates"]}
    health = {row["candidate"]: row for row in results["decision_health"]["candidates"]}
    assert workload["diarist"]["apart"]["replies"] >= 2
    assert workload["gambler"]["apart"]["replies"] == 0
    assert health["diarist"]["fresh_attempts"] == 2
    assert health["apprentice"]["fresh_attempts"] == 1
    for row in health.values():
        assert row["sealed"] == row["active"] == 4
