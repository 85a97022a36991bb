"""What a person sees of a campaign that is on its way."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from orchestrator.cli import watching
from orchestrator.cli.output import notices
from orchestrator.cli.watching import (
    JsonLines,
    Lines,
    LiveView,
    duration,
    obstructed,
    outlook,
    stragglers,
    summary,
)
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.status.barriers import SeatAtWork
from orchestrator.status.progress import CampaignProgress, ProgressReader, RunProgress
from orchestrator.status.projection import Remaining, seconds_left
from tests.orchestrator.trial import NAME, Trial


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watching, "time", made)
    return made


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CampaignProgress]:
    """Eight runs of three windows, of which one is completed."""
    trial = Trial.new(tmp_path_factory.mktemp("watching") / "store")
    with trial.store:
        trial.play()
        yield ProgressReader(trial.store, NAME).read()


def test_a_full_disk_is_told_at_once_and_so_is_its_end(
    begun: CampaignProgress, capsys: pytest.CaptureFixture[str]
) -> None:
    full = replace(begun, obstacle="The disk of the store is full.")
    held = replace(full, runs=(replace(full.runs[1], owner="ana"), *full.runs[2:]))
    notices.cache_clear()
    lines = Lines()
    lines.show(begun)
    capsys.readouterr()
    lines.show(held)
    told = capsys.readouterr().err
    assert told.startswith("The disk of the store is full. 1 active runs wait")
    lines.show(held)
    assert capsys.readouterr().err == ""
    lines.show(begun)
    assert "can be written to again" in capsys.readouterr().err
    assert obstructed(full) == [
        "The disk of the store is full. No run can go on until it can be written to again."
    ]


def after(progress: CampaignProgress, windows: int) -> CampaignProgress:
    """The campaign when the second run has settled so many windows."""
    first, second, *rest = progress.runs
    moved: RunProgress = replace(second, windows=windows, days=7 * windows, state="running")
    return replace(progress, runs=(first, moved, *rest))


def test_one_line_tells_all(begun: CampaignProgress) -> None:
    assert summary(begun) == (
        "trial: 1 of 8 runs completed; 3 of 24 windows, 17 of 136 days, 0 bankruptcies"
    )
    assert summary(after(begun, 2)) == (
        "trial: 1 of 8 runs completed, 1 running; 5 of 24 windows, 31 of 136 days, 0 bankruptcies"
    )


def test_lines_come_now_and_then_and_only_with_news(
    begun: CampaignProgress, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    notices.cache_clear()
    lines = Lines()
    lines.show(begun)
    clock.now += 1
    lines.show(after(begun, 1))
    clock.now += 100
    lines.show(begun)
    lines.show(after(begun, 1))
    lines.close(after(begun, 2))
    lines.close(after(begun, 2))
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.partition(" windows")[0] for line in told.err.splitlines()] == [
        "trial: 1 of 8 runs completed; 3 of 24",
        "trial: 1 of 8 runs completed, 1 running; 4 of 24",
        "trial: 1 of 8 runs completed, 1 running; 5 of 24",
    ]
    notices.cache_clear()


def test_json_lines_are_objects_that_come_with_news(
    begun: CampaignProgress, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = JsonLines()
    lines.show(begun)
    lines.show(begun)
    clock.now += 20
    lines.close(after(begun, 1))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["windows"]["settled"] for line in told] == [3, 4]
    assert {"seconds_left", "runs", "owner"} <= set(told[0])


def test_a_terminal_shows_a_bar_for_every_seed(begun: CampaignProgress, clock: Clock) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Live(console=screen, auto_refresh=False) as live:
        shown = LiveView(live)
        shown.show(begun)
        clock.now += 7230
        shown.show(after(begun, 1))
        shown.close(after(begun, 2))
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue()
    for part in ("seed 11", "seed 29", "1/4 runs", "0/4 runs", "5/12 windows", "0 bankrupt"):
        assert part in text
    assert "left" not in text.rpartition("seed 11")[2]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def at_work(progress: CampaignProgress) -> CampaignProgress:
    """The second run takes 100 seconds a window, and its second seat holds the third."""
    first, second, *rest = progress.runs
    seats = [
        SeatAtWork(
            seat=number,
            candidate=f"c{number}",
            attempt=0,
            status=status,
            doing=doing,
            until=None,
            open_seconds=seconds,
            seconds=1.0,
        )
        for number, status, doing, seconds in (
            (1, CompanyWindowStatus.SEALED, "sealed", 80.0),
            (2, CompanyWindowStatus.OPEN, "waiting for a reply of its model", 90.0),
        )
    ]
    moved = replace(
        second,
        windows=2,
        days=14,
        state="running",
        owner="ana@laptop",
        took=(100.0, 100.0),
        barrier=tuple(seats),
    )
    runs = (replace(first, took=()), moved, *rest)
    return replace(progress, owner="ana@laptop", runs=runs, slots=2)


def test_who_holds_a_barrier_and_when_all_is_done(
    begun: CampaignProgress, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = at_work(begun)
    assert stragglers(progress) == [
        (
            f"{progress.runs[1].planned.run_id}: seat 2 (c2) holds the window of day 14 for "
            "1 min 30 s, waiting for a reply of its model"
        )
    ]
    # One window of the second run, and six runs of three windows, on two slots: 100 seconds and
    # three runs in one, three runs in the other.
    assert progress.seconds_left == pytest.approx(1_000)
    priced = replace(progress, spent=5_000_000)
    JsonLines().show(priced)
    told = json.loads(capsys.readouterr().out)
    assert told["seconds_left"] == 1_000
    # Five dollars for five of 24 windows.
    assert (told["spent_microdollars"], told["projected_microdollars"]) == (5_000_000, 24_000_000)
    assert outlook(priced) == "; 16 min 40 s left; $5.00 spent, about $24.00 in all"
    assert outlook(replace(priced, spent=None)) == "; 16 min 40 s left"
    assert outlook(replace(priced, spent=None, owner=None)) == ""
    screen = Console(file=io.StringIO(), force_terminal=True, width=200)
    with Live(console=screen, auto_refresh=False) as live:
        LiveView(live).show(progress)
    assert isinstance(screen.file, io.StringIO)
    assert "16 min 40 s left" in screen.file.getvalue()
    assert "seat 2 (c2) holds the window of day 14" in screen.file.getvalue()


def test_a_window_that_is_open_for_long_is_not_done_in_the_usual_time(
    begun: CampaignProgress,
) -> None:
    progress = at_work(begun)
    _, second, *_ = progress.runs
    (holding,) = second.stragglers

    def left(open_seconds: float) -> float | None:
        seat = replace(holding, open_seconds=open_seconds)
        last = replace(progress, runs=(replace(second, barrier=(seat,)),))
        return last.seconds_left

    assert left(10.0) == left(100.0) == pytest.approx(100)
    assert left(600.0) == pytest.approx(600)
    # Those that follow it are expected to take what they usually do.
    earlier = Remaining(windows=3, took=(100.0,), active=True, open_seconds=600.0)
    assert seconds_left([earlier], slots=1) == pytest.approx(800)


def test_lines_are_chosen_where_there_is_no_terminal(tmp_path: Path) -> None:
    del tmp_path
    notices.cache_clear()
    with watching.view() as plain, watching.view(as_json=True) as data:
        assert isinstance(plain, Lines)
        assert isinstance(data, JsonLines)


@pytest.mark.parametrize("width", [80, 100])
def test_the_live_view_fits_a_narrow_terminal(begun: CampaignProgress, width: int) -> None:
    screen = io.StringIO()
    console = Console(width=width, file=screen, force_terminal=True, highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        LiveView(live).close(begun)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).splitlines()
    assert "bankrupt" in lines[0]
    assert "bankruptcies" in "".join(lines[2:])
    assert all(len(line) <= width for line in lines)
