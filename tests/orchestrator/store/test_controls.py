"""Paused routes, spending and its caps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store import WHOLE_CAMPAIGN, Asking, RouteControls, Spent, open_store
from tests.orchestrator.store import samples

NAME = samples.CAMPAIGN
SEAT, RIVAL = Asking("s11", 1, "a"), Asking("s11", 2, "a")
AGAIN = Asking("s11", 1, "b")
CENT = 10_000


@pytest.fixture
def controls(tmp_path: Path) -> Iterator[RouteControls]:
    with open_store(str(tmp_path / "store"), create=True) as store:
        samples.create_campaign(store)
        yield store.controls


def test_a_route_is_paused_until_a_person_resolves_it(controls: RouteControls) -> None:
    controls.pause(NAME, "grower", "refused", "The key is not valid.")
    controls.pause(NAME, "grower", "identity", "Another model answers.")
    (pause,) = controls.pauses(NAME)
    assert (pause.candidate, pause.cause) == ("grower", "refused")
    assert pause.reason == "The key is not valid."
    controls.resolve(NAME)
    controls.resolve(NAME)
    assert controls.pauses(NAME) == []


def test_money_is_set_aside_settled_and_added_up(controls: RouteControls) -> None:
    assert controls.set_aside(NAME, "grower", SEAT, 9 * CENT, {}) is None
    assert controls.spent(NAME) == [Spent("grower", 0, 0, 9 * CENT)]
    controls.settle(NAME, SEAT, 2 * CENT)
    controls.settle(NAME, SEAT, 2 * CENT)
    assert controls.spent(NAME) == [Spent("grower", 2 * CENT, 0, 0)]
    controls.set_aside(NAME, "grower", SEAT, 9 * CENT, {})
    controls.settle(NAME, SEAT, None)
    assert controls.spent(NAME) == [Spent("grower", 2 * CENT, 9 * CENT, 0)]


def test_what_a_lost_host_had_set_aside_is_taken_for_spent(controls: RouteControls) -> None:
    controls.set_aside(NAME, "grower", SEAT, 9 * CENT, {})
    controls.set_aside(NAME, "grower", AGAIN, 8 * CENT, {})
    expected = [Spent("grower", 0, 9 * CENT, 8 * CENT)]
    assert controls.spent(NAME) == expected
    # The lost host was only slow: what it says now changes nothing.
    controls.settle(NAME, SEAT, 2 * CENT)
    controls.settle(NAME, SEAT, None)
    assert controls.spent(NAME) == expected
    controls.settle(NAME, AGAIN, 3 * CENT)
    assert controls.spent(NAME) == [Spent("grower", 3 * CENT, 9 * CENT, 0)]


def test_a_cap_forbids_what_could_exceed_it(controls: RouteControls) -> None:
    caps = {WHOLE_CAMPAIGN: 20, "grower": 10}
    assert controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps) is None
    told = controls.set_aside(NAME, "grower", RIVAL, 5 * CENT, caps)
    assert told is not None
    assert 'candidate "grower"' in told
    assert "$0.10" in told
    assert "$0.06" in told
    assert controls.set_aside(NAME, "holder", RIVAL, 9 * CENT, caps) is None
    told = controls.set_aside(NAME, "third", Asking("s29", 1, "a"), 6 * CENT, caps)
    assert told is not None
    assert "the campaign" in told


def test_a_cap_that_was_set_counts_in_place_of_the_files(controls: RouteControls) -> None:
    caps = {WHOLE_CAMPAIGN: 1}
    assert controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps) is not None
    controls.set_cap(NAME, WHOLE_CAMPAIGN, 5, "a test")
    controls.set_cap(NAME, WHOLE_CAMPAIGN, 6, "a test")
    assert controls.caps(NAME) == {WHOLE_CAMPAIGN: 6}
    assert controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps) is None
