"""A campaign of models at work with all that it needs, which troubles may strike and whose end is
that of the campaign that nothing happened to.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import psutil

from orchestrator.scratch import clear_scratch
from orchestrator.store import open_store
from tests.chaos.clock.shifting import CANNOT_SHIFT, Clock
from tests.chaos.harness import CAMPAIGN, Evidence, Place, descendants, finished, place
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
from tests.postgresql import Server
from tests.small_disk import CannotMount, SmallDisk, small_disk

ENDS: Final = (0, 1, 3, 130, -signal.SIGKILL)
"""How a command may end in a storm; whatever else it says is no refusal but a defect."""

HOSTS: Final = ("--hosts", "2")
_MOST_COMMANDS: Final = 60
_DISK_MEGABYTES: Final = 64


@dataclass
class Scene:
    """A campaign at work, with all that it needs.

    It stands on a `server`, or in files on a `disk` that can be filled up; its `clock` can jump;
    both are there where the machine allows it.
    """

    folder: Path
    trial: Place
    gateway: GatewayProcess
    server: Server | None
    disk: SmallDisk | None
    clock: Clock | None
    chance: Random
    running: "subprocess.Popen[str]" = field(init=False)
    commands: int = 0

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command at work, with the clock of this scene."""
        shifted = {} if self.clock is None else self.clock.environment
        self.commands += 1
        return self.trial.start(*arguments, environment={**self.gateway.environment, **shifted})

    def ended(self, process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
        """A command at its end, which is one that may be; what it said is kept in the folder."""
        end = finished(process)
        with (self.folder / "commands.txt").open("a", encoding="utf-8") as file:
            file.write(f"{end.args[3:]} -> {end.returncode}\n{end.stderr}\n")
        assert end.returncode in ENDS, end.stderr
        assert "Traceback" not in end.stderr, end.stderr
        return end

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A command beside the one that carries the campaign out, from start to end."""
        return self.ended(self.start(*arguments))

    def requests(self) -> int:
        return sum(entry.event == "asked" for entry in self.gateway.entries())

    def go_on(self) -> bool:
        """Resume the campaign if its command has ended before its end; False when it is over."""
        return self.running.poll() is None or self._resumed()

    def to_the_end(self) -> None:
        """Let the campaign come to its end, resuming it as often as it takes."""
        while self._resumed():
            pass

    def _resumed(self) -> bool:
        ended = self.ended(self.running)
        if ended.returncode == 0:
            return False
        assert self.commands < _MOST_COMMANDS, f"it does not come to an end: {ended.stderr}"
        self.running = self.start("resume", *HOSTS)
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


@dataclass(frozen=True)
class Calm:
    """What the campaign leaves when nothing goes wrong, and how many requests it takes."""

    worlds: dict[str, Evidence]
    journals: Journals
    requests: int


@contextmanager
def campaign(
    folder: Path, server: Server | None, chance: Random, days: int = DAYS
) -> Iterator[tuple[Scene, Calm]]:
    """A campaign that has just been launched, on files or on a server."""
    with ExitStack() as stack:
        disk = None
        if server is None:
            with suppress(CannotMount):
                disk = stack.enter_context(small_disk(folder / "disk", _DISK_MEGABYTES))
            location = str(folder / "store" if disk is None else disk.place / "store")
        else:
            location = server.url(server.new_database())
        trial = stack.enter_context(place(folder, REHEARSAL, days, location))
        gateway = stack.enter_context(gateway_process(folder / "ledger"))
        calm = Calm(*undisturbed_models(trial.file, folder / "undisturbed"))
        clock = None if CANNOT_SHIFT else Clock(folder)
        scene = Scene(folder, trial, gateway, server, disk, clock, chance)
        scene.running = scene.start("launch", str(trial.file), *HOSTS)
        yield scene, calm


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
