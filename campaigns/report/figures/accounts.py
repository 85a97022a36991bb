"""Figures of money: cash over time, outlays, profiles, decomposition."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl
from matplotlib.axes import Axes

from campaigns.analysis.accounts import OUTLAYS
from campaigns.analysis.measures import ACCOUNTS
from campaigns.plan import PlannedRun
from campaigns.report.drawing import (
    Bars,
    Figure,
    bar_columns,
    dollars,
    finished,
    money_axis,
    panels,
    rows,
    style,
    zero_line,
)
from campaigns.report.figures.setting import Setting
from campaigns.report.palette import INK, PAPER

_CATEGORIES: Final = {
    "procurement": "Procurement",
    "capacity": "Capacity",
    "marketing": "Marketing",
    "product_and_development": "Product, R&D",
    "service": "Service",
    "market_research": "Market research",
    "holding_and_penalties": "Holding, penalties",
}


def account_figures(setting: Setting) -> Iterator[Figure]:
    """The figures of the main group's campaign, as far as it has daily accounts."""
    if setting.evidence.cash is not None:
        yield from _markets(setting)
        yield _candidates(setting)
    if not setting.of_main("outlays").is_empty():
        yield _outlays(setting)
    if not setting.of_main("profiles").is_empty():
        yield _profiles(setting)
    if setting.entrants and not setting.of_main("decomposition").is_empty():
        yield _decomposition(setting)


def _markets(setting: Setting) -> Iterator[Figure]:
    cash = _cash(setting)
    runs = setting.evidence.runs_of(setting.main.group)
    for seed, repeat in dict.fromkeys((run.seed, run.repeat) for run in runs):
        own = [run for run in runs if (run.seed, run.repeat) == (seed, repeat)]
        several = len({run.repeat for run in runs if run.seed == seed}) > 1
        yield _of_seed(setting, cash, own, f"seed {seed}" + (f", repeat {repeat}" * several))


def _of_seed(
    setting: Setting, cash: pl.DataFrame, runs: Sequence[PlannedRun], where: str
) -> Figure:
    across = setting.room.panels
    with style():
        figure, places = panels(len(runs), 1.6, setting.room, across, shared=True)
        for axes, run in zip(places, runs, strict=True):
            out = "nobody" if run.replaced is None else setting.looks[run.replaced].label
            axes.set_title("Reference" if run.replaced is None else f"Without {out}")
            _panel(axes, setting, cash.filter(pl.col("run_id") == run.run_id))
        _days(places, across)
        _key(setting, figure, list(dict.fromkeys(name for run in runs for name in run.lineup)))
    return finished(
        "cash_markets_" + "".join(mark for mark in where if mark.isalnum()),
        f"Cash in each market, {where}",
        "Closing cash of every company, one panel for each lineup, all on one scale. A cross marks "
        "the day of a bankruptcy.",
        "cash",
        figure,
    )


def _key(setting: Setting, figure: Any, names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=setting.looks[name].colour, lw=2, label=setting.looks[name].label)
        for name in names
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(3 if setting.is_narrow else 5, len(names)),
        frameon=False,
        fontsize=7.5,
        handlelength=1.2,
    )


def _candidates(setting: Setting) -> Figure:
    cash = _cash(setting)
    names = [name for name in setting.evidence.candidates if name in set(cash["candidate"])]
    across = setting.room.panels
    with style():
        figure, places = panels(len(names), 1.6, setting.room, across, shared=True)
        for axes, name in zip(places, names, strict=True):
            own = cash.filter(pl.col("candidate") == name)
            count = own.select("run_id", "seat").unique().height
            axes.set_title(f"{setting.looks[name].label}  ({count})")
            _panel(axes, setting, own, alpha=0.45, width=0.8)
        _days(places, across)
    return finished(
        "cash_candidates",
        "Cash of each candidate",
        "Closing cash of a candidate in every run that includes it (their number in brackets), all "
        "on one scale. A cross marks the day of a bankruptcy. Runs that are not completed end "
        "where they stand.",
        "cash",
        figure,
    )


def _days(places: Sequence[Axes], across: int) -> None:
    """Days below the lowest panel of each column."""
    for axes in places[-across:]:
        axes.set_xlabel("Day")
        axes.tick_params(labelbottom=True)


def _panel(
    axes: Axes, setting: Setting, cash: pl.DataFrame, alpha: float = 0.9, width: float = 1.1
) -> None:
    zero_line(axes, "y")
    for (_, _, name), own in cash.group_by("run_id", "seat", "candidate", maintain_order=True):
        colour = setting.looks[str(name)].colour
        axes.plot(own["day"], own["cash_cents"], color=colour, lw=width, alpha=alpha)
        gone = own.filter(pl.col("exited"))
        axes.scatter(
            gone["day"], gone["cash_cents"], marker="x", s=22, color=colour, lw=1.4, zorder=5
        )
    money_axis(axes, "y", ticks=4)


