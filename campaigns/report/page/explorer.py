"""The trajectory explorer: a page, and beside it one script for each run and for each of its
companies, which the page loads when somebody looks at them.

A page that is opened from a file cannot fetch; it can add a script. What a script carries is packed
(JSON, gzip, base64), so that no text of a model is ever read as a program.
"""

import base64
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from campaigns.records import CompanyDayRecord, CompanyOutcome, MarketDayRecord
from campaigns.records.trajectories import TrajectoryRun, TrajectorySource
from campaigns.report.page import render
from campaigns.report.palette import Look

PAGE: Final = "explorer.html"
CHUNKS: Final = "explorer"
REPORT: Final = "report.html"

# Half again as fast as the usual level, for a tenth more on the disk.
_COMPRESSION: Final = 4
_GZIP: Final = zlib.MAX_WBITS + 16


def write_explorer(
    sources: Iterable[tuple[str, TrajectorySource]],
    looks: Mapping[str, Look],
    folder: Path,
    done: Callable[[object], None],
) -> Path | None:
    """Write the page and its scripts; None when no run has begun.

    `sources` are campaigns with the names that the report gives them, read one run at a time;
    `done` is told after each run. Memory grows by a few kilobytes a run.

    Raises:
        IntegrityError: what is stored is not what was settled.
    """
    campaigns = list(_campaigns(sources, folder / CHUNKS, done))
    if not any(campaign["runs"] for campaign in campaigns):
        return None
    seated = {name for each in campaigns for run in each["runs"] for name in run["lineup"]}
    index = {
        "campaigns": campaigns,
        "candidates": {
            name: {"label": look.label, "colour": look.colour}
            for name, look in looks.items()
            if name in seated
        },
        "folder": CHUNKS,
    }
    page = folder / PAGE
    text = render(
        "explorer.html.j2",
        title=" + ".join(each["campaign"] for each in campaigns),
        report=REPORT,
        index=_packed(index),
    )
    page.write_text(text, encoding="utf-8")
    return page


def _campaigns(
    sources: Iterable[tuple[str, TrajectorySource]], folder: Path, done: Callable[[object], None]
) -> Iterator[dict[str, Any]]:
    for number, (name, source) in enumerate(sources, start=1):
        runs = []
        for place, run in enumerate(source.runs(), start=1):
            written = _run(run, source, folder, f"c{number}r{place}")
            if written is not None:
                runs.append(written)
            done(run)
        yield {
            "campaign": name,
            "days": source.window_days,
            "horizon": source.horizon_days,
            "products": source.products,
            "told": source.has_conversations,
            "runs": runs,
        }


def _run(
    run: TrajectoryRun, source: TrajectorySource, folder: Path, name: str
) -> dict[str, Any] | None:
    """Write the scripts of one run; what the index says of it. None of a run that has not begun."""
    record = run.run
    stories = {seat: _Packing() for seat in range(1, len(record.lineup) + 1)}
    windows: list[tuple[int, int, str, int]] = []
    for seat, story in run.trajectory.windows():
        stories[seat].add(story)
        windows.append((story.world_version, seat, story.status, story.attempts))
    if not record.day and not windows:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    market = _market(run, source.window_days) | {"windows": windows}
    _write(folder, name, _packed(market))
    for seat, packing in stories.items():
        _write(folder, f"{name}s{seat}", packing.text())
    return {
        "id": record.run_id,
        "chunk": name,
        "group": record.group,
        "seed": record.seed,
        "repeat": record.repeat,
        "lineup_label": record.lineup_label,
        "lineup": record.lineup,
        "status": record.status,
        "day": record.day,
        "statuses": dict(Counter(status for _, _, status, _ in windows)),
    }


def _market(run: TrajectoryRun, window_days: int) -> dict[str, Any]:
    """The market of one run: daily cash by seat from day 0, weekly units and revenue by seat,
    prices at every boundary, the public signals of every day, and events.
    """
    seats = range(1, len(run.run.lineup) + 1)
    cash: dict[int, list[int]] = {seat: [] for seat in seats}
    weeks: dict[int, dict[str, list[int]]] = {
        seat: {"orders": [], "units": [], "revenue": []} for seat in seats
    }
    for day in run.rows(CompanyDayRecord):
        own, week = cash[day.seat], weeks[day.seat]
        if not own:
            own.append(day.opening_cash_cents)
        own.append(day.closing_cash_cents)
        for values, amount in zip(
            week.values(),
            (day.consumer_orders, day.fulfilled_units, day.revenue_cents),
            strict=True,
        ):
            if (day.day - 1) % window_days == 0:
                values.append(0)
            values[-1] += amount
    return {
        "cash": cash,
        "weeks": weeks,
        "prices": list(run.trajectory.offers()),
        "signals": [
            (row.signal_day, row.macro, row.demand_index, row.quality_index)
            for row in run.rows(MarketDayRecord)
        ],
        "events": list(run.trajectory.events()),
        "scores": {row.seat: row.score_cents for row in run.rows(CompanyOutcome)},
    }


class _Packing:
    """A list that is packed item by item, so that a company's windows are never all in memory."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(_COMPRESSION, wbits=_GZIP)
        self._packed = bytearray()
        self._begun = False

    def add(self, item: Any) -> None:
        """Add an item at the end."""
        mark = b"," if self._begun else b"["
        self._begun = True
        self._packed += self._compressor.compress(mark + msgspec.json.encode(item))

    def text(self) -> str:
        """The packed list. Nothing can be added any more."""
        end = b"]" if self._begun else b"[]"
        self._packed += self._compressor.compress(end) + self._compressor.flush()
        return base64.b64encode(self._packed).decode()


def _packed(content: Any) -> str:
    packed = gzip.compress(msgspec.json.encode(content), _COMPRESSION, mtime=0)
    return base64.b64encode(packed).decode()


def _write(folder: Path, name: str, packed: str) -> None:
    (folder / f"{name}.js").write_text(f'explorerChunk("{name}","{packed}")\n', encoding="ascii")
