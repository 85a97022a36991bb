"""Campaigns launched, followed, paused and left: real commands on a real, private Ray."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.lifecycle import RunState
from orchestrator.store import open_store
from tests.chaos.harness import (
    CAMPAIGN,
    Place,
    descendants,
    finished,
    place,
    undisturbed,
)
from tests.chaos.nodes import ray_cluster
from tests.patience import until

pytestmark = pytest.mark.xdist_group("launches")

# Long enough that there is time to do something meanwhile.
LONG = 245


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as made:
        yield made


@pytest.fixture
def long_trial(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path, days=LONG) as made:
        yield made


def listening(process: "subprocess.Popen[str]") -> set[str]:
    """The addresses at which a command and all that it started listen."""
    found = set()
    for each in [psutil.Process(process.pid), *descendants(process)]:
        try:
            connections = each.net_connections(kind="inet")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        found |= {
            connection.laddr.ip
            for connection in connections
            if connection.status == psutil.CONN_LISTEN
        }
    return found


def test_a_campaign_is_launched_watched_and_printed(long_trial: Place) -> None:
    launched = long_trial.launch("--json")
    long_trial.wait_for_windows(1)
    with long_trial.held():
        followed = long_trial.start("watch", "--json")
        assert followed.stdout is not None
        first = followed.stdout.readline()
        addresses = listening(launched)
        started = descendants(launched)
    watched = [first, *followed.stdout]
    done = finished(launched)

    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["campaign"] == CAMPAIGN
    assert results["complete"] is True
    assert "runs completed" in done.stderr
    assert long_trial.evidence() == undisturbed(long_trial.file)

    assert finished(followed).returncode == 0
    lines = [json.loads(line) for line in watched]
    settled = [line["windows"]["settled"] for line in lines]
    assert settled == sorted(settled)
    assert len(set(settled)) > 1
    assert lines[-1]["finished"] is True

    # Ray listened on loopback alone, and nothing of it is left.
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    assert list(Path(long_trial.temporary).iterdir()) == []

    again = long_trial.run("launch", str(long_trial.file), "--json")
    assert (again.returncode, json.loads(again.stdout)) == (0, results)
    assert "starting Ray" not in again.stderr
    assert long_trial.run("replay").returncode == 0


@pytest.mark.parametrize("hosts", [1, 4])
def test_the_number_of_hosts_changes_nothing(hosts: int, trial: Place) -> None:
    done = finished(trial.launch("--hosts", str(hosts)))
    assert done.returncode == 0, done.stderr
    assert "Mean Score" in done.stdout
    assert trial.evidence() == undisturbed(trial.file)


def test_a_campaign_is_paused_and_resumed_from_another_shell(long_trial: Place) -> None:
    launched = long_trial.launch()
    long_trial.wait_for_windows(31)
    with long_trial.held():
        assert long_trial.run("pause", "--reason", "lunch").returncode == 0
        assert "is paused already: lunch" in long_trial.run("pause").stderr
    stopped = finished(launched)
    assert stopped.returncode == 1
    assert "is paused" in stopped.stderr
    assert "ceo-arena resume trial" in stopped.stderr

    paused = long_trial.progress()
    assert 30 < paused.windows < len(paused.runs) * paused.windows_per_run
    assert paused.owner is None
    assert {run.reason for run in paused.waiting} == {"lunch"}
    assert {run.owner for run in paused.runs} == {None}
    watched = long_trial.run("watch")
    assert watched.returncode == 1
    assert "is paused" in watched.stderr

    done = long_trial.run("resume", "--reason", "back")
    assert done.returncode == 0, done.stderr
    assert long_trial.evidence() == undisturbed(long_trial.file)
    with open_store(str(long_trial.store)) as store:
        acts = [(act.act, act.reason) for act in store.catalogue.acts(CAMPAIGN)]
    assert acts[1:] == [("pause", "lunch"), ("resume", "back")]


def test_of_two_who_resume_at_once_one_is_told_of_the_other(long_trial: Place) -> None:
    with long_trial.held():
        first_launch = long_trial.launch()
        long_trial.wait_for_windows(21)
        os.killpg(first_launch.pid, signal.SIGINT)
    assert finished(first_launch).returncode == 130

    with long_trial.held():
        both = [long_trial.start("resume"), long_trial.start("resume")]
        until(lambda: any(process.poll() is not None for process in both))
    ends = sorted((finished(process) for process in both), key=lambda end: end.returncode)
    assert [end.returncode for end in ends] == [0, 3], [end.stderr for end in ends]
    assert re.search(r"is being carried out by .*, process \d+", ends[1].stderr)
    assert "ceo-arena watch trial" in ends[1].stderr
    assert long_trial.evidence() == undisturbed(long_trial.file)
    assert long_trial.progress().owner is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_leaving_hurts_nothing_and_says_how_to_go_on(
    number: signal.Signals, long_trial: Place
) -> None:
    # Most runs wait for a decision until the signal is there, however slow this test is.
    with long_trial.held():
        launched = long_trial.launch("--json")
        long_trial.wait_for_windows(31)
        started = descendants(launched)
        if number is signal.SIGINT:
            # As a terminal does it: to every process of the group.
            os.killpg(launched.pid, number)
        else:
            launched.send_signal(number)
            # Ray's own handler of this signal would end the process after three seconds.
            time.sleep(4)
    left = finished(launched)
    assert left.returncode == 130, left.stderr
    assert left.stdout == ""
    assert "***" not in left.stderr, "no stack of Ray's"
    assert "Go on with: ceo-arena resume trial --store store" in left.stderr
    assert "Traceback" not in left.stderr
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]

    progress = long_trial.progress()
    assert progress.windows < len(progress.runs) * progress.windows_per_run
    # Every lease was given up, so that nobody has to wait.
    with open_store(str(long_trial.store)) as store:
        leases = [status.lease.owner for status in store.statuses(CAMPAIGN)]
        assert set(leases) == {None}
        assert store.catalogue.campaign(CAMPAIGN).lease.owner is None
    assert long_trial.run("resume").returncode == 0
    assert long_trial.evidence() == undisturbed(long_trial.file)


POLICY = """
from pathlib import Path

