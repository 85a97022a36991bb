"""A campaign on a cluster of several nodes goes on without the command that launched it, without
its scheduler's process, without a node, be it dead or alive where nobody reaches it, and, in
another cluster, without the head node.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import resources
from pathlib import Path

import psutil
import pytest

from orchestrator.session.events import Asked
from orchestrator.status.progress import CampaignProgress, ProgressReader
from orchestrator.store import Store, open_store
from tests.chaos.harness import CAMPAIGN, Place, finished, place, undisturbed
from tests.chaos.models import (
    REHEARSAL,
    Journals,
    check_nothing_was_done_twice,
    gateway_process,
    read_journals,
    undisturbed_models,
)
from tests.chaos.nodes import Node, RayCluster, ray_cluster
from tests.patience import until
from tests.postgresql import Server

pytestmark = pytest.mark.xdist_group("nodes")

# A run takes as many tenths of a second as it has weeks.
DAYS = 1400

ASKING_DAYS = 28

REHEARSED_DAYS = 70
REHEARSED = (
    (resources.files("campaigns") / "library" / "rehearsal.toml")
    .read_text(encoding="utf-8")
    .replace("{", "{{")
    .replace("}", "}}")
    .replace('name = "rehearsal"', f'name = "{CAMPAIGN}"\nhorizon_days = {{days}}')
)


@pytest.fixture
def trial(tmp_path: Path, postgresql: Server) -> Iterator[Place]:
    location = postgresql.url(postgresql.new_database())
    with place(tmp_path, days=DAYS, location=location) as made:
        yield made


class Observer:
    """Who looks at a campaign through its store alone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reader = ProgressReader(store, CAMPAIGN)

    def progress(self) -> CampaignProgress:
        return self._reader.read()

    def scheduler(self) -> int | None:
        """The process of the campaign's scheduler."""
        owner = self.progress().owner
        return None if owner is None else process_of(owner)

    def runs_on(self, node: Node) -> set[str]:
        """The runs that are being played on a node."""
        return {
            run.planned.run_id
            for run in self.progress().runs
            if run.owner is not None and node.holds(process_of(run.owner))
        }

    def journals(self) -> Journals:
        return read_journals(self._store)

    def asking_on(self, node: Node) -> set[str]:
        """The attempts of a node's runs that have sent a request and stored no answer."""
        runs, attempts = self.runs_on(node), self.journals().attempts.items()
        asking = {name for name, events in attempts if isinstance(events[-1], Asked)}
        return {name for name in asking if name.split("/")[1] in runs}


@contextmanager
def observed(trial: Place) -> Iterator[Observer]:
    until(trial.campaign_exists)
    with open_store(trial.location) as store:
        yield Observer(store)


def process_of(owner: str) -> int:
    return int(owner.rpartition("process ")[2])


def check_audit(trial: Place) -> None:
    audited = trial.run("audit")
    assert audited.returncode == 0, audited.stdout


def test_a_campaign_on_a_cluster_outlives_its_command_and_its_scheduler(trial: Place) -> None:
    with ray_cluster(trial.temporary) as ray:
        nodes = [ray.head, ray.add()]
        place = ("--address", ray.address, "--hosts", "2")
        launch = ("launch", str(trial.file), *place)
        launched = trial.start(*launch, environment=ray.environment)
        with observed(trial) as observer:
            until(lambda: all(map(observer.runs_on, nodes)), "the hosts are not spread")
            launched.send_signal(signal.SIGINT)
            left = finished(launched)
            assert left.returncode == 130, left.stderr
            assert f"goes on in the cluster at {ray.address}" in left.stderr
            assert "ceo-arena watch trial" in left.stderr
            assert f"--address {ray.address}" in left.stderr
            assert "Traceback" not in left.stderr

            scheduler = until(observer.scheduler)
            assert scheduler is not None
            assert ray.head.holds(scheduler)
            hosts = [host for node in nodes for host in node.hosts()]
            psutil.Process(scheduler).kill()
            until(lambda: observer.scheduler() not in {None, scheduler})
            until(lambda: all(map(has_ended, hosts)), "the hosts have outlived their scheduler")

            again = trial.run(*launch, environment=ray.environment)
            assert again.returncode == 3, again.stderr
            assert "is being carried out by" in again.stderr
            assert "ceo-arena watch trial" in again.stderr

            followed = trial.start("watch")
            assert trial.run("pause", "--reason", "lunch").returncode == 0
            until(lambda: observer.progress().owner is None)
            paused = observer.progress()
            assert not paused.finished
            assert {run.state for run in paused.runs} <= {"paused", "completed"}
            assert finished(followed).returncode == 1

        resume = ("resume", *place)
        both = [trial.start(*resume, environment=ray.environment) for _ in range(2)]
        ends = sorted((finished(process) for process in both), key=lambda end: end.returncode)
        assert [end.returncode for end in ends] == [0, 3], [end.stderr for end in ends]
        assert "is being carried out by" in ends[1].stderr
        assert trial.evidence() == undisturbed(trial.file)
        check_audit(trial)


