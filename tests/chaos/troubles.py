"""What may happen to a campaign at work: processes die or stand still, a disk fills up, a clock
jumps, connections are cut, and people do things meanwhile.
"""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import psutil

from orchestrator.audit import audit_store
from orchestrator.store import open_store
from tests.chaos.clock.shifting import HOURS
from tests.chaos.harness import PATIENCE_SECONDS, kill, kill_all
from tests.chaos.scene import HOSTS, Scene
from tests.patience import until

STILL_SECONDS: Final = 4.0
"""How long something stands still: longer than a lease lasts."""

Trouble = Callable[[Scene], None]


def _still(found: Sequence[psutil.Process]) -> None:
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    time.sleep(STILL_SECONDS)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def kill_a_host(scene: Scene) -> None:
    kill(scene.hosts()[:1])


def kill_the_scheduler(scene: Scene) -> None:
    kill(scene.processes("Carrier"))


def kill_the_raylet(scene: Scene) -> None:
    kill(scene.processes("raylet"))


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


def pause_the_campaign(scene: Scene) -> None:
    assert scene.run("pause", "--reason", "a storm").returncode == 0


def hold_a_run(scene: Scene) -> None:
    run = scene.chance.choice([run.planned.run_id for run in scene.trial.progress().runs])
    assert scene.run("pause", "--run", run, "--reason", "a storm").returncode == 0
    assert scene.run("resume", "--run", run).returncode == 0


def resume_twice_at_once(scene: Scene) -> None:
    """One of the two carries the campaign out; the other is told so, or that it is over."""
    kill_all_but_the_gateway(scene)
    scene.ended(scene.running)
    both = [scene.start("resume", *HOSTS) for _ in range(2)]
    until(lambda: any(process.poll() is not None for process in both))
    first, second = sorted(both, key=lambda process: process.poll() is None)
    ended = scene.ended(first)
    assert ended.returncode in (0, 3), ended.stderr
    if ended.returncode == 3:
        assert "is being carried out by" in ended.stderr, ended.stderr
    scene.running = second


def audit_meanwhile(scene: Scene) -> None:
    audited = scene.run("audit")
    assert audited.returncode == 0, audited.stdout


def kill_the_server(scene: Scene) -> None:
    assert scene.server is not None
    scene.server.kill()
    scene.server.start()


def take_the_server_away(scene: Scene) -> None:
    """It comes back when whoever carries the campaign out has lost patience, and has said so."""
    assert scene.server is not None
    scene.server.kill()
    # Each look at it, and each commit, has patience of its own.
    scene.running.wait(PATIENCE_SECONDS)
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


def back_up(scene: Scene) -> None:
    """The copy is whole, whatever happens meanwhile."""
    to = scene.folder / f"backup-{scene.commands}"
    assert scene.run("backup", str(to)).returncode == 0
    with open_store(str(to)) as copy:
        assert audit_store(copy, lambda _: None).problems == []


def fill_the_disk(scene: Scene) -> None:
    assert scene.disk is not None
    filler = scene.disk.fill()
    time.sleep(STILL_SECONDS)
    filler.unlink()


def jump(scene: Scene) -> None:
    assert scene.clock is not None
    scene.clock.set(scene.chance.choice((-2, -1, 0, 1, 2)) * HOURS)


EVERYWHERE: Final[tuple[Trouble, ...]] = (
    *(kill_a_host, kill_the_scheduler, kill_the_raylet, kill_the_driver),
    *(kill_all_but_the_gateway, kill_the_gateway, leave),
    *(stop_the_hosts, stop_the_scheduler, stop_the_raylet, stop_the_driver),
    *(pause_the_campaign, hold_a_run, resume_twice_at_once, audit_meanwhile),
)
ON_A_SERVER: Final[tuple[Trouble, ...]] = (kill_the_server, stop_the_server, cut_the_connections)


def possible(scene: Scene) -> tuple[Trouble, ...]:
    """The troubles that can strike a campaign where it stands."""
    found = [*EVERYWHERE]
    if scene.server is None:
        found.append(back_up)
    else:
        found += [*ON_A_SERVER, take_the_server_away]
    if scene.disk is not None:
        found.append(fill_the_disk)
    if scene.clock is not None:
        found.append(jump)
    return tuple(found)
