"""A campaign of models in a storm: its processes, its gateway and its database die or stand still,
and whoever finds it ended resumes it, until it has come to its end.

    python -m tests.chaos.storm [SEED] [ROUNDS]

Plays one campaign after the other, each with troubles and moments drawn from a seed that it prints,
until it is interrupted or something differs from the campaign without a trouble.
"""

import itertools
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import psutil

from orchestrator.scratch import clear_scratch
from orchestrator.store import open_store
from tests.chaos.harness import CAMPAIGN, Evidence, Place, descendants, finished, kill_all, place
from tests.chaos.models import (
    DAYS,
    REHEARSAL,
    GatewayProcess,
    Journals,
    check_nothing_was_done_twice,
    gateway_process,
    read_journals,
    undisturbed_models,
)
from tests.patience import until
from tests.postgresql import Server, running_server

STILL_SECONDS: Final = 4.0
"""How long something stands still: longer than a lease lasts."""

ENDS: Final = (0, 1, 3, 130, -signal.SIGKILL)
"""How a command may end in a storm; whatever else it says is no refusal but a defect."""

MOST_COMMANDS: Final = 40
HOSTS: Final = ("--hosts", "2")


@dataclass
class Scene:
    """A campaign at work, with all that it needs."""

    trial: Place
    gateway: GatewayProcess
    server: Server | None
    running: "subprocess.Popen[str]"
    commands: int = 1

    def requests(self) -> int:
        return sum(entry.event == "asked" for entry in self.gateway.entries())

    def go_on(self) -> bool:
        """Resume the campaign if its command has ended before its end; False when it is over."""
        if self.running.poll() is None:
            return True
        ended = finished(self.running)
        assert ended.returncode in ENDS, ended.stderr
        assert "Traceback" not in ended.stderr, ended.stderr
        if ended.returncode == 0:
            return False
        self.commands += 1
        assert self.commands < MOST_COMMANDS, f"it does not come to an end: {ended.stderr}"
        self.running = self.trial.start("resume", *HOSTS, environment=self.gateway.environment)
        return True

    def reach(self, moment: int) -> None:
        """Wait until so many requests were made and somebody is at work, or the campaign is over;
        whenever its command ends before, it is resumed.
        """

        def met() -> bool:
            if self.running.poll() is not None:
                return True
            return self.requests() >= moment and bool(self.trial.owners())

        while True:
            until(met, f"it did not get to {moment} requests")
            if self.running.poll() is None or not self.go_on():
                return

    def processes(self, name: str) -> list[psutil.Process]:
        """The processes of the command whose names or titles contain this."""
        found = []
        for process in descendants(self.running) if self.running.poll() is None else []:
            try:
                title = " ".join(process.cmdline()[:1])
                if name in process.name() or name in title:
                    found.append(process)
            except psutil.NoSuchProcess:
                continue
        return found

    def hosts(self) -> list[psutil.Process]:
        return [psutil.Process(owner) for owner in self.trial.owners() if psutil.pid_exists(owner)]


Trouble = Callable[[Scene], None]


def _killed(found: Sequence[psutil.Process]) -> None:
    for process in found:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def _still(found: Sequence[psutil.Process]) -> None:
    for process in found:
        try:
            process.suspend()
        except psutil.NoSuchProcess:
            continue
    time.sleep(STILL_SECONDS)
    for process in found:
        try:
            process.resume()
        except psutil.NoSuchProcess:
            continue


def kill_a_host(scene: Scene) -> None:
    _killed(scene.hosts()[:1])


def kill_the_scheduler(scene: Scene) -> None:
    _killed(scene.processes("Carrier"))


def kill_the_raylet(scene: Scene) -> None:
    _killed(scene.processes("raylet"))


def kill_the_driver(scene: Scene) -> None:
    scene.running.kill()


def kill_all_but_the_gateway(scene: Scene) -> None:
    if scene.running.poll() is None:
        kill_all(scene.running)


def kill_the_gateway(scene: Scene) -> None:
    scene.gateway.kill()
    scene.gateway.start()


def leave(scene: Scene) -> None:
    scene.running.send_signal(signal.SIGTERM)


def stop_the_hosts(scene: Scene) -> None:
    _still(scene.hosts())


def stop_the_scheduler(scene: Scene) -> None:
    _still(scene.processes("Carrier"))


