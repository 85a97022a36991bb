"""A campaign of models whose processes die or stand still: no stored reply is asked for twice, no
tool runs twice, no allowance is granted anew, and the campaign comes to the same end.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from tests.chaos import troubles as all_of
from tests.chaos.scene import campaign, check
from tests.chaos.storm import weather
from tests.chaos.troubles import Trouble
from tests.postgresql import running_server

pytestmark = pytest.mark.xdist_group("supervision")

DEATHS = (
    *(all_of.kill_a_host, all_of.kill_the_gateway, all_of.kill_the_driver),
    *(all_of.kill_the_raylet, all_of.kill_all_but_the_gateway),
)
STANDING_STILL = (
    *(all_of.stop_the_hosts, all_of.stop_the_scheduler),
    *(all_of.stop_the_raylet, all_of.stop_the_driver),
)
OF_THE_SERVER = (*all_of.ON_A_SERVER, all_of.kill_all_but_the_gateway)


@pytest.mark.parametrize(
    ("troubles", "on_a_server", "seed"),
    [(DEATHS, False, 1), (STANDING_STILL, False, 2), (OF_THE_SERVER, True, 3)],
    ids=["death", "standing still", "the server"],
)
def test_whatever_happens_to_models_nothing_is_lost_and_nothing_is_done_twice(
    troubles: Sequence[Trouble], on_a_server: bool, seed: int, tmp_path: Path
) -> None:
    """Each trouble once, in an order and at moments drawn from the seed."""
    chance = Random(seed)
    with ExitStack() as stack:
        server = stack.enter_context(running_server()) if on_a_server else None
        scene, calm = stack.enter_context(campaign(tmp_path, server, chance))
        weather(scene, calm, chance.sample(troubles, len(troubles)), print)
        check(scene, calm)
