"""A campaign of models in a storm: its processes, its gateway and its database die or stand still,
its disk fills up, its clock jumps, people do things to it, and whoever finds it ended resumes it,
until it has come to its end.

Plays one campaign after the other, each with troubles and moments drawn from a seed that it prints,
until it is interrupted, or something differs from the campaign without a trouble. Then it says how
to play that round again, and where what the round left is kept.
"""

import argparse
import itertools
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Final

from tests.chaos.scene import Calm, Scene, campaign, check
from tests.chaos.troubles import Trouble, possible
from tests.postgresql import Server, running_server

_PROGRAM: Final = "python -m tests.chaos.storm"
_DAYS: Final = 56
_TROUBLES: Final = 10


def weather(
    scene: Scene, calm: Calm, troubles: Sequence[Trouble], told: Callable[[str], object]
) -> None:
    """Let the campaign meet these troubles, each at a moment drawn by chance: a number of requests
    that the gateway has noted; and play it to its end.
    """
    last = calm.requests * 9 // 10
    moments = sorted(scene.chance.sample(range(1, last), len(troubles)))
    for moment, trouble in zip(moments, troubles, strict=True):
        scene.reach(moment)
        told(f"{trouble.__name__} at {scene.requests()} requests")
        trouble(scene)
    scene.to_the_end()


def play(seed: int, number: int, folder: Path) -> None:
    """One round, which leaves what it did in a folder."""
    chance = Random(f"{seed} {number}")
    with running_server() as server:
        used = server if chance.random() < 0.5 else None
        _told(f"round {number}, on {'files' if used is None else 'a server'}")
        with campaign(folder, used, chance, _DAYS) as (scene, calm):
            try:
                weather(scene, calm, chance.choices(possible(scene), k=_TROUBLES), _told)
                check(scene, calm)
            except Exception:
                _keep(scene, server)
                raise


def _keep(scene: Scene, server: Server) -> None:
    """Copy into the folder what would go with the scene: the database, and the logs of Ray."""
    scene.trial.end()
    if scene.disk is not None:
        shutil.copytree(scene.disk.place, scene.folder / "disk-at-the-end")
    if scene.server is not None:
        server.stop()
        shutil.copytree(server.directory / "data", scene.folder / "server")
    for number, logs in enumerate(Path(scene.trial.temporary).rglob("logs")):
        shutil.copytree(logs, scene.folder / f"ray-{number}")


def _told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=_PROGRAM, description=__doc__)
    parser.add_argument("seed", metavar="SEED", nargs="?", type=int, help="drawn unless given")
    parser.add_argument(
        "rounds", metavar="ROUNDS", nargs="?", type=int, help="without end unless given"
    )
    parser.add_argument(
        "--from",
        dest="first",
        metavar="N",
        type=int,
        default=0,
        help="the first round; each follows from SEED and its number alone",
    )
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Also where a shell lets its background jobs ignore the first: nothing is left behind.
        signal.signal(number, signal.default_int_handler)
    seed = secrets.randbelow(1 << 32) if given.seed is None else given.seed
    _told(f"seed {seed}")
    numbers = itertools.count(given.first)
    for number in numbers if given.rounds is None else itertools.islice(numbers, given.rounds):
        folder = Path(tempfile.mkdtemp(prefix=f"storm-{seed}-{number}-"))
        try:
            play(seed, number, folder)
        except Exception:
            again = f"{_PROGRAM} {seed} 1 --from {number}"
            _told(f"Play this round again with: {again}\nWhat it left is in {folder}")
            raise
        except KeyboardInterrupt:
            shutil.rmtree(folder, ignore_errors=True)
            sys.exit(f"Interrupted in round {number} of seed {seed}.")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