def stop_the_raylet(scene: Scene) -> None:
    _still(scene.processes("raylet"))


def stop_the_driver(scene: Scene) -> None:
    if scene.running.poll() is None:
        _still([psutil.Process(scene.running.pid)])


def kill_the_server(scene: Scene) -> None:
    assert scene.server is not None
    scene.server.kill()
    scene.server.start()


def stop_the_server(scene: Scene) -> None:
    assert scene.server is not None
    _still(scene.server.processes())


def cut_the_connections(scene: Scene) -> None:
    assert scene.server is not None
    scene.server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'ceo-arena'"
    )


EVERYWHERE: Final[tuple[Trouble, ...]] = (
    *(kill_a_host, kill_the_scheduler, kill_the_raylet, kill_the_driver),
    *(kill_all_but_the_gateway, kill_the_gateway, leave),
    *(stop_the_hosts, stop_the_scheduler, stop_the_raylet, stop_the_driver),
)
ON_A_SERVER: Final[tuple[Trouble, ...]] = (kill_the_server, stop_the_server, cut_the_connections)


@dataclass(frozen=True)
class Calm:
    """What the campaign leaves when nothing goes wrong, and how many requests it takes."""

    worlds: dict[str, Evidence]
    journals: Journals
    requests: int


@contextmanager
def campaign(folder: Path, server: Server | None, days: int = DAYS) -> Iterator[tuple[Scene, Calm]]:
    """A campaign that has just been launched, on files or on a server."""
    location = None if server is None else server.url(server.new_database())
    with (
        place(folder, REHEARSAL, days, location) as trial,
        gateway_process(folder / "ledger") as gateway,
    ):
        calm = Calm(*undisturbed_models(trial.file, folder / "undisturbed"))
        command = ("launch", str(trial.file), *HOSTS)
        running = trial.start(*command, environment=gateway.environment)
        yield Scene(trial, gateway, server, running), calm


def weather(
    scene: Scene,
    calm: Calm,
    chance: Random,
    troubles: Sequence[Trouble],
    told: Callable[[str], object],
) -> None:
    """Let the campaign meet these troubles, each at a moment drawn by chance: a number of requests
    that the gateway has noted; and play it to its end.
    """
    moments = sorted(chance.sample(range(1, calm.requests * 9 // 10), len(troubles)))
    for moment, trouble in zip(moments, troubles, strict=True):
        scene.reach(moment)
        told(f"{trouble.__name__} at {scene.requests()} requests")
        trouble(scene)
    while scene.go_on():
        finished(scene.running)


def check(scene: Scene, calm: Calm) -> None:
    """The end is that of the calm; nothing was done twice, and nothing is left."""
    trial = scene.trial
    assert trial.evidence() == calm.worlds
    with open_store(trial.location) as store:
        found = read_journals(store)
        assert store.catalogue.campaign(CAMPAIGN).lease.owner is None
        assert {status.lease.owner for status in store.statuses(CAMPAIGN)} == {None}
    assert found.conversations() == calm.journals.conversations()
    check_nothing_was_done_twice(found, scene.gateway.entries())
    until(partial(_nothing_is_left, Path(trial.temporary)), "books or Ray's files are left")


def _nothing_is_left(temporary: Path) -> bool:
    """Whether all files are gone; daemons of a Ray that was killed may write for some seconds more,
    and whoever starts the next one removes what they leave.
    """
    clear_scratch("ceo-arena-ray", temporary)
    return not any(temporary.iterdir())


def _told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(1 << 32)
    rounds = range(int(sys.argv[2])) if len(sys.argv) > 2 else itertools.count()
    _told(f"seed {seed}")
    with running_server() as server:
        for number in rounds:
            chance = Random(f"{seed} {number}")
            used = server if chance.random() < 0.5 else None
            possible = EVERYWHERE if used is None else (*EVERYWHERE, *ON_A_SERVER)
            troubles = chance.choices(possible, k=8)
            _told(f"round {number}, on {'files' if used is None else 'a server'}")
            with (
                tempfile.TemporaryDirectory() as folder,
                campaign(Path(folder), used, days=28) as (scene, calm),
            ):
                weather(scene, calm, chance, troubles, _told)
                check(scene, calm)


if __name__ == "__main__":
    main()
