"""Figures of Scores: performance, entrants, directed externalities, the plane, salvage."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from campaigns.report.drawing import (
    Bars,
    Figure,
    bar_columns,
    dollars,
    drawing,
    finished,
    money_axis,
    rows,
    style,
    zero_line,
)
from campaigns.report.figures.setting import Setting
from campaigns.report.palette import GAIN, INK, LOSS, MUTED, PAPER

_MOST_PAIRS: Final = 24


def score_figures(setting: Setting) -> Iterator[Figure]:
    """The figures of the main group."""
    yield from _performance(setting)
    if setting.entrants:
        yield _effects(setting)
        yield _plane(setting)
        yield _directed(setting)
        yield from _stable(setting)
    yield from _salvage(setting)


def _performance(setting: Setting) -> Iterator[Figure]:
    ranking = setting.of_main("ranking")
    if ranking.is_empty():
        return
    lineups = setting.of_main("lineup_means")
    names = ranking["candidate"].to_list()
    with style():
        figure = drawing(0.3 * len(names) + 0.6, setting.room)
        axes = figure.subplots()
        rows(axes, [setting.looks[name].label for name in names])
        zero_line(axes)
        for row, found in enumerate(ranking.iter_rows(named=True)):
            look = setting.looks[found["candidate"]]
            own = lineups.filter(pl.col("candidate") == found["candidate"])[
                "mean_score_cents"
            ].to_list()
            axes.plot([min(own), max(own)], [row, row], color=look.colour, alpha=0.35, lw=2.2)
            axes.scatter(own, [row] * len(own), s=11, color=look.colour, alpha=0.6, lw=0, zorder=3)
            axes.scatter(
                found["mean_score_cents"],
                row,
                s=46,
                color=look.colour,
                marker=look.mark,
                edgecolor=PAPER,
                linewidth=0.8,
                zorder=4,
            )
            place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center"}
            bankrupt = found["bankruptcies"]
            score = dollars(found["mean_score_cents"])
            axes.text(1.015, row - 0.19 * bool(bankrupt), score, **place)
            if bankrupt:
                told = f"bankrupt in {bankrupt} of {found['outcomes']}"
                axes.text(1.015, row + 0.25, told, size=7, color=MUTED, **place)
        money_axis(axes, ticks=setting.ticks)
        axes.set_xlabel("Score")
    yield finished(
        "performance",
        "Operating performance",
        "Candidates by Mean Score (large mark, value on the right) over "
        f"{setting.over}. Small dots are the means of single lineups over seeds, the line is their "
        "range. Bankrupt: outcomes with a cash-negative exit, valued like all others.",
        "lineup_means",
        figure,
    )


def _effects(setting: Setting) -> Figure:
    entrants = setting.entrants
    columns = [
        ("private_cents", "Private"),
        ("mean_externality_per_rival_cents", "Mean per rival"),
        ("others_cents", "On all rivals"),
        ("market_cents", "On the market"),
    ]
    with style():
        figure = bar_columns(
            [setting.looks[each["entrant"]].label for each in entrants],
            [setting.looks[each["entrant"]].colour for each in entrants],
            [Bars(title, [each[key] for each in entrants], dollars) for key, title in columns],
            setting.room,
        )
    return finished(
        "entrants",
        "What each entrant changes",
        f"Each entrant in the reference lineup against {setting.baseline} in its seat, "
        f"{setting.over}. Private: its own Score less the baseline's. On all rivals: the sum of "
        f"the "
        "changes of their Scores; the mean divides it by their number. Market = private + rivals. "
        "Every column has its own scale.",
        "entrants",
        figure,
    )


def _plane(setting: Setting) -> Figure:
    by_seed = setting.of_main("entrants_by_seed").filter(pl.col("in_means"))
    with style():
        figure = drawing(min(4.6, setting.room.width), setting.room)
        axes = figure.subplots()
        zero_line(axes)
        zero_line(axes, "y")
        for each in setting.entrants:
            look = setting.looks[each["entrant"]]
            own = by_seed.filter(pl.col("entrant") == each["entrant"])
            x, y = each["private_cents"], each["market_cents"]
            across, along = own["private_cents"].to_list(), own["market_cents"].to_list()
            axes.plot([min(across), max(across)], [y, y], color=look.colour, alpha=0.55, lw=1.1)
            axes.plot([x, x], [min(along), max(along)], color=look.colour, alpha=0.55, lw=1.1)
            axes.scatter(
                x, y, s=48, color=look.colour, marker=look.mark, edgecolor=PAPER, lw=0.8, zorder=4
            )
        money_axis(axes, ticks=setting.ticks + 1)
        money_axis(axes, "y")
        axes.margins(0.12)
        axes.set_xlabel("Private effect")
        axes.set_ylabel("Market effect")
        _name_points(figure, axes, setting)
    return finished(
        "plane",
        "Private against market effect",
        f"Each entrant's mean over {setting.over}; lines span the lowest to the highest seed on "
        "either axis. Above the horizontal line an entrant enlarges the market, right of the "
        "vertical one it does better than the baseline in its seat.",
        "entrants_by_seed",
        figure,
    )


_BESIDE: Final = ((7, 0, "left"), (-7, 0, "right"), (0, 9, "center"), (0, -9, "center"))
"""Where a label may stand: points to the right and up from its mark, and its alignment."""


def _name_points(figure: Drawing, axes: Axes, setting: Setting) -> None:
    """Labels beside the points, each where it covers no mark and no other label if there is such a
    place.
    """
    figure.draw_without_rendering()
    places = {
        each["entrant"]: axes.transData.transform((each["private_cents"], each["market_cents"]))
        * (72 / figure.dpi)
        for each in setting.entrants
    }
    right = axes.bbox.x1 * 72 / figure.dpi
    taken = [(x - 4, x + 4, y - 4, y + 4) for x, y in places.values()]
    for each in setting.entrants:
        look = setting.looks[each["entrant"]]
        x, y = places[each["entrant"]]
        boxes = [
            (_label_box(x + across, y + up, align, look.label), (across, up, align))
            for across, up, align in (*_BESIDE, *((a, b * 1.9, c) for a, b, c in _BESIDE[2:]))
        ]
        box, (across, up, align) = next(
            (
                found
                for found in boxes
                if found[0][1] <= right and not any(_overlap(found[0], other) for other in taken)
            ),
            boxes[0],
        )
        taken.append(box)
        axes.annotate(
            look.label,
            (each["private_cents"], each["market_cents"]),
            xytext=(across, up),
            textcoords="offset points",
            ha=align,
            va="center",
            fontsize=8,
            color=look.colour,
            fontweight="bold",
            bbox={"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.4},
            zorder=5,
        )


_Box: TypeAlias = tuple[float, float, float, float]


def _label_box(x: float, y: float, align: str, text: str) -> _Box:
    """Left, right, bottom and top of a label, in points."""
    width = 5.4 * len(text)
    left = x - width * {"left": 0, "right": 1, "center": 0.5}[align]
    return left, left + width, y - 4.5, y + 4.5


def _overlap(one: _Box, two: _Box) -> bool:
    return one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]


def _directed(setting: Setting) -> Figure:
    found = {
        (each["entrant"], each["rival"]): each["mean_cents"]
        for each in setting.of_main("directed").iter_rows(named=True)
    }
    stable = {
        (each["entrant"], each["rival"])
        for each in setting.table("stability").filter(pl.col("stable")).iter_rows(named=True)
    }
    panel = list(setting.panel)
    narrow = setting.is_narrow
    largest = max((abs(value) for value in found.values() if value is not None), default=1) or 1
    size = len(panel)
    with style():
        figure = drawing((0.36 if narrow else 0.46) * size + 1.0, setting.room)
        axes = figure.subplots()
        for (row, entrant), (column, rival) in itertools.product(enumerate(panel), repeat=2):
            value = found.get((entrant, rival))
            if value is None:
                continue
            axes.add_patch(
                Rectangle(
                    (column - 0.48, row - 0.46),
                    0.96,
                    0.92,
                    facecolor=GAIN if value > 0 else LOSS,
                    alpha=0.04 + 0.8 * (abs(value) / largest) ** 0.6,
                    linewidth=0,
                )
            )
            axes.text(
                column,
                row,
                _thousands(value) if narrow else dollars(value),
                ha="center",
                va="center",
                fontsize=7 if narrow else 7.8,
                fontweight="bold" if (entrant, rival) in stable else "normal",
            )
            if (entrant, rival) in stable:
                axes.add_patch(
                    Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, ec=INK, lw=0.9)
                )
        rows(axes, [setting.looks[name].label for name in panel])
        axes.set_xlim(-0.55, size - 0.45)
        axes.set_xticks(
            range(size),
            [setting.looks[name].label for name in panel],
            rotation=0 if size <= 4 else 90 if narrow else 35,
            ha="center" if size <= 4 or narrow else "left",
        )
        axes.xaxis.tick_top()
        axes.tick_params(axis="x", labelcolor=INK, labelsize=8)
        axes.spines["bottom"].set_visible(False)
        axes.set_ylabel("Entrant")
        title = "Rival; thousands of dollars" if narrow else "Rival"
        axes.set_title(title, fontweight="normal", color=MUTED, fontsize=8, loc="center")
    blocks = len(setting.study.stability.blocks)
    return finished(
        "directed",
        "Who does what to whom",
        f"The change of a rival's Score that an entrant makes, mean over {setting.over}: blue "
        f"gains, orange loses. Framed and bold: stable, |mean| > SD over {blocks} contrasts.",
        "directed",
        figure,
    )


def _thousands(cents: float) -> str:
    """Thousands of dollars in four marks at most: 0.3, \u22128.3, 18, \u2212120."""
    thousands = cents / 100_000
    written = f"{thousands:.1f}" if abs(thousands) < 9.95 else f"{thousands:.0f}"
    return written.replace("-0.0", "0.0").replace("-", "\u2212")


def _stable(setting: Setting) -> Iterator[Figure]:
    found = (
        setting.table("stability")
        .filter(pl.col("stable"))
        .sort("mean_cents", descending=True)
        .to_dicts()
    )
    if not found:
        return
    contrasts = setting.table("stability_contrasts")
    largest = sorted(found, key=lambda each: -abs(each["mean_cents"]))[:_MOST_PAIRS]
    shown = [each for each in found if each in largest]
    with style():
        figure = drawing(0.215 * len(shown) + 0.6, setting.room)
        axes = figure.subplots()
        labels = [
            f"{setting.looks[each['entrant']].label} \u2192 {setting.looks[each['rival']].label}"
            for each in shown
        ]
        rows(axes, labels)
        zero_line(axes)
        for row, each in enumerate(shown):
            colour = setting.looks[each["entrant"]].colour
            mean, sd = each["mean_cents"], each["sd_cents"]
            own = contrasts.filter(
                (pl.col("entrant") == each["entrant"]) & (pl.col("rival") == each["rival"])
            )["cents"]
            axes.barh(row, mean, height=0.6, color=colour, alpha=0.75, lw=0, zorder=2)
            axes.plot([mean - sd, mean + sd], [row, row], color=INK, linewidth=1, zorder=3)
            axes.scatter(
                own, [row] * len(own), s=7, facecolor=PAPER, edgecolor=INK, lw=0.6, zorder=4
            )
        money_axis(axes, ticks=setting.ticks + 1)
    left_out = f" The {len(shown)} largest of {len(found)}." if len(shown) < len(found) else ""
    yield finished(
        "stable_pairs",
        "Stable directed externalities",
        f"Entrant \u2192 rival, pairs whose |mean| exceeds the sample SD over the contrasts of "
        f"{', '.join(setting.study.stability.blocks)}. Bar: mean; line: mean \u00b1 SD; circles: "
        f"the single contrasts. Descriptive; no significance is claimed.{left_out}",
        "stability",
        figure,
    )


def _salvage(setting: Setting) -> Iterator[Figure]:
    found = setting.of_main("salvage").to_dicts()
    if not found:
        return
    with style():
        figure = drawing(0.28 * len(found) + 0.6, setting.room)
        axes = figure.subplots()
        rows(axes, [setting.looks[each["candidate"]].label for each in found])
        zero_line(axes)
        for row, each in enumerate(found):
            look = setting.looks[each["candidate"]]
            official, cash = each["official_cents"], each["cash_only_cents"]
            axes.plot([cash, official], [row, row], color=look.colour, alpha=0.5, lw=2)
            axes.scatter(cash, row, s=30, facecolor=PAPER, edgecolor=look.colour, lw=1.4, zorder=3)
            axes.scatter(official, row, s=34, color=look.colour, zorder=3, lw=0)
            rank = f"rank {each['official_rank']}"
            if each["official_rank"] != each["cash_only_rank"]:
                rank += f" \u2192 {each['cash_only_rank']}"
            axes.text(1.015, row, rank, transform=axes.get_yaxis_transform(), va="center")
        money_axis(axes, ticks=setting.ticks)
        axes.set_xlabel("Mean Score")
    yield finished(
        "salvage",
        "Salvage sensitivity",
        f"Mean Score over {setting.over} with terminal salvage (filled) and without it (hollow), "
        f"and the rank, with the cash-only rank where it differs. {_kept(found)}",
        "salvage",
        figure,
    )


def _kept(found: Sequence[dict[str, Any]]) -> str:
    compared = [each for each in found if each["pairs"] is not None]
    if not compared:
        return ""
    market = sum(bool(each["market_sign_kept"]) for each in compared)
    pairs = sum(each["directed_signs_kept"] for each in compared)
    of_pairs = sum(each["pairs"] for each in compared)
    seeds = sum(each["seed_signs_kept"] for each in compared)
    of_seeds = sum(each["seeds"] for each in compared)
    return (
        f"Without salvage {market} of {len(compared)} market means, {seeds} of {of_seeds} market "
        f"contrasts at single seeds and {pairs} of {of_pairs} directed means keep their sign."
    )
