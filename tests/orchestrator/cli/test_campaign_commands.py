"""Commands on campaigns where no Ray is needed, and wrong inputs."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.owners import own_name, shown
from orchestrator.store import DesiredState, open_store
from orchestrator.world import StopKind, StopRequest
from tests.orchestrator.cli.commands import Answer, ceo_arena, ceo_arena_process
from tests.orchestrator.trial import DAYS, NAME, REFERENCE, WINDOWS, Trial

Command = Any

FILE = """
name = "trial"
seeds = [11, 29]
baseline = "rule"
horizon_days = 17
candidates = [
    { id = "ada", seat = 1, policy = "price-follower" },
    { id = "bob", seat = 2, policy = "growth" },
    { id = "cy", seat = 3, policy = "overspender" },
    { id = "rule", policy = "rule" },
]
"""


@pytest.fixture(scope="module")
def completed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a completed campaign."""
    place = tmp_path_factory.mktemp("commands") / "store"
    trial = Trial.new(place)
    with trial.store:
        trial.play_all()
    return place


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a campaign of which one run is completed and one is paused."""
    trial = Trial.new(tmp_path / "store")
    with trial.store:
        trial.play()
        stop = StopRequest()
        stop.ask(StopKind.PAUSE, "lunch")
        trial.play("trial-s29-reference", stop=stop)
    return tmp_path / "store"


@pytest.fixture
def give(capsys: pytest.CaptureFixture[str]) -> Command:
    """Give a command in this process."""

    def command(*arguments: str | Path) -> Answer:
        return ceo_arena(capsys, *arguments)

    return command


def test_a_completed_campaign_is_launched_and_resumed_without_ray(
    give: Command, completed: Path, tmp_path: Path
) -> None:
    file = tmp_path / "trial.toml"
    file.write_text(FILE, encoding="utf-8")
    launched = give("launch", file, "--store", completed, "--json")
    resumed = give("resume", "--store", completed, "--json")
    assert (launched.code, resumed.code) == (0, 0)
    assert launched.data == resumed.data
    assert launched.data["complete"] is True
    assert "Mean Score" in give("launch", file, "--store", completed).out


def test_limits_that_decide_nothing_are_taken_from_the_file_and_told(
    give: Command, completed: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(completed, tmp_path / "store"))
    file = tmp_path / "trial.toml"
    file.write_text(f"{FILE}\n[limits]\nmax_active_runs = 3\n", encoding="utf-8")
    launched = give("launch", file, "--store", store, "--json")
    assert launched.code == 0
    assert "limits.max_active_runs: 30 before, 3 now" in launched.err
    results = give("results", "--store", completed, "--json")
    assert launched.data["plan_hash"] == results.data["plan_hash"]
    assert "before" not in give("launch", file, "--store", store, "--json").err
    with open_store(str(store)) as opened:
        assert opened.catalogue.acts(NAME)[-1].reason == "another limits.max_active_runs"


def test_a_completed_campaign_cannot_be_paused_and_watching_it_ends_at_once(
    give: Command, completed: Path
) -> None:
    paused = give("pause", "--store", completed)
    assert paused.code == 0
    assert "is completed; there is nothing to pause" in paused.err
    watched = give("watch", "--store", completed)
    assert watched.code == 0
    assert "8 of 8 runs completed" in watched.err
    lines = give("watch", "--store", completed, "--json")
    assert lines.data["finished"] is True


def test_pausing_twice_does_no_harm_and_says_so(give: Command, store: Path) -> None:
    first = give("pause", NAME, "--store", store, "--reason", "a look at the books")
    assert (first.code, first.err) == (
        0,
        "Campaign trial is paused. Nobody was carrying it out.\n",
    )
    second = give("pause", "--store", store)
    assert (second.code, second.err) == (
        0,
        "Campaign trial is paused already: a look at the books.\n",
    )
    with open_store(str(store)) as opened:
        assert [act.act for act in opened.catalogue.acts(NAME)] == ["create", "pause"]
    watched = give("watch", "--store", store)
    assert watched.code == 1
    assert f"ceo-arena resume trial --store {store}" in watched.err
    assert "Run trial-s29-reference is paused: the campaign is paused: a look at" in watched.err
    assert "The run itself: lunch" in watched.err


def test_what_somebody_else_carries_out_is_left_to_them(
    give: Command, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "trial.toml"
    file.write_text(FILE, encoding="utf-8")
    with open_store(str(store)) as opened:
        opened.catalogue.acquire_campaign(NAME, own_name(), 600)
        for command in (("resume", NAME), ("launch", file)):
            told = give(*command, "--store", store)
            assert told.code == 3
            assert f"is being carried out by {shown(own_name())} already" in told.err
            assert "ceo-arena watch trial" in told.err
        assert [act.act for act in opened.catalogue.acts(NAME)] == ["create"]
        # Pausing and taking it back only say what is wanted.
        assert "every run stops at its next window boundary" in give("pause", "--store", store).err
        back = give("resume", "--store", store, "--reason", "a mistake")
        assert (back.code, back.err) == (
            0,
            f"Campaign trial goes on, carried out by {shown(own_name())}.\n",
        )
        campaign = opened.catalogue.campaign(NAME)
        assert (campaign.desired, campaign.reason) == (DesiredState.RUNNING, "a mistake")


def test_status_shows_all_campaigns_or_one(give: Command, store: Path) -> None:
    Trial.new(store, name="other", seeds=[3]).store.close()
    both = give("status", "--store", store)
    assert both.code == 0
    assert "trial: 1 of 8 runs completed, 1 paused; 3 of 24 windows" in both.out
    assert "other: 0 of 4 runs completed" in both.out
    assert "Wanted: running; nobody carries it out." in both.out
    found = give("status", "--store", store, "--json").data["campaigns"]
    assert [campaign["campaign"] for campaign in found] == [NAME, "other"]
    one = give("status", NAME, "--store", store, "--json", "--runs").data
    assert one["runs"]["completed"] == 1
    assert one["days"] == {"settled": DAYS, "total": 8 * DAYS}
    assert one["windows"]["settled"] == WINDOWS
    assert [run["state"] for run in one["matrix"]].count("paused") == 1
    table = give("status", NAME, "--store", store, "--runs").out
    assert "trial-s29-reference" in table
    assert "lunch" in table


def test_the_name_may_be_left_out_only_where_there_is_one_campaign(
    give: Command, store: Path
) -> None:
    Trial.new(store, name="other", seeds=[3]).store.close()
    for command in ("pause", "resume", "watch", "replay"):
        told = give(command, "--store", store)
        assert told.code == 2
        assert "The store has 2 campaigns." in told.err
        assert "trial, other" in told.err
    unknown = give("pause", "third", "--store", store)
    assert unknown.code == 2
    assert "The store has no campaign third." in unknown.err


def test_replay_prints_its_report(give: Command, completed: Path) -> None:
    report = give("replay", "--store", completed, "--json", "--jobs", "2")
    assert report.code == 0
    assert report.data == {
        "runs": 8,
        "matched": 8,
        "nothing_recorded": 0,
        "days": 8 * DAYS,
        "windows": 8 * WINDOWS,
        "complete": 8,
        "differences": [],
    }
    one = give("replay", NAME, "--run", REFERENCE, "--store", completed, "--against", completed)
    assert (one.code, one.out) == (
        0,
        f"1 of 1 runs match: {WINDOWS} windows and {DAYS} days were settled again.\n",
    )


def test_replay_ends_with_1_and_names_runs_of_which_nothing_is_recorded(
    give: Command, store: Path
) -> None:
    told = give("replay", "--store", store)
    assert told.code == 1
    assert "1 of 8 runs match" in told.out
    assert "7 have no settled window to compare: trial-s11-without-ada, " in told.out
    assert give("replay", "--store", store, "--run", REFERENCE).code == 0
    one = give("replay", "--store", store, "--run", "trial-s29-reference", "--json")
    assert (one.code, one.data["nothing_recorded"], one.data["matched"]) == (1, 1, 0)


@pytest.mark.parametrize(
    "command",
    [
        ("results",), ("status",), ("resume",), ("watch",), ("why",), ("replay",), ("audit",),
        ("analyze", "--out", "tables"), ("report", "--out", "page"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_a_run_that_the_catalogue_lost_is_named(
    command: tuple[str, ...],
    give: Command,
    completed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = Path(shutil.copytree(completed, tmp_path / "copy"))
    with sqlite3.connect(copy / "catalogue.db") as connection:
        lost = "SELECT run FROM runs WHERE run_id = ?"
        connection.execute(f"DELETE FROM made_runs WHERE run = ({lost})", (REFERENCE,))
        connection.execute("DELETE FROM runs WHERE run_id = ?", (REFERENCE,))
    connection.close()
    monkeypatch.chdir(tmp_path)
    told = give(command[0], *command[1:], "--store", copy)
    assert told.code == 1
    assert REFERENCE in told.out + told.err
    assert "Traceback" not in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_replay_ends_with_1_and_names_a_difference(
    give: Command, completed: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(completed, tmp_path / "copy"))
    with sqlite3.connect(copy / "runs" / NAME / f"{REFERENCE}.db") as connection:
        connection.execute("UPDATE outcomes SET score_cents = score_cents + 1 WHERE seat = 2")
    connection.close()
    told = give("replay", "--store", copy)
    assert told.code == 1
    assert "7 of 8 runs match" in told.out
    assert f"{REFERENCE}, day {DAYS}, company-2: the outcome, score_cents" in told.out
    (difference,) = give("replay", "--store", copy, "--json").data["differences"]
    assert difference["company"] == "company-2"
    assert difference["recorded"] == difference["recomputed"] + 1


WRONG_FILES = {
    "an unknown field": ("seeds =", "sedes = 1\nseeds =", "sedes"),
    "a missing seat": ("seat = 2", "seat = 4", "seat"),
    "a seat twice": ("seat = 2", "seat = 1", "seat"),
    "an unknown baseline": ('baseline = "rule"', 'baseline = "ruler"', "ruler"),
    "an unknown policy": ('policy = "growth"', 'policy = "growht"', 'Candidate "bob"'),
    "a wrong parameter": (
        'policy = "growth"',
        'policy = "rule", parameters = { speed = 1 }',
        'Candidate "bob"',
    ),
    "a seed twice": ("seeds = [11, 29]", "seeds = [11, 11]", "11"),
    "a negative limit": (
        "horizon_days = 17",
        "horizon_days = 17\nlimits = { max_active_runs = -1 }",
        "max_active_runs",
    ),
    "an option that the protocol fills": (
        'policy = "growth"',
        (
            'route = {protocol = "chat", model = "m", native_ceiling = 9000, credentials = ["K"],'
            " options = {stream = true}}"
        ),
        "the option stream is filled by the protocol",
    ),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_wrong_campaign_is_refused_with_one_message_and_nothing_is_made(
    name: str, give: Command, tmp_path: Path
) -> None:
    old, new, told = WRONG_FILES[name]
    file = tmp_path / "wrong.toml"
    assert old in FILE
    file.write_text(FILE.replace(old, new), encoding="utf-8")
    answer = give("launch", file, "--store", tmp_path / "store", "--json")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("Error: ")
    assert told in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "store").exists()


def test_another_plan_under_the_same_name_is_refused(
    give: Command, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "trial.toml"
    file.write_text(FILE.replace("[11, 29]", "[11, 30]"), encoding="utf-8")
    answer = give("launch", file, "--store", store)
    assert answer.code == 2
    assert "The store has a campaign trial with another plan" in answer.err
    assert "decisive.seeds" in answer.err


@pytest.mark.parametrize("command", ["resume", "pause", "status", "watch", "replay"])
def test_a_store_that_is_none_is_told(command: str, give: Command, tmp_path: Path) -> None:
    answer = give(command, "--store", tmp_path / "nowhere")
    assert answer.code == 3
    assert "There is no store at" in answer.err
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A directory that takes no new files: even root cannot write where there is no disk."""
    if os.geteuid() == 0:
        yield Path("/sys/kernel")
        return
    place = tmp_path / "closed"
    place.mkdir()
    place.chmod(0o500)
    yield place
    place.chmod(0o700)


