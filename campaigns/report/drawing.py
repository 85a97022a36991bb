"""What all figures share: a style, money on axes, zero lines, and how a drawing becomes files."""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from campaigns.report.palette import INK, MUTED, PAPER, RULE, Look

WIDTH: Final = 7.6
"""Inches of a figure's width; with 9-point text it fills a column."""

_PNG_DPI: Final = 200
_STYLE: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.5,
    "axes.edgecolor": RULE,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": False,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 9,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "axes.unicode_minus": True,
}

Looks: TypeAlias = Mapping[str, Look]


@dataclass(frozen=True, slots=True)
class Figure:
    """A finished figure: its file name, title, caption, the table behind it, and its two files."""

    name: str
    title: str
    caption: str
    table: str
    svg: str
    png: bytes


@contextmanager
def style() -> Iterator[None]:
    """The style of all figures, for drawing and saving."""
    with matplotlib.rc_context(_STYLE):
        yield


def finished(name: str, title: str, caption: str, table: str, drawing: Drawing) -> Figure:
    """The files of a drawing; equal drawings give equal bytes."""
    with style(), matplotlib.rc_context({"svg.hashsalt": name}):
        svg, png = io.StringIO(), io.BytesIO()
        # Laid out once, for both files: that takes most of the time.
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")
        drawing.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        drawing.savefig(png, format="png", dpi=_PNG_DPI, metadata={"Software": None})
    text = svg.getvalue()
    return Figure(name, title, caption, table, text[text.index("<svg") :], png.getvalue())


def drawing(height: float, width: float = WIDTH) -> Drawing:
    """An empty drawing, which lays itself out; sizes in inches."""
    return Drawing(figsize=(width, height), layout="constrained")


def dollars(cents: float) -> str:
    """An amount for a label: $950, $12.3k, $1.23M, with a true minus sign."""
    amount = abs(cents) / 100
    sign = "\u2212" if cents < 0 and round(amount) else ""
    if amount >= 999_500:
        return f"{sign}${amount / 1e6:,.2f}M"
    if amount >= 9_995:
        return f"{sign}${amount / 1e3:,.1f}k"
    return f"{sign}${amount:,.0f}"


def _tick(cents: float, _position: int) -> str:
    amount = abs(cents) / 100
    sign = "\u2212" if cents < 0 else ""
    if amount >= 1e6:
        return f"{sign}${amount / 1e6:g}M"
    return f"{sign}${amount / 1e3:g}k" if amount >= 1e3 else f"{sign}${amount:g}"


def money_axis(axes: Axes, which: str = "x", ticks: int = 6) -> None:
    """Dollars on an axis of cents, few ticks, faint lines."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(_tick))
    axes.grid(axis="x" if which == "x" else "y", zorder=0)
    axes.set_axisbelow(True)


def zero_line(axes: Axes, which: str = "x") -> None:
    """A line at zero."""
    line = axes.axvline if which == "x" else axes.axhline
    line(0, color=MUTED, linewidth=0.9, zorder=1)


def rows(axes: Axes, labels: Sequence[str], *, shown: bool = True) -> None:
    """One row a label, the first on top."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), list(labels) if shown else [""] * len(labels))


@dataclass(frozen=True, slots=True)
class Bars:
    """One column of bars: a value for each row, None where there is none, and how it is written.

    `spread` draws an interval of that half width around the values.
    """

    title: str
    values: Sequence[float | None]
    written: Callable[[float], str]
    spread: Sequence[float | None] | None = None


def bar_columns(labels: Sequence[str], colours: Sequence[str], columns: Sequence[Bars]) -> Drawing:
    """Rows of candidates against columns of measures: a bar with its value each, every column on a
    scale of its own, up to four columns side by side.
    """
    across = min(4, len(columns))
    bands = [columns[start : start + across] for start in range(0, len(columns), across)]
    figure = drawing(len(bands) * (0.24 * len(labels) + 0.55))
    figure.set_layout_engine(ConstrainedLayoutEngine(hspace=0.07))
    grid = figure.subplots(len(bands), across, squeeze=False)
    for band, places in zip(bands, grid, strict=True):
        for number, axes in enumerate(places):
            if number < len(band):
                rows(axes, labels, shown=number == 0)
                _bars(axes, colours, band[number])
            else:
                axes.set_visible(False)
    return figure


def _bars(axes: Axes, colours: Sequence[str], column: Bars) -> None:
    axes.set_title(column.title)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    zero_line(axes)
    spread = column.spread or [None] * len(column.values)
    reach = max((abs(value) + (more or 0) for value, more in _pairs(column)), default=0) or 1
    low = min((value - (more or 0) for value, more in _pairs(column) if value < 0), default=0)
    high = max((value + (more or 0) for value, more in _pairs(column) if value >= 0), default=0)
    # On each side with bars their values are written, which takes a good third of the width.
    sides = (low < 0) + (high > 0 or low == 0)
    room = 0.36 * ((high - low) or reach) / (1 - 0.36 * sides)
    axes.set_xlim(low - room * (low < 0), high + room * (high > 0 or low == 0))
    for row, (value, more, colour) in enumerate(zip(column.values, spread, colours, strict=True)):
        if value is None:
            axes.text(0.03 * reach, row, "\u2013", va="center", color=MUTED)
            continue
        axes.barh(row, value, height=0.62, color=colour, linewidth=0, zorder=2)
        end = value + (more or 0) if value >= 0 else value - (more or 0)
        if more:
            axes.plot([value - more, value + more], [row, row], color=INK, linewidth=0.9, zorder=3)
        axes.annotate(
            column.written(value),
            (end, row),
            xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points",
            va="center",
            ha="left" if value >= 0 else "right",
            fontsize=8,
        )


def _pairs(column: Bars) -> Iterator[tuple[float, float | None]]:
    for value, more in zip(
        column.values, column.spread or [None] * len(column.values), strict=True
    ):
        if value is not None:
            yield value, more


_THEMED: Final = {INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper"}
_STACK: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


def themed(figure: Figure) -> str:
    """A figure's SVG for a page: the theme's colours, the page's font, its width, ids of its own,
    and a title for those who cannot see it.
    """
    svg = re.sub(r"<metadata>.*?</metadata>", "", figure.svg, flags=re.DOTALL)
    # The page has a paper of its own.
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)
    for colour, variable in _THEMED.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"'DejaVu Sans'(, sans-serif)?", _STACK, svg)
    svg = re.sub(r'\bid="', f'id="{figure.name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{figure.name}-", svg)
    svg = re.sub(r'xlink:href="#', f'xlink:href="#{figure.name}-', svg)
    return re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        lambda found: (
            f'<svg viewBox="{found[1]}" role="img" aria-label="{figure.title}" '
            'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        ),
        svg,
        count=1,
    )
