"""A plain table of Scores, CSV or Parquet, made elsewhere (docs/analysis.md lists its columns).

Required: `seed`, `seat`, `candidate`, `score_cents`, and `lineup` or `replaced`. Optional: `group`
and `repeat` (one group, first repeat), `salvage_cents`, `revenue_cents`, `net_outlays_cents` (cents
as well) and `status` (`active` or `bankrupt`). Money is in integer cents.

A row is one company in one world. Rows of one group, repeat, seed and lineup are one world. In the
reference lineup nobody is replaced: `replaced` is empty, or `lineup` is `reference`. In others
`replaced` names the candidate left out; without that column it is read off the lineup
`without-<candidate>`, or found by comparing with the reference (`scores_design`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from campaigns.analysis.evidence import Evidence
from campaigns.analysis.scores_design import WITHOUT, World, designed
from campaigns.plan import REFERENCE, PlannedRun
from campaigns.records import CompanyOutcome
from manifests.errors import InputError

REQUIRED: Final = ("seed", "seat", "candidate", "score_cents")
MONEY: Final = ("salvage_cents", "revenue_cents", "net_outlays_cents")
BANKRUPT: Final = "bankrupt"
_STATUSES: Final = ("active", BANKRUPT)
_INTEGERS: Final = ("repeat", "seed", "seat", "score_cents", *MONEY)
_TEXTS: Final = ("group", "lineup", "replaced", "candidate", "status")
_MAY_BE_EMPTY: Final = ("replaced", "lineup")
_REMEDY: Final = "Give a CSV file with a header, or a Parquet file."

# What polars calls a column whose name stands in the header a second time.
_AGAIN: Final = "_duplicated_"


def read_scores(file: Path) -> Evidence:
    """The evidence of a scores table; runs that its own design leaves open are missing.

    Raises:
        InputError: the file cannot be read, lacks a column, holds another type or an empty cell, or
            its lineups are not those of one panel.
    """
    found = _read(file)
    frame = _checked(found, file)
    worlds: dict[World, dict[int, dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        key = World(row["group"], row["repeat"], row["seed"], _lineup(row, file))
        seats = worlds.setdefault(key, {})
        if row["seat"] in seats:
            raise InputError(
                f"{file}: group {key.group}, repeat {key.repeat}, seed {key.seed}, lineup "
                f"{key.lineup}, seat {row['seat']} stands twice.",
                "Give each company of a world once.",
            )
        seats[row["seat"]] = row
    planned = designed(worlds, file)
    outcomes = [
        _outcome(run, row, file.stem)
        for run, seats in zip(planned, worlds.values(), strict=False)
        for _, row in sorted(seats.items())
    ]
    measured = frozenset(
        measure
        for measure, column in (*zip(MONEY, MONEY, strict=True), ("exit_day", "status"))
        if column in frame.columns
    )
    unknown = [name for name in found.columns if name not in {*_INTEGERS, *_TEXTS}]
    passed_over = f"columns that are not looked at: {', '.join(unknown)}"
    return Evidence(
        campaign=file.stem,
        place=str(file),
        manifest=None,
        planned=tuple(planned),
        runs=(),
        outcomes=tuple(outcomes),
        sums=None,
        cash=None,
        trajectories=(),
        measured=measured,
        remarks=(passed_over,) if unknown else (),
    )


def _read(file: Path) -> pl.DataFrame:
    """The table as it stands, its columns by name, without empty lines."""
    try:
        # Opened here: a path is a pattern to the library, and a folder all the files in it.
        with file.open("rb") as opened:
            if file.suffix.lower() in (".parquet", ".pq"):
                frame = pl.read_parquet(opened)
            else:
                frame = pl.read_csv(opened, infer_schema=False)
                frame = frame.with_columns(pl.all().str.strip_chars())
    except (OSError, pl.exceptions.PolarsError) as error:
        told = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{file} cannot be read: {told}.", _REMEDY) from error
    names = [name.partition(_AGAIN)[0].strip().lower() for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{file} has the column {name} twice.", "Keep one of them.")
    frame.columns = names
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _checked(frame: pl.DataFrame, file: Path) -> pl.DataFrame:
    """The columns that count, with their types."""
    lacking = [name for name in REQUIRED if name not in frame.columns]
    if "lineup" not in frame.columns and "replaced" not in frame.columns:
        lacking.append("lineup (or replaced)")
    if lacking:
        raise InputError(
            f"{file} has no column {', '.join(lacking)}.",
            f"It has {', '.join(frame.columns) or 'none'}; see docs/analysis.md.",
        )
    if frame.is_empty():
        raise InputError(f"{file} has no rows.", "Give a row for each company of each world.")
    if "group" not in frame.columns:
        frame = frame.with_columns(group=pl.lit(file.stem))
    if "repeat" not in frame.columns:
        frame = frame.with_columns(repeat=pl.lit(1))
    kept = [name for name in (*_INTEGERS, *_TEXTS) if name in frame.columns]
    frame = pl.DataFrame(
        [
            _integers(frame[name], file) if name in _INTEGERS else frame[name].cast(pl.String)
            for name in kept
        ]
    )
    for name in kept:
        is_empty = frame[name].is_null() | (frame[name].cast(pl.String) == "")
        if name not in _MAY_BE_EMPTY and is_empty.any():
            raise InputError(f"{file}: column {name} has an empty cell.", "Fill it in.")
    if (frame["repeat"] < 1).any():
        raise InputError(f"{file}: a repeat is below 1.", "Count repeats from 1.")
    return frame


def _integers(column: pl.Series, file: Path) -> pl.Series:
    """A column of integers. Raises InputError where a value is another one, however close."""
    whole = column.cast(pl.Int64, strict=False)
    is_other = whole.is_null() & column.is_not_null()
    if column.dtype.is_numeric():
        is_other |= (whole.cast(column.dtype) != column).fill_null(value=False)
    elif column.dtype != pl.String:
        is_other = column.is_not_null()
    if is_other.any():
        raise InputError(
            f"{file}: column {column.name} has {column.filter(is_other)[0]}, which is not an "
            "integer.",
            "Give money as integer cents, and seeds, seats and repeats as integers.",
        )
    return whole


def _lineup(row: Mapping[str, Any], file: Path) -> str:
    """The name of a row's lineup; empty cells of `replaced` mean the reference."""
    if row.get("lineup"):
        return str(row["lineup"])
    if "replaced" not in row:
        raise InputError(f"{file}: column lineup has an empty cell.", "Fill it in.")
    return f"{WITHOUT}{row['replaced']}" if row["replaced"] else REFERENCE


def _outcome(run: PlannedRun, row: Mapping[str, Any], campaign: str) -> CompanyOutcome:
    status = row.get("status")
    if status is not None and status not in _STATUSES:
        raise InputError(
            f"Run {run.run_id}, seat {row['seat']}: the status {status!r} is unknown.",
            f"Give one of {', '.join(_STATUSES)}.",
        )
    salvage = row.get("salvage_cents", 0)
    return CompanyOutcome(
        campaign=campaign,
        run_id=run.run_id,
        group=run.group,
        repeat=run.repeat,
        seed=run.seed,
        lineup_label=run.lineup_label,
        replaced=run.replaced,
        baseline=run.baseline,
        seat=row["seat"],
        candidate=row["candidate"],
        score_cents=row["score_cents"],
        initial_cash_cents=0,
        initial_stock_cents=0,
        revenue_cents=row.get("revenue_cents", 0),
        net_outlays_cents=row.get("net_outlays_cents", 0),
        terminal_cash_cents=row["score_cents"] - salvage,
        salvage_cents=salvage,
        # The day is not told, only that there was one.
        exit_day=0 if status == BANKRUPT else None,
        consumer_orders=0,
        fulfilled_units=0,
    )