def test_a_campaign_whose_head_node_is_lost_is_left_and_goes_on_in_another_cluster(
    tmp_path: Path, postgresql: Server
) -> None:
    location = postgresql.url(postgresql.new_database())
    with place(tmp_path, days=DAYS // 2, location=location) as trial:
        with ray_cluster(trial.temporary) as ray:
            nodes = [ray.head, ray.add()]
            command = ("launch", str(trial.file), "--address", ray.address, "--hosts", "2")
            launched = trial.start(*command, environment=ray.environment)
            with observed(trial) as observer:
                until(lambda: all(map(observer.runs_on, nodes)), "the hosts are not spread")
                ray.kill_head()
                followed = trial.start("watch")
                # Nobody can tell the host of the other node to stop.
                until(lambda: not observer.runs_on(nodes[1]), "it plays on for nobody")
                assert not observer.progress().finished
            left, watched = finished(launched), finished(followed)
        assert left.returncode == 3, left.stderr
        assert f"The head node of the Ray cluster at {ray.address} has not answered" in left.stderr
        assert "ceo-arena watch trial" in left.stderr
        assert f"--address {ray.address}" in left.stderr
        assert "Traceback" not in left.stderr
        assert watched.returncode == 1, watched.stderr
        assert "ceo-arena resume trial" in watched.stderr
        with ray_cluster(trial.temporary) as ray:
            resume = ("resume", "--address", ray.address, "--hosts", "2")
            resumed = trial.run(*resume, environment=ray.environment)
            assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == undisturbed(trial.file)


def test_a_node_that_is_lost_rejoins_and_is_drained_costs_no_window(trial: Place) -> None:
    with ray_cluster(trial.temporary) as ray:
        lost = ray.add()
        command = ("launch", str(trial.file), "--address", ray.address, "--hosts", "2")
        launched = trial.start(*command, environment=ray.environment)
        with observed(trial) as observer:
            until(partial(observer.runs_on, lost), "the hosts are not spread")
            ray.remove(lost)
            joined = ray.add()
            until(partial(observer.runs_on, joined), "the node that joined plays nothing")
            drain(ray, joined)
            # Ray ends a node that is being drained as soon as nothing is left on it.
            until(partial(has_ended, joined.raylet), "the drained node has kept its hosts")
            assert not observer.progress().finished
        done = finished(launched)
        assert done.returncode == 0, done.stderr
        assert trial.evidence() == undisturbed(trial.file)
        check_audit(trial)


def test_what_a_node_does_that_others_have_given_up_changes_nothing(
    tmp_path: Path, postgresql: Server
) -> None:
    """Two owners: Ray gives the node up, its host stands still until another one plays its runs,
    and then goes on living.
    """
    location = postgresql.url(postgresql.new_database())
    with (
        place(tmp_path, REHEARSAL, ASKING_DAYS, location) as trial,
        gateway_process(tmp_path / "ledger") as gateway,
    ):
        worlds, journals, _ = undisturbed_models(trial.file, tmp_path / "undisturbed")
        with ray_cluster(trial.temporary, **gateway.environment) as ray:
            stale = ray.add()
            command = ("launch", str(trial.file), "--address", ray.address, "--hosts", "2")
            environment = ray.environment | gateway.environment
            launched = trial.start(*command, environment=environment)
            with observed(trial) as observer:
                until(partial(observer.asking_on, stale), "nobody asks there")
                with gateway.standing_still():
                    stale.raylet.suspend()
                    until(lambda: len(ray.head.hosts()) == 2, "the lost host was not replaced")
                    runs, attempts = observer.runs_on(stale), observer.asking_on(stale)
                    assert attempts
                    for host in stale.hosts():
                        host.suspend()
                    until(lambda: runs <= observer.runs_on(ray.head), "its runs were left to it")
                for host in stale.hosts():
                    host.resume()
                until(lambda: attempts <= observer.journals().late.keys(), "nothing came late")
            done = finished(launched)
        assert done.returncode == 0, done.stderr
        assert trial.evidence() == worlds
        with open_store(location) as store:
            found = read_journals(store)
        assert found.conversations() == journals.conversations()
        check_nothing_was_done_twice(found, gateway.entries())
        check_audit(trial)


def test_a_rehearsal_on_two_nodes_is_that_of_one_machine(
    tmp_path: Path, postgresql: Server
) -> None:
    """The whole matrix, 27 runs, of which the engine alone tells how they must end."""
    location = postgresql.url(postgresql.new_database())
    with (
        place(tmp_path, REHEARSED, REHEARSED_DAYS, location) as trial,
        ray_cluster(trial.temporary) as ray,
    ):
        nodes = [ray.head, ray.add()]
        command = ("launch", str(trial.file), "--address", ray.address)
        launched = trial.start(*command, environment=ray.environment)
        with observed(trial) as observer:
            until(lambda: all(map(observer.runs_on, nodes)), "the hosts are not spread")
        done = finished(launched)
        assert done.returncode == 0, done.stderr
        found = trial.evidence()
        assert len(found) == 27
        assert found == undisturbed(trial.file)
        replayed = trial.run("replay")
        assert replayed.returncode == 0, replayed.stdout


def drain(ray: RayCluster, node: Node) -> None:
    """Tell Ray that a node is about to be taken away, as its autoscaler does."""
    command = ("drain-node", "--address", ray.address, "--node-id", node.name)
    reason = ("--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "maintenance")
    subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", *command, *reason],
        env={**os.environ, **ray.environment},
        check=True,
        capture_output=True,
    )


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