def _cash(setting: Setting) -> pl.DataFrame:
    runs = {run.run_id for run in setting.evidence.runs_of(setting.main.group)}
    return setting.of_main("cash").filter(pl.col("run_id").is_in(runs))


def _outlays(setting: Setting) -> Figure:
    found = setting.of_main("outlays")
    names = list(dict.fromkeys(found["candidate"]))
    shares = {(each["candidate"], each["category"]): each for each in found.iter_rows(named=True)}
    spent = [sum(shares[name, kind]["spent_per_run_cents"] for kind in OUTLAYS) for name in names]
    columns = [
        Bars(
            _CATEGORIES[kind],
            [_percent(shares[name, kind]["share"]) for name in names],
            lambda value: f"{value:.1f}%",
        )
        for kind in OUTLAYS
    ]
    with style():
        figure = bar_columns(
            [setting.looks[name].label for name in names],
            [setting.looks[name].colour for name in names],
            [*columns, Bars("Spent per run", spent, dollars)],
            setting.room,
        )
    return finished(
        "outlays",
        "Where cash goes",
        f"Share of a candidate's gross outlays by category over all completed runs of "
        f"{setting.main.campaign}, and the outlays per run. Capacity: capital, fees and tier "
        "overhead; product and R&D: daily budgets and innovation projects; service: reliability, "
        "support and remediation. Every column has its own scale.",
        "outlays",
        figure,
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _profiles(setting: Setting) -> Figure:
    found = setting.of_main("profiles").filter(pl.col("candidate").is_not_null())
    names = [name for name in setting.evidence.candidates if name in set(found["candidate"])]
    measures = {
        "revenue_cents": "Revenue",
        "net_outlays_cents": "Net outlays",
        "marketing_cents": "Marketing",
        "fulfilled_units_hundredths": "Fulfilled units",
    }
    with style():
        across = setting.room.columns
        figure, places = panels(len(measures), 0.29 * len(names) + 0.75, setting.room, across)
        for number, (axes, (measure, title)) in enumerate(
            zip(places, measures.items(), strict=True)
        ):
            axes.set_title(title)
            labels = [setting.looks[name].label for name in names]
            rows(axes, labels, shown=number % across == 0)
            for row, name in enumerate(names):
                look = setting.looks[name]
                for each in found.filter(pl.col("candidate") == name).iter_rows(named=True):
                    if each[measure] is not None:
                        axes.scatter(
                            each[measure],
                            row,
                            s=34,
                            facecolor=look.colour if each["gained"] else PAPER,
                            edgecolor=look.colour,
                            linewidth=1.3,
                            zorder=3,
                        )
            _profile_axis(axes, measure)
    return finished(
        "profiles",
        "Accounting profiles",
        "Means of outcomes that gained (Score > 0, filled) and of those that did not (hollow), for "
        f"each candidate over all completed runs of {setting.main.campaign}.",
        "profiles",
        figure,
    )


def _profile_axis(axes: Axes, measure: str) -> None:
    money_axis(axes, ticks=3)
    axes.margins(x=0.12)
    axes.set_xlim(left=0)
    if not measure.endswith("_cents"):
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 100:,.0f}")


def _decomposition(setting: Setting) -> Figure:
    found = {
        (each["entrant"], each["account"]): each
        for each in setting.of_main("decomposition").iter_rows(named=True)
    }
    titles = ("Revenue", "Net outlays", "Salvage", "Score", "Orders")
    names = [name for name in setting.panel if (name, "score_cents") in found]
    with style():
        across = setting.room.panels if setting.is_narrow else len(ACCOUNTS)
        figure, places = panels(len(ACCOUNTS), 0.3 * len(names) + 0.75, setting.room, across)
        for number, (axes, account, title) in enumerate(zip(places, ACCOUNTS, titles, strict=True)):
            axes.set_title(title)
            labels = [setting.looks[name].label for name in names]
            rows(axes, labels, shown=number % across == 0)
            zero_line(axes)
            for row, name in enumerate(names):
                each, colour = found[name, account], setting.looks[name].colour
                if each["market"] is not None:
                    axes.barh(row - 0.2, each["private"], 0.36, color=colour, lw=0)
                    axes.barh(row + 0.2, each["others"], 0.36, color=colour, lw=0, alpha=0.4)
                    axes.scatter(each["market"], row, s=16, color=INK, marker="|", lw=1.4, zorder=4)
            money_axis(axes, ticks=3)
            if not account.endswith("_cents"):
                axes.xaxis.set_major_formatter(lambda value, _: f"{value / 100:,.0f}")
    return finished(
        "decomposition",
        "Where the contrasts come from",
        f"Matched differences {setting.over} between the reference and the lineup with "
        f"{setting.baseline} in the entrant's seat: for that seat (full colour), for all rivals "
        "together (pale) and for the market (tick). Revenue less net outlays plus salvage makes "
        "the Score.",
        "decomposition",
        figure,
    )
