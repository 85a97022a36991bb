"""SIGKILL at random moments of a campaign of models: no stored reply is asked for twice, no tool
runs twice, no allowance is granted anew, and the campaign comes to the same end.
"""

import os
import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.scratch import clear_scratch
from orchestrator.store import open_store
from tests.chaos.harness import Place, finished, kill_all, place
from tests.chaos.models import (
    DAYS,
    REHEARSAL,
    GatewayProcess,
    check_nothing_was_done_twice,
    gateway_process,
    read_journals,
    undisturbed_models,
)
from tests.patience import until

SEED: Final = 1

pytestmark = pytest.mark.xdist_group("kills")


def kill_a_host(trial: Place, _launched: Any, _gateway: GatewayProcess) -> None:
    os.kill(min(trial.owners()), signal.SIGKILL)


def kill_the_gateway(_trial: Place, _launched: Any, gateway: GatewayProcess) -> None:
    gateway.kill()
    gateway.start()


def kill_the_driver(_trial: Place, launched: Any, _gateway: GatewayProcess) -> None:
    launched.kill()


def kill_all_but_the_gateway(_trial: Place, launched: Any, _gateway: GatewayProcess) -> None:
    kill_all(launched)


KILLS: Final[tuple[Callable[[Place, Any, GatewayProcess], None], ...]] = (
    kill_a_host,
    kill_the_gateway,
    kill_the_driver,
    kill_all_but_the_gateway,
)
ENDS: Final = (kill_the_driver, kill_all_but_the_gateway)
"""Those that end the command, too."""


def test_models_that_are_killed_and_go_on_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Each kill once, in an order and at moments drawn from a seed: after a number of requests
    that the gateway has noted.
    """
    chance = random.Random(SEED)
    with place(tmp_path, REHEARSAL, DAYS) as trial, gateway_process(tmp_path / "ledger") as gateway:
        worlds, journals, requests = undisturbed_models(trial.file, tmp_path / "undisturbed")
        moments = sorted(chance.sample(range(1, requests * 9 // 10), len(KILLS)))
        command = ("launch", str(trial.file), "--hosts", "2")
        running = trial.start(*command, environment=gateway.environment)
        for moment, kill in zip(moments, chance.sample(KILLS, len(KILLS)), strict=True):
            gateway.wait_for_requests(moment)
            kill(trial, running, gateway)
            if kill in ENDS:
                assert finished(running).returncode == -signal.SIGKILL
                running = trial.start("resume", "--hosts", "2", environment=gateway.environment)
        ended = finished(running)
        assert ended.returncode == 0, ended.stderr
        assert trial.evidence() == worlds
        with open_store(str(trial.store)) as store:
            found = read_journals(store)
        assert found.conversations() == journals.conversations()
        check_nothing_was_done_twice(found, gateway.entries())
        until(partial(nothing_is_left, Path(trial.temporary)), "books or Ray's files are left")


def nothing_is_left(temporary: Path) -> bool:
    """Whether all files are gone; daemons of a Ray that was killed may write for some seconds more,
    and whoever starts the next one removes what they leave.
    """
    clear_scratch("ceo-arena-ray", temporary)
    return not any(temporary.iterdir())