from engine.policies.base import Policy


class Moody(Policy):
    name = "moody"
    version = "v1"

    def decide(self, observation):
        mood = Path(__file__).with_name("mood").read_text()
        if observation.world_version == 1 and mood == "raise":
            raise RuntimeError("not today")
        if observation.world_version == 1 and mood in {"die", "freeze once"}:
            import os, signal

            if mood == "freeze once":
                Path(__file__).with_name("mood").write_text("better")
            os.kill(os.getpid(), signal.SIGKILL if mood == "die" else signal.SIGSTOP)
        return self.hold(observation)
"""

MOODY = """
name = "trial"
seeds = [11]
horizon_days = 21
baseline = "rule"
limits = {{ lease_seconds = 1 }}
candidates = [
    {{ id = "ada", seat = 1, policy = "growth" }},
    {{ id = "mo", seat = 2, policy = "moody" }},
    {{ id = "rule", policy = "rule" }},
]
# days: {days}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder in which another people's package with a policy is installed."""
    folder = tmp_path / "site"
    (folder / "moody-1.0.dist-info").mkdir(parents=True)
    (folder / "moody.py").write_text(POLICY, encoding="utf-8")
    metadata = "Metadata-Version: 2.1\nName: moody\nVersion: 1.0\n"
    (folder / "moody-1.0.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")
    entry_points = "[ceo_arena.policies]\nmoody = moody:Moody\n"
    (folder / "moody-1.0.dist-info" / "entry_points.txt").write_text(entry_points)
    return folder


@pytest.mark.parametrize(
    ("mood", "told"),
    [
        ("raise", "is stopped: company-2 (mo) at world version 1, day 7: RuntimeError: not t"),
        ("die", "is stopped: its host died 3 times in the window of day 7, the last time with no "),
    ],
)
def test_a_ceo_that_fails_costs_nothing_but_its_runs(
    mood: str, told: str, tmp_path: Path, site: Path
) -> None:
    environment = {
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
    }
    (site / "mood").write_text(mood, encoding="utf-8")
    with place(tmp_path, MOODY) as moody:
        stopped = moody.run("launch", str(moody.file), environment=environment)
        assert stopped.returncode == 1, stopped.stderr
        assert stopped.stderr.count(told) == 2, stopped.stderr
        assert "Traceback" not in stopped.stderr
        assert {
            run.planned.replaced: (run.state, run.windows) for run in moody.progress().runs
        } == {
            None: (RunState.STOPPED, 1),
            "ada": (RunState.STOPPED, 1),
            "mo": (RunState.COMPLETED, 3),
        }
        (site / "mood").write_text("better", encoding="utf-8")
        done = moody.run("resume", environment=environment)
        assert done.returncode == 0, done.stderr
        assert {(run.state, run.windows) for run in moody.progress().runs} == {
            (RunState.COMPLETED, 3)
        }


def test_a_host_that_stands_still_is_replaced(tmp_path: Path, site: Path) -> None:
    environment = {
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
    }
    (site / "mood").write_text("freeze once", encoding="utf-8")
    with place(tmp_path, MOODY) as moody:
        done = moody.run("launch", str(moody.file), environment=environment)
        assert done.returncode == 0, done.stderr
        assert (site / "mood").read_text(encoding="utf-8") == "better"
        assert {(run.state, run.windows) for run in moody.progress().runs} == {
            (RunState.COMPLETED, 3)
        }


def test_a_cluster_is_joined_and_left_as_it_was_unless_it_has_several_nodes(trial: Place) -> None:
    with ray_cluster(trial.temporary) as ray:
        launch = ("launch", str(trial.file), "--address", ray.address)
        other = ray.add()
        refused = trial.run(*launch, environment=ray.environment)
        assert refused.returncode == 2, refused.stderr
        assert "2 nodes, which cannot share it" in refused.stderr
        ray.remove(other)
        daemons = ray.daemons()
        done = trial.run(*launch, environment=ray.environment)
        assert done.returncode == 0, done.stderr
        assert trial.evidence() == undisturbed(trial.file)
        assert ray.daemons() == daemons
