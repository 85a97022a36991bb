"""Watching a campaign: a live view on a terminal, plain lines elsewhere, JSON lines if wanted.

All of it is read from the store, so that it works the same in the shell that carries the campaign
out and in any other.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from manifests.printable import counted
from orchestrator.cli.output import dollars, notices, print_json
from orchestrator.lifecycle import RunState
from orchestrator.status.progress import CampaignProgress
from providers.pricing import cents

_BAR_WIDTH: Final = 40
_LEAST_BAR: Final = 5
_BESIDE_A_BAR: Final = 66
"""Columns for the seed and the numbers of its row."""
_LINE_SECONDS: Final = 5.0

_STRAGGLERS: Final = 5


class View(Protocol):
    """Something that shows how a campaign stands, each time it is told."""

    def show(self, progress: CampaignProgress) -> None: ...

    def close(self, progress: CampaignProgress) -> None:
        """Show the end."""
        ...


@contextmanager
def view(as_json: bool = False) -> Iterator[View]:
    """The view that fits: JSON lines on standard output, else a live view or lines on the other."""
    if as_json:
        yield JsonLines()
    elif notices().is_terminal:
        # Not that of the notices, which never breaks a line.
        console = Console(stderr=True, highlight=False)
        with Live(console=console, auto_refresh=False, transient=False) as live:
            yield LiveView(live)
    else:
        yield Lines()


class Lines:
    """A line now and then, for logs and pipes; nothing when nothing has changed."""

    def __init__(self) -> None:
        self._last = ""
        self._at = -_LINE_SECONDS
        self._obstacle = ""

    def show(self, progress: CampaignProgress) -> None:
        now = time.monotonic()
        if progress.obstacle != self._obstacle:
            self._obstacle = progress.obstacle
            told = obstructed(progress) or ["The store can be written to again."]
            notices().print(Text("\n".join(told)))
        if now - self._at >= _LINE_SECONDS and summary(progress) != self._last:
            self._say(progress, now)

    def close(self, progress: CampaignProgress) -> None:
        if summary(progress) != self._last:
            self._say(progress, time.monotonic())

    def _say(self, progress: CampaignProgress, now: float) -> None:
        self._last, self._at = summary(progress), now
        notices().print(Text(f"{self._last}{outlook(progress)}"))


class JsonLines:
    """One JSON object a line on standard output; nothing when nothing has changed."""

    def __init__(self) -> None:
        self._last: CampaignProgress | None = None

    def show(self, progress: CampaignProgress) -> None:
        if progress != self._last:
            self._last = progress
            print_json(progress.to_json())

    def close(self, progress: CampaignProgress) -> None:
        self.show(progress)


class LiveView:
    """Bars for every seed, on a terminal."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, progress: CampaignProgress) -> None:
        width = max(_LEAST_BAR, min(_BAR_WIDTH, self._live.console.width - _BESIDE_A_BAR))
        self._live.update(_picture(progress, width), refresh=True)

    def close(self, progress: CampaignProgress) -> None:
        self.show(progress)


def summary(progress: CampaignProgress) -> str:
    """How a campaign stands, in one line."""
    planned = len(progress.runs)
    others = [
        f"{count} {state}"
        for state, count in progress.counts.items()
        if count and state not in {RunState.COMPLETED, RunState.PLANNED}
    ]
    return (
        f"{progress.campaign}: {progress.completed} of {planned} runs completed"
        f"{''.join(f', {other}' for other in others)}; "
        f"{progress.windows:,} of {planned * progress.windows_per_run:,} windows, "
        f"{progress.days:,} of {planned * progress.days_per_run:,} days, "
        f"{counted(progress.bankruptcies, 'bankruptcy', 'bankruptcies')}"
    )


def obstructed(progress: CampaignProgress) -> list[str]:
    """Why nothing can be written, what waits for it, and what a person does; else nothing."""
    if not progress.obstacle:
        return []
    if progress.finished:
        return [progress.obstacle]
    active = sum(run.owner is not None for run in progress.runs)
    waiting = (
        f"{active} active runs wait for two minutes or more, with the replies that they paid for,"
        if active
        else "No run can go on"
    )
    return [f"{progress.obstacle} {waiting} until it can be written to again."]


def stragglers(progress: CampaignProgress) -> list[str]:
    """Who holds barriers for the longest time, a line for each."""
    holding = [(run, seat) for run in progress.runs for seat in run.stragglers]
    holding.sort(key=lambda each: -each[1].open_seconds)
    return [
        f"{run.planned.run_id}: seat {seat.seat} ({seat.candidate}) holds the window "
        f"of day {run.days} for {duration(seat.open_seconds)}, {seat.doing}"
        for run, seat in holding[:_STRAGGLERS]
    ]


def outlook(progress: CampaignProgress) -> str:
    """When all will be done, while somebody is at it, and what it will cost, as far as either can
    be told.
    """
    seconds = None if progress.owner is None else progress.seconds_left
    spent, projected = progress.spent, progress.projected
    time_left = "" if seconds is None else f"; {duration(seconds)} left"
    if spent is None:
        return time_left
    in_all = "" if projected is None else f", about {dollars(cents(projected))} in all"
    return f"{time_left}; {dollars(cents(spent))} spent{in_all}"


def duration(seconds: float) -> str:
    """A time in words, such as 2 h 05 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _picture(progress: CampaignProgress, width: int) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(width=width)
    for _ in range(4):
        grid.add_column(justify="right", no_wrap=True)
    for seed in dict.fromkeys(run.planned.seed for run in progress.runs):
        runs = [run for run in progress.runs if run.planned.seed == seed]
        done = sum(run.state == RunState.COMPLETED for run in runs)
        windows, planned = sum(run.windows for run in runs), len(runs) * progress.windows_per_run
        grid.add_row(
            f"seed {seed}",
            ProgressBar(total=planned, completed=windows, width=width),
            f"{done}/{len(runs)} runs",
            f"{windows:,}/{planned:,} windows",
            f"{sum(run.days for run in runs):,} days",
            f"{sum(len(run.exits) for run in runs)} bankrupt",
        )
    told = f"{summary(progress)}{outlook(progress)}"
    lines = [told, *obstructed(progress), *stragglers(progress)]
    return Group(grid, *(Text(line, overflow="fold") for line in lines))
