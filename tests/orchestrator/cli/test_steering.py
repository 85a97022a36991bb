"""Commands that steer a campaign and say why it does not go on, as a person gives them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store import open_store
from orchestrator.world import StopKind, StopRequest
from tests.orchestrator.cli.commands import DRAWN, Answer, ceo_arena, is_plain
from tests.orchestrator.trial import NAME, REFERENCE, Trial

OTHER = "trial-s29-reference"

Command = Callable[..., Answer]


@pytest.fixture
def give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command on a store with one run completed, one paused, and six planned."""
    trial = Trial.new(tmp_path / "store")
    with trial.store:
        trial.play()
        stop = StopRequest()
        stop.ask(StopKind.PAUSE, "lunch")
        trial.play(OTHER, stop=stop)

    def command(*arguments: str) -> Answer:
        return ceo_arena(capsys, *arguments, "--store", tmp_path / "store")

    return command


def test_a_run_is_stopped_and_resumed_and_every_act_is_idempotent(give: Command) -> None:
    place = ("--run", OTHER)
    told = [give(*act, *place) for act in (("stop",), ("stop",), ("resume",), ("resume",))]
    assert [each.code for each in told] == [0] * 4
    assert [each.err.strip() for each in told] == [
        f"Run {OTHER} is stopped.",
        f"Run {OTHER} is stopped already.",
        f"Run {OTHER} goes on. Nobody carries the campaign out: resume it.",
        f"Run {OTHER} was not held.",
    ]


def test_an_act_is_told_as_json(give: Command) -> None:
    place = ("--run", OTHER, "--seat", "2", "--day", "7")
    done = give("pause", *place, "--reason", "look", "--json").data
    assert done == {
        "campaign": NAME,
        "run": OTHER,
        "world_version": 1,
        "seat": 2,
        "act": "pause",
        "changed": True,
        "said": f"company-2 of run {OTHER} on day 7 is paused.",
    }
    assert give("pause", *place, "--json").data["changed"] is False
    resumed = give("resume", *place, "--json")
    assert (resumed.code, resumed.data["act"], resumed.err) == (0, "resume", "")


def test_what_is_over_cannot_be_held(give: Command) -> None:
    assert f"Run {REFERENCE} is completed." in give("pause", "--run", REFERENCE).err
    settled = give("stop", "--run", REFERENCE, "--seat", "1", "--day", "0")
    assert (settled.code, f"Run {REFERENCE} is completed." in settled.err) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pause", "--seat", "1"), "--run"),
        (("stop", "--run", "none"), "no run none"),
        (("pause", "--run", OTHER, "--day", "7"), "--seat"),
        (("pause", "--run", OTHER, "--day", "8", "--seat", "1"), "No window opens on day 8"),
        (("why", "--seat", "1"), "--run"),
        (("why", "--run", OTHER, "--seat", "9"), "no seat 9"),
        (("failures", "--run", "none"), "no run none"),
        (("retry", "none"), "no campaign none"),
    ],
)
def test_a_wrong_place_is_told_and_nothing_is_done(
    give: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    refused = give(*arguments)
    assert refused.code == 2
    assert said in refused.err
    with open_store(str(tmp_path / "store")) as store:
        assert [act.act for act in store.catalogue.acts(NAME)] == ["create"]


def test_why_names_every_run_that_is_not_completed(give: Command) -> None:
    told = give("why")
    assert told.code == 0
    assert REFERENCE not in told.out
    assert "lunch" in told.out
    assert "nobody carries it out" in told.out
    assert not any(drawn in told.out for drawn in DRAWN)
    (answer,) = give("why", "--run", OTHER, "--json").data["answers"]
    assert answer == {
        "subject": f"run {OTHER}",
        "state": "paused",
        "waits_for": "person",
        "reason": "lunch",
    }
    (seat,) = give("why", "--run", OTHER, "--seat", "1", "--json").data["answers"]
    assert (seat["subject"], seat["reason"]) == (f"company-1 of run {OTHER}", "lunch")


def test_failures_tell_every_rest(give: Command) -> None:
    told = give("failures", "--run", OTHER)
    assert "paused" in told.out
    assert "lunch" in told.out
    assert "running" not in told.out
    assert "2 routine entries are left out; --all lists them." in told.out
    assert is_plain(told.out)
    assert "running" in give("failures", "--run", OTHER, "--all").out
    history = give("failures", "--json").data["history"]
    assert [entry["at"] for entry in history] == sorted(entry["at"] for entry in history)
    kinds = [(entry["kind"], entry["reason"]) for entry in history if entry["run"] == OTHER]
    assert kinds == [("queued", ""), ("running", ""), ("paused", "lunch")]


def test_failures_tell_what_people_did_and_why(give: Command) -> None:
    give("pause", "--reason", "the vendor is down")
    give("stop", "--run", OTHER, "--reason", "too dear")
    give("pause", "--run", OTHER, "--seat", "2", "--day", "7", "--reason", "look at it")

    def acts(*options: str) -> list[tuple[str, str, str]]:
        history = give("failures", "--json", *options).data["history"]
        told = [each for each in history if each["target"] is not None]
        assert all(each["run"] is None for each in told)
        return [(each["target"], each["kind"], each["reason"]) for each in told]

    whole = (f"campaign {NAME}", "pause", "the vendor is down")
    of_run = (f"run {OTHER}", "stop", "too dear")
    of_seat = (f"company-2 of run {OTHER} at world version 1", "pause", "look at it")
    assert acts() == [(f"campaign {NAME}", "create", ""), whole, of_run, of_seat]
    assert acts("--run", OTHER) == [of_run, of_seat]
    assert acts("--run", OTHER, "--seat", "2") == [of_seat]
    assert acts("--run", REFERENCE) == acts("--seat", "1") == []
    shown = give("failures").out
    assert f"run {OTHER}  stop\n    too dear\n" in shown
    assert "create" not in shown


def test_a_campaign_without_models_has_nothing_to_retry(give: Command) -> None:
    assert give("retry", "--dry-run", "--json").data == {
        "campaign": NAME,
        "dry_run": True,
        "windows": [],
    }
    assert give("retry").out == "0 of 0 windows got a fresh attempt\n"


def test_of_a_run_that_was_named_it_is_said_that_nothing_may_be_retried(give: Command) -> None:
    for command in (("retry", "--run", OTHER), ("retry", "--run", OTHER, "--seat", "1")):
        refused = give(*command)
        assert refused.code == 1
        assert f"Nothing that was named of run {OTHER} may have a fresh attempt." in refused.err
        assert give(*command, "--dry-run", "--json").data["windows"] == []


def test_a_stopped_campaign_says_so(give: Command) -> None:
    assert "is stopped. Nobody was carrying it out." in give("stop", "--reason", "budget").err
    assert "is stopped already: budget" in give("stop").err
    assert "Wanted: stopped (budget)" in give("status", NAME).out