@pytest.mark.skipif(sys.platform != "linux", reason="the directory for root is Linux's")
def test_a_read_only_directory_is_told(give: Command, closed: Path, tmp_path: Path) -> None:
    file = tmp_path / "trial.toml"
    file.write_text(FILE, encoding="utf-8")
    answer = give("launch", file, "--store", closed / "store")
    assert answer.code == 3
    assert "Error: The store cannot be used at" in answer.err


def test_an_empty_store_says_how_to_begin(give: Command, tmp_path: Path) -> None:
    open_store(str(tmp_path / "empty"), create=True).close()
    answer = give("status", "--store", tmp_path / "empty")
    assert answer.code == 0
    assert "ceo-arena launch rehearsal" in answer.err
    assert json.loads(give("status", "--store", tmp_path / "empty", "--json").out) == {
        "campaigns": []
    }
    assert give("resume", "--store", tmp_path / "empty").code == 2


def test_the_store_may_be_named_by_the_environment(
    give: Command, completed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEO_ARENA_STORE", str(completed))
    assert "8 of 8 runs completed" in give("status").out


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nonsense", "is not the address of a Ray cluster"),
        ("ray://somewhere:1", "is not the address of a Ray cluster"),
        ("127.0.0.1:0", "Nothing answers at 127.0.0.1:0"),
    ],
)
def test_a_wrong_address_is_told_at_once(address: str, told: str, store: Path) -> None:
    answer = ceo_arena_process("resume", "--store", str(store), "--address", address)
    assert answer.code == 2
    assert told in answer.err
