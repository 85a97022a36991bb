"""What a person sees of a campaign that is on its way."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from orchestrator.cli import watching
from orchestrator.cli.output import notices
from orchestrator.cli.watching import JsonLines, Lines, LiveView, Pace, summary
from orchestrator.progress import CampaignProgress, ProgressReader, RunProgress
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


def test_the_time_left_follows_from_the_pace(begun: CampaignProgress, clock: Clock) -> None:
    pace = Pace()
    assert pace.seconds_left(begun) is None
    clock.now += 10
    assert pace.seconds_left(begun) is None
    clock.now += 10
    # One window in 20 seconds, 20 windows to go.
    assert pace.seconds_left(after(begun, 1)) == pytest.approx(400)


def test_only_the_last_minute_makes_the_pace(begun: CampaignProgress, clock: Clock) -> None:
    pace = Pace()
    pace.seconds_left(begun)
    clock.now += 5000
    pace.seconds_left(after(begun, 1))
    clock.now += 80
    # The first window took long, the second 80 seconds.
    assert pace.seconds_left(after(begun, 2)) == pytest.approx(19 * 80)


def test_a_window_that_takes_hours_makes_a_pace_as_well(
    begun: CampaignProgress, clock: Clock
) -> None:
    pace = Pace()
    pace.seconds_left(begun)
    for _ in range(100):
        clock.now += 60
        pace.seconds_left(begun)
    assert pace.seconds_left(after(begun, 1)) == pytest.approx(20 * 6000)


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


def test_json_lines_are_objects_with_the_time_left(
    begun: CampaignProgress, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = JsonLines()
    lines.show(begun)
    lines.show(begun)
    clock.now += 20
    lines.close(after(begun, 1))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["windows"]["settled"] for line in told] == [3, 4]
    assert [line["seconds_left"] for line in told] == [None, 400]


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
def test_durations_read_well(
    seconds: float, text: str, begun: CampaignProgress, clock: Clock
) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Live(console=screen, auto_refresh=False) as live:
        shown = LiveView(live)
        shown.show(begun)
        clock.now += seconds / begun.windows_to_play * 1.05
        shown.show(after(begun, 1))
    assert isinstance(screen.file, io.StringIO)
    # One window took this part of the whole, and 20 of 21 windows are left.
    assert f"{text} left" in screen.file.getvalue()


def test_lines_are_chosen_where_there_is_no_terminal(tmp_path: Path) -> None:
    del tmp_path
    notices.cache_clear()
    with watching.view() as plain, watching.view(as_json=True) as data:
        assert isinstance(plain, Lines)
        assert isinstance(data, JsonLines)
