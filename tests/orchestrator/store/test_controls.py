"""Paused routes, spending and its caps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store import WHOLE_CAMPAIGN, Asking, RouteControls, Spent, open_store
from tests.orchestrator.store import samples

NAME = samples.CAMPAIGN
SEAT, RIVAL = Asking("s11", 0, 1, 0, 1, 1), Asking("s11", 0, 2, 0, 1, 1)
AGAIN = SEAT._replace(epoch=2)
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


def test_what_is_set_aside_bears_the_name_of_its_request(controls: RouteControls) -> None:
    controls.set_aside(NAME, "grower", SEAT, 9 * CENT, {})
    controls.set_aside(NAME, "grower", AGAIN, 8 * CENT, {})
    assert controls.spent(NAME) == [Spent("grower", 0, 0, 17 * CENT)]
    assert controls.reservations(NAME) == [SEAT, AGAIN]
    controls.settle(NAME, SEAT, None)
    # The lost host was only slow: what it says now changes nothing.
    controls.settle(NAME, SEAT, 2 * CENT)
    controls.settle(NAME, AGAIN, 3 * CENT)
    assert controls.spent(NAME) == [Spent("grower", 3 * CENT, 9 * CENT, 0)]


def test_what_was_never_sent_is_released(controls: RouteControls) -> None:
    controls.set_aside(NAME, "grower", SEAT, 9 * CENT, {})
    controls.settle(NAME, SEAT, 0)
    assert controls.spent(NAME) == []


def test_a_cap_forbids_what_could_exceed_it(controls: RouteControls) -> None:
    caps = {WHOLE_CAMPAIGN: 20, "grower": 10}
    assert controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps) is None
    short = controls.set_aside(NAME, "grower", RIVAL, 5 * CENT, caps)
    assert short is not None
    assert not short.for_good, "what is under way may cost nothing"
    assert controls.waiting(NAME) == {("s11", 2)}
    controls.settle(NAME, SEAT, 6 * CENT)
    short = controls.set_aside(NAME, "grower", RIVAL, 5 * CENT, caps)
    assert short is not None
    assert short.for_good
    assert controls.waiting(NAME) == set()
    assert 'candidate "grower"' in short.reason
    assert "$0.10" in short.reason
    assert "$0.06" in short.reason
    assert controls.set_aside(NAME, "holder", RIVAL, 9 * CENT, caps) is None
    controls.settle(NAME, RIVAL, None)
    short = controls.set_aside(NAME, "third", Asking("s29", 0, 1, 0, 1, 1), 6 * CENT, caps)
    assert short is not None
    assert "the campaign" in short.reason


def test_a_request_that_waits_is_granted_under_its_name(controls: RouteControls) -> None:
    caps = {WHOLE_CAMPAIGN: 10}
    controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps)
    assert controls.set_aside(NAME, "grower", RIVAL, 6 * CENT, caps) is not None
    controls.settle(NAME, SEAT, 1 * CENT)
    assert controls.set_aside(NAME, "grower", RIVAL, 6 * CENT, caps) is None
    assert controls.waiting(NAME) == set()
    assert controls.spent(NAME) == [Spent("grower", 1 * CENT, 0, 6 * CENT)]


def test_a_cap_that_was_set_counts_in_place_of_the_files(controls: RouteControls) -> None:
    caps = {WHOLE_CAMPAIGN: 1}
    assert controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps) is not None
    controls.set_cap(NAME, WHOLE_CAMPAIGN, 5, "a test")
    controls.set_cap(NAME, WHOLE_CAMPAIGN, 6, "a test")
    assert controls.caps(NAME) == {WHOLE_CAMPAIGN: 6}
    assert controls.set_aside(NAME, "grower", SEAT, 6 * CENT, caps) is None
