"""Figures over several blocks: repeats, and two baselines compared."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from campaigns.report.drawing import (
    Figure,
    dollars,
    drawing,
    finished,
    money_axis,
    panels,
    rows,
    style,
    zero_line,
)
from campaigns.report.figures.setting import Setting
from campaigns.report.palette import MUTED, PAPER

_ENDPOINTS: Final = {
    "private": "Private",
    "others": "On all rivals",
    "market": "On the market",
}


def pooled_figures(setting: Setting) -> Iterator[Figure]:
    """The figures of the pool, as far as it has several blocks or baselines."""
    if len(set(setting.table("block_ranks")["block"])) > 1:
        yield _ranks(setting)
    for found in setting.study.comparisons:
        if found.contrasts:
            yield _endpoints(setting, found.seed, found.other)
            yield _pairs(setting, found.seed, found.other)


def _ranks(setting: Setting) -> Figure:
    ranks = setting.table("block_ranks")
    blocks = list(dict.fromkeys(ranks["block"]))
    narrow = setting.is_narrow
    with style():
        figure = drawing(0.34 * len(setting.panel) + 0.7, setting.room)
        axes = figure.subplots()
        for name in setting.panel:
            look = setting.looks[name]
            own = ranks.filter(pl.col("candidate") == name).to_dicts()
            places = [blocks.index(each["block"]) for each in own]
            heights = [each["rank"] for each in own]
            axes.plot(places, heights, color=look.colour, lw=2, alpha=0.85, zorder=2)
            axes.scatter(
                places, heights, s=40, color=look.colour, marker=look.mark, ec=PAPER, zorder=3
            )
            for place, each in zip(places, own, strict=True):
                axes.annotate(
                    dollars(each["mean_score_cents"]),
                    (place, each["rank"]),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize=6.5 if narrow else 7.5,
                    color=MUTED,
                )
            axes.annotate(
                look.label,
                (places[-1], heights[-1]),
                xytext=(9, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_ylim(len(setting.panel) + 0.4, 0.2)
        axes.set_yticks(range(1, len(setting.panel) + 1))
        axes.set_ylabel("Rank")
        axes.set_xlim(-0.3, len(blocks) - 0.3 + 0.12 * len(blocks))
        axes.set_xticks(range(len(blocks)), blocks, rotation=35 if narrow else 0)
        axes.spines["bottom"].set_visible(False)
    return finished(
        "repeats",
        "Ranks and means within each block",
        "Within each block (one campaign, seed and repeat) a candidate's mean Score over the "
        "lineups that include it, and its rank among the panel. Blocks of one seed differ by "
        "chance alone where all that is bound is equal.",
        "block_ranks",
        figure,
    )


def _endpoints(setting: Setting, seed: int, other: str) -> Figure:
    found = setting.table("baselines").filter((pl.col("seed") == seed) & (pl.col("other") == other))
    first = setting.looks[found["first"][0]].label
    against = setting.looks[other].label
    with style():
        across = setting.room.panels
        figure, places = panels(
            len(_ENDPOINTS), 0.3 * len(setting.panel) + 0.7, setting.room, across
        )
        for number, (axes, (endpoint, title)) in enumerate(
            zip(places, _ENDPOINTS.items(), strict=True)
        ):
            labels = [setting.looks[name].label for name in setting.panel]
            rows(axes, labels, shown=number % across == 0)
            zero_line(axes)
            axes.set_title(title)
            own = {
                each["entrant"]: each
                for each in found.filter(pl.col("endpoint") == endpoint).iter_rows(named=True)
            }
            for row, name in enumerate(setting.panel):
                colour = setting.looks[name].colour
                one, two = own[name]["first_cents"], own[name]["other_cents"]
                axes.plot([one, two], [row, row], color=colour, alpha=0.5, lw=2)
                axes.scatter(one, row, s=32, color=colour, lw=0, zorder=3)
                axes.scatter(two, row, s=30, facecolor=PAPER, edgecolor=colour, lw=1.4, zorder=3)
            money_axis(axes, ticks=3 if setting.is_narrow else 4)
    return finished(
        f"baselines_s{seed}_{_file(other)}",
        f"Entrants against {first} and against {against}",
        f"Seed {seed}: the same contrasts with {first} (filled) and with {against} (hollow) in the "
        f"entrant's seat. The reference is the mean of all controls. {_same(setting, seed, other)}",
        "baselines",
        figure,
    )


def _pairs(setting: Setting, seed: int, other: str) -> Figure:
    found = setting.table("baselines").filter(
        (pl.col("seed") == seed)
        & (pl.col("other") == other)
        & ~pl.col("endpoint").is_in(list(_ENDPOINTS))
    )
    first = setting.looks[found["first"][0]].label
    against = setting.looks[other].label
    with style():
        narrow = setting.is_narrow
        figure = drawing(4.6, setting.room)
        axes = figure.subplots()
        zero_line(axes)
        zero_line(axes, "y")
        for name in setting.panel:
            look = setting.looks[name]
            own = found.filter(pl.col("entrant") == name)
            axes.scatter(
                own["first_cents"],
                own["other_cents"],
                s=26,
                color=look.colour,
                marker=look.mark,
                edgecolor=PAPER,
                linewidth=0.6,
                label=look.label,
                zorder=3,
            )
        money_axis(axes, ticks=setting.ticks)
        money_axis(axes, "y")
        axes.set_xlabel(f"Effect on the rival, against {first}")
        axes.set_ylabel(f"Against {against}")
        figure.legend(
            loc="outside lower center" if narrow else "outside right upper",
            ncols=3 if narrow else 1,
            frameon=False,
            title="Entrant",
            fontsize=8,
        )
    return finished(
        f"baseline_pairs_s{seed}_{_file(other)}",
        f"Directed externalities against {first} and {against}",
        f"Seed {seed}: one mark for each directed pair. In the lower left and upper right quarters "
        f"the sign is the same. {_same(setting, seed, other)}",
        "baselines",
        figure,
    )


def _same(setting: Setting, seed: int, other: str) -> str:
    signs = setting.table("baseline_signs").filter(
        (pl.col("seed") == seed) & (pl.col("other") == other)
    )
    counted = ", ".join(
        f"{each['endpoint']} {each['same_sign']} of {each['of']}"
        for each in signs.iter_rows(named=True)
    )
    return f"Same sign: {counted}."


def _file(name: str) -> str:
    """A candidate's id as a part of a file name."""
    return "".join(mark if mark.isalnum() else "-" for mark in name)
