"""What all figures share: a style, money on axes, zero lines, and how a drawing becomes files."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from campaigns.report.palette import INK, MUTED, PAPER, RULE


class Room(NamedTuple):
    """How much room a figure has: inches of width, and how many columns of bars, and how many small
    panels, stand side by side at most.
    """

    width: float
    columns: int
    panels: int


WIDE: Final = Room(7.6, 4, 3)
"""With 9-point text it fills a column of a page."""

NARROW: Final = Room(3.9, 2, 2)
"""With the same text it fills a phone."""

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


@dataclass(frozen=True, slots=True)
class Figure:
    """A finished figure: its file name, title, caption, the table behind it, its two files, and the
    same drawing for a narrow page.
    """

    name: str
    title: str
    caption: str
    table: str
    svg: str
    png: bytes
    narrow_svg: str = ""


@contextmanager
def style() -> Iterator[None]:
    """The style of all figures, for drawing and saving."""
    with matplotlib.rc_context(_STYLE):
        yield


def finished(name: str, title: str, caption: str, table: str, drawing: Drawing) -> Figure:
    """The files of a drawing, a narrow one without PNG; equal drawings give equal bytes."""
    with style(), matplotlib.rc_context({"svg.hashsalt": name}):
        svg, png = io.StringIO(), io.BytesIO()
        # Laid out once, for both files: that takes most of the time.
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")
        drawing.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        if drawing.get_figwidth() >= WIDE.width:
            drawing.savefig(png, format="png", dpi=_PNG_DPI, metadata={"Software": None})
    text = svg.getvalue()
    return Figure(name, title, caption, table, text[text.index("<svg") :], png.getvalue())


def drawing(height: float, room: Room) -> Drawing:
    """An empty drawing, which lays itself out; its height in inches."""
    return Drawing(figsize=(room.width, height), layout="constrained")


def panels(
    count: int, height: float, room: Room, across: int, *, shared: bool = False
) -> tuple[Drawing, list[Axes]]:
    """A drawing of so many panels, at most `across` side by side, each row of this height, and the
    panels in reading order; `shared` puts all on one scale.
    """
    down = ceil(count / across)
    figure = drawing(height * down, room)
    places = figure.subplots(down, across, squeeze=False, sharex=shared, sharey=shared)
    for axes in places.flat[count:]:
        axes.set_visible(False)
    return figure, list(places.flat[:count])


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


def bar_columns(
    labels: Sequence[str], colours: Sequence[str], columns: Sequence[Bars], room: Room
) -> Drawing:
    """Rows of candidates against columns of measures: a bar with its value each, every column on a
    scale of its own.
    """
    across = min(room.columns, len(columns))
    figure, places = panels(len(columns), 0.24 * len(labels) + 0.55, room, across)
    figure.set_layout_engine(ConstrainedLayoutEngine(hspace=0.07, wspace=0.12))
    for number, (axes, column) in enumerate(zip(places, columns, strict=True)):
        rows(axes, labels, shown=number % across == 0)
        _bars(axes, colours, column)
    return figure


_OF_VALUES: Final = 0.4
"""The part of a column of bars in which their values stand, one below the other."""


def _bars(axes: Axes, colours: Sequence[str], column: Bars) -> None:
    axes.set_title(column.title)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    zero_line(axes)
    spread = column.spread or [None] * len(column.values)
    low = min((value - (more or 0) for value, more in _pairs(column) if value < 0), default=0)
    high = max((value + (more or 0) for value, more in _pairs(column) if value >= 0), default=0)
    axes.set_xlim(low, low + ((high - low) or 1) / (1 - _OF_VALUES))
    for row, (value, more, colour) in enumerate(zip(column.values, spread, colours, strict=True)):
        written = "\u2013" if value is None else column.written(value)
        axes.text(
            1, row, written, transform=axes.get_yaxis_transform(), va="center", ha="right", size=8
        )
        if value is not None:
            axes.barh(row, value, height=0.62, color=colour, linewidth=0, zorder=2)
        if value is not None and more:
            axes.plot([value - more, value + more], [row, row], color=INK, linewidth=0.9, zorder=3)


def _pairs(column: Bars) -> Iterator[tuple[float, float | None]]:
    for value, more in zip(
        column.values, column.spread or [None] * len(column.values), strict=True
    ):
        if value is not None:
            yield value, more


_THEMED: Final = {INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper"}
_STACK: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


def themed(figure: Figure, *, narrow: bool = False) -> str:
    """A figure's SVG for a page: the theme's colours, the page's font, its width, ids of its own,
    and a title for those who cannot see it.
    """
    name = f"{figure.name}-narrow" if narrow else figure.name
    svg = figure.narrow_svg if narrow else figure.svg
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The page has a paper of its own.
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)
    for colour, variable in _THEMED.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"'DejaVu Sans'(, sans-serif)?", _STACK, svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'xlink:href="#', f'xlink:href="#{name}-', svg)
    return re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        lambda found: (
            f'<svg viewBox="{found[1]}" role="img" aria-label="{figure.title}" '
            'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        ),
        svg,
        count=1,
    )
