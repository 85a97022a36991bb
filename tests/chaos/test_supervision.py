"""Failures on purpose in a campaign of models: fresh attempts by themselves where they may be, a
person where one is needed, and the same end as if nothing had happened.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.retrying import Retrying, Which
from orchestrator.store import AttemptKey, AttemptStore, RunKey, SessionStore, open_store
from tests.chaos.harness import CAMPAIGN, Place, finished, place
from tests.chaos.models import DAYS, REHEARSAL, undisturbed_models
from tests.patience import until

pytestmark = pytest.mark.xdist_group("supervision")

RUN: Final = "trial-s11-reference"
ONE_RUN: Final = REHEARSAL.replace("[11, 29]", "[11]")

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


def journal(trial: Place, seat: int) -> list[bytes]:
    """The events of the original attempt of a company in the second window."""
    with open_store(str(trial.store)) as store:
        return SessionStore(store.run(RunKey(CAMPAIGN, RUN))).events(AttemptKey(1, seat, 0))


def test_a_run_drains_stops_and_is_brought_to_the_same_end(tmp_path: Path) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text(FAULTS, encoding="utf-8")
    with place(tmp_path, ONE_RUN, DAYS) as trial:
        worlds, _, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        launched = finished(trial.launch("--hosts", "1", "--faults", str(faults)))
        assert launched.returncode == 1, launched.stderr

        # The run drained: the first company kept its seal, and the run waits for a person.
        before = {seat: journal(trial, seat) for seat in (1, 2, 3)}
        answers = {each["subject"]: each for each in asked(trial, "why")["answers"]}
        assert answers[f"run {RUN}"]["waits_for"] == "person"
        assert answers["route of apprentice"]["waits_for"] == "person"
        assert [run.state for run in trial.progress().runs] == ["stopped"]

        rows = {row["seat"]: row for row in asked(trial, "retry", "--dry-run")["windows"]}
        assert [rows[seat]["attempt"] for seat in (1, 2, 3)] == [None, 1, 1]
        assert [rows[seat]["eligible"] for seat in (1, 3)] == [False, True]
        assert rows[1]["reason"] == "it is sealed"
        assert rows[2]["reason"].startswith("its fresh attempt 1")
        assert "401" in rows[3]["reason"]

        one = ("retry", "--run", RUN, "--seat", "3", "--reason", "a new key")
        assert [row["attempt"] for row in asked(trial, *one)["windows"]] == [1]
        assert not asked(trial, *one)["windows"][0]["eligible"], "doing it twice does no harm"
        assert [run.state for run in trial.progress().runs] == ["queued"]

        resumed = trial.run("resume", "--hosts", "1")
        assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == worlds
        assert {seat: journal(trial, seat) for seat in (1, 2, 3)} == before
        check_history(trial)
        archived = asked(trial, "show", RUN, "7", "2", "--attempt", "0")
        assert (archived["attempt"], archived["decision"]) == (0, None)
        assert "Rejected 3 times" in archived["events"][-1]["reason"]
        check_usage(asked(trial, "results"))
        assert trial.run("replay").returncode == 0


def test_a_run_waits_in_the_queue_for_its_fresh_attempt_and_needs_nobody(tmp_path: Path) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text(FAULTS.rpartition("[[faults]]")[0], encoding="utf-8")
    with place(tmp_path, ONE_RUN, DAYS) as trial:
        worlds, _, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        launched = trial.launch("--hosts", "1", "--faults", str(faults))
        until(trial.campaign_exists)
        until(lambda: any(run.barrier for run in trial.progress().runs if run.state == "queued"))
        (told,) = asked(trial, "why", "--run", RUN)["answers"]
        assert told["waits_for"] == "back-off" or told["state"] != "queued"
        ended = finished(launched)
        assert ended.returncode == 0, ended.stderr
        assert trial.evidence() == worlds
        history = {
            entry["kind"]: datetime.fromisoformat(entry["at"])
            for entry in asked(trial, "failures")["history"]
            if entry["seat"] is None
        }
        # The last of each kind: by the clock of the database, and never sooner.
        waited = history["running"] - history["queued"]
        assert waited.total_seconds() > 8


def test_a_person_shortens_the_wait_for_a_fresh_attempt(tmp_path: Path) -> None:
    """The third waits 300 seconds, and the ones before it as long as nobody hastens them either."""
    faults = tmp_path / "faults.toml"
    often = FAULTS.rpartition("[[faults]]")[0].replace("times = 3", "times = 9")
    faults.write_text(often, encoding="utf-8")
    with place(tmp_path, ONE_RUN, DAYS) as trial:
        worlds, _, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        launched = trial.launch("--hosts", "1", "--faults", str(faults))
        until(trial.campaign_exists)
        with open_store(str(trial.store)) as store:
            retrying = Retrying(store, CAMPAIGN)

            def third_waits() -> bool:
                rows = retrying.retry(Which(seat=2), "", dry_run=True)
                waiting = [row.attempt for row in rows if row.eligible]
                if waiting in ([1], [2]):
                    retrying.retry(Which(seat=2), "up again", dry_run=False)
                return waiting == [3]

            until(third_waits)
            (told,) = asked(trial, "why", "--run", RUN)["answers"]
            assert (told["state"], told["waits_for"]) == ("queued", "back-off")
            assert "`ceo-arena retry` begins it at once" in told["reason"]
            retried = asked(trial, "retry", "--run", RUN, "--reason", "up again")["windows"]
            assert [row["seat"] for row in retried if row["eligible"]] == [2]
            ended = finished(launched)
            assert ended.returncode == 0, ended.stderr
            run = store.run(RunKey(CAMPAIGN, RUN))
            *_, third = AttemptStore(run).fresh()
            assert (third.key.attempt, third.granted_by) == (3, "supervisor")
            *_, began = (each.at for each in run.transitions() if each.status == "running")
            assert began < third.due_at
        assert trial.evidence() == worlds


def check_history(trial: Place) -> None:
    """Every failure is there, what followed it, and who did it."""
    history = asked(trial, "failures")["history"]
    failed = {
        (entry["seat"], entry["attempt"], entry["cause"], entry["followed_by"].partition(":")[0])
        for entry in history
        if entry["kind"] == "failure"
    }
    assert failed == {
        (2, 0, "bad_request", "fresh attempt 1"),
        (3, 0, "refused", "waits for a person"),
    }
    states = [entry["kind"] for entry in history if entry["run"] and entry["seat"] is None]
    assert states == ["queued", "running", "stopped", "queued", "running"]
    with open_store(str(trial.store)) as store:
        run = store.run(RunKey(CAMPAIGN, RUN))
        granted = {
            (fresh.key.seat, fresh.key.attempt, fresh.granted_by == "supervisor")
            for fresh in AttemptStore(run).fresh()
        }
    assert granted == {(2, 1, True), (3, 1, False)}
    acts = [(entry["kind"], entry["reason"]) for entry in history if entry["target"]]
    assert acts == [("create", ""), ("retry", "a new key"), ("resume", "")]


def check_usage(results: dict[str, Any]) -> None:
    """Usage of failed attempts is apart from that of settled ones."""
    workload = {row["candidate"]: row for row in results["workload"]["candidates"]}
    health = {row["candidate"]: row for row in results["decision_health"]["candidates"]}
    assert workload["diarist"]["apart"]["replies"] > 0
    assert workload["gambler"]["apart"]["replies"] == 0
    fresh = {name: row["fresh_attempts"] for name, row in health.items()}
    assert fresh == {"gambler": 0, "diarist": 1, "apprentice": 1}
    assert all(row["sealed"] == row["active"] == 2 for row in health.values())
