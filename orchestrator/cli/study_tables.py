"""A study as tables for people: the main ones of those that are written to files."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from campaigns.analysis.study import Study
from campaigns.analysis.tables import Table
from orchestrator.cli.output import Column
from orchestrator.cli.tables import print_table, print_text, whole_dollars

_SHOWN: Final = (
    "ranking",
    "entrants",
    "baseline_signs",
    "decision_health",
    "scale",
)
_HEADINGS: Final = {
    "mean_score_cents": "Mean Score",
    "mean_externality_per_rival_cents": "per rival",
    "positive_market_seeds": "market > 0",
    "budget_exhausted": "budget",
    "protocol_error": "protocol",
}
_SHARES: Final = ("_rate", "share")


def show_study(study: Study, tables: Mapping[str, Table]) -> None:
    """Print the main tables of a study, and what it lacks."""
    several = len({(group.campaign, group.group) for group in study.groups}) > 1
    for name in _SHOWN:
        table = tables[name]
        if not table.frame.is_empty():
            _show(table, several=several or len(study.evidence) > 1)
    _show_stability(study)
    _show_identities(tables["identities"])
    notices = study.notices()
    if notices:
        print_text("", "To be noticed:", *(f"  {each}" for each in notices))


def _show(table: Table, *, several: bool) -> None:
    frame = table.frame
    if not several:
        frame = frame.drop("campaign", "group", strict=False)
    columns = [
        Column(_heading(name), number=kind != pl.String) for name, kind in frame.schema.items()
    ]
    rows = (
        tuple(_cell(name, value) for name, value in row.items())
        for row in frame.iter_rows(named=True)
    )
    print_table(table.title, columns, rows)


def _heading(name: str) -> str:
    return _HEADINGS.get(name) or name.removesuffix("_cents").replace("_", " ")


def _cell(name: str, value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_cents"):
        return whole_dollars(value)
    if isinstance(value, float):
        return f"{100 * value:.1f}%" if name.endswith(_SHARES) else f"{value:,.2f}"
    if value is None and name == "candidate":
        return "all"
    return value


def _show_stability(study: Study) -> None:
    pairs = study.stability.pairs
    if not pairs or pairs[0].is_stable is None:
        return
    stable = sum(bool(pair.is_stable) for pair in pairs)
    print_text(
        f"Stable          {stable} of {len(pairs)} directed pairs have |mean| > SD over "
        f"{', '.join(study.stability.blocks)}"
    )


def _show_identities(table: Table) -> None:
    if not table.frame.is_empty():
        closing = int(table.frame["closes"].sum())
        print_text(f"Accounts        {closing} of {table.frame.height} outcomes close to the cent")
