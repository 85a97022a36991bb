"""A plain table of Scores, CSV or Parquet, made elsewhere (docs/analysis.md lists its columns).

Required: `seed`, `seat`, `candidate`, `score_cents`, and `lineup` or `replaced`. Optional: `group`
and `repeat` (one group, first repeat), `salvage_cents`, `revenue_cents`, `net_outlays_cents` (cents
as well) and `status` (`active` or `bankrupt`). Money is in integer cents.

A row is one company in one world. Rows of one group, repeat, seed and lineup are one world. In the
reference lineup nobody is replaced: `replaced` is empty, or `lineup` is `reference`. In others
`replaced` names the candidate left out; without that column it is read off the lineup
`without-<candidate>`, or found by comparing with the reference.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from campaigns.analysis.evidence import Evidence
from campaigns.plan import REFERENCE, PlannedRun
from campaigns.records import CompanyOutcome
from manifests.errors import InputError

REQUIRED: Final = ("seed", "seat", "candidate", "score_cents")
MONEY: Final = ("salvage_cents", "revenue_cents", "net_outlays_cents")
BANKRUPT: Final = "bankrupt"
_STATUSES: Final = ("active", BANKRUPT)
_WITHOUT: Final = "without-"
_INTEGERS: Final = ("repeat", "seed", "seat", "score_cents", *MONEY)
_TEXTS: Final = ("group", "lineup", "replaced", "candidate", "status")


class _World(NamedTuple):
    group: str
    repeat: int
    seed: int
    lineup: str


def read_scores(file: Path) -> Evidence:
    """The evidence of a scores table; runs that its own lineups leave open are missing.

    Raises:
        InputError: the file cannot be read, lacks a column, holds another type or an empty cell, or
            its lineups are not those of one panel.
    """
    frame = _checked(_read(file), file)
    worlds: dict[_World, dict[int, dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        key = _World(row["group"], row["repeat"], row["seed"], _lineup(row, file))
        seats = worlds.setdefault(key, {})
        if row["seat"] in seats:
            raise InputError(
                f"{file}: group {key.group}, repeat {key.repeat}, seed {key.seed}, lineup "
                f"{key.lineup}, seat {row['seat']} stands twice.",
                "Give each company of a world once.",
            )
        seats[row["seat"]] = row
    planned = _planned(worlds, file)
    outcomes = [
        _outcome(run, row, file.stem)
        for run, seats in zip(planned, worlds.values(), strict=True)
        for _, row in sorted(seats.items())
    ]
    measured = frozenset(
        measure
        for measure, column in (*zip(MONEY, MONEY, strict=True), ("exit_day", "status"))
        if column in frame.columns
    )
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
    )


def _read(file: Path) -> pl.DataFrame:
    try:
        if file.suffix.lower() in (".parquet", ".pq"):
            return pl.read_parquet(file)
        return pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{file} cannot be read: {str(error).splitlines()[0]}.",
            "Give a CSV file with a header, or a Parquet file.",
        ) from error


def _checked(frame: pl.DataFrame, file: Path) -> pl.DataFrame:
    frame = frame.rename({name: name.strip().lower() for name in frame.columns})
    lacking = [name for name in REQUIRED if name not in frame.columns]
    if "lineup" not in frame.columns and "replaced" not in frame.columns:
        lacking.append("lineup (or replaced)")
    if lacking:
        raise InputError(
            f"{file} has no column {', '.join(lacking)}.",
            f"It has {', '.join(frame.columns) or 'none'}; see docs/analysis.md.",
        )
    if "group" not in frame.columns:
        frame = frame.with_columns(group=pl.lit(file.stem))
    if "repeat" not in frame.columns:
        frame = frame.with_columns(repeat=pl.lit(1))
    kept = [name for name in (*_INTEGERS, *_TEXTS) if name in frame.columns]
    try:
        frame = frame.select(
            pl.col(name).cast(pl.Int64 if name in _INTEGERS else pl.String, strict=True)
            for name in kept
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{file}: a value is not an integer: {str(error).splitlines()[0]}.",
            "Give money as integer cents, and seeds, seats and repeats as integers.",
        ) from error
    for name in kept:
        if name not in ("replaced", "lineup") and frame[name].null_count():
            raise InputError(f"{file}: column {name} has an empty cell.", "Fill it in.")
    return frame


def _lineup(row: Mapping[str, Any], file: Path) -> str:
    """The name of a row's lineup; empty cells of `replaced` mean the reference."""
    if row.get("lineup"):
        return str(row["lineup"])
    if "replaced" not in row:
        raise InputError(f"{file}: column lineup has an empty cell.", "Fill it in.")
    return f"{_WITHOUT}{row['replaced']}" if row["replaced"] else REFERENCE


def _planned(
    worlds: Mapping[_World, Mapping[int, Mapping[str, Any]]], file: Path
) -> list[PlannedRun]:
    panels: dict[str, tuple[str, ...]] = {}
    for key, seats in worlds.items():
        if _said_to_be_replaced(key, seats) == "":
            panels.setdefault(key.group, _seated(key, seats, file))
    if not panels:
        panels = dict(_found_panels(worlds))
    if not panels:
        raise InputError(
            f"{file} has no reference lineup.", "Add the world in which nobody is replaced."
        )
    shared = next(iter(panels.values()))
    return [
        _run(position, key, seats, panels.get(key.group, shared), file)
        for position, (key, seats) in enumerate(worlds.items())
    ]


def _found_panels(
    worlds: Mapping[_World, Mapping[int, Mapping[str, Any]]],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The reference of each group that has three or more lineups: the one from which every other
    differs in one seat, since two replacements differ from each other in two.
    """
    lineups: dict[str, set[tuple[str, ...]]] = {}
    for key, seats in worlds.items():
        lineup = tuple(str(seats[seat]["candidate"]) for seat in sorted(seats))
        lineups.setdefault(key.group, set()).add(lineup)
    for group, found in lineups.items():
        for lineup in sorted(found):
            distances = [_distance(lineup, other) for other in found if other != lineup]
            if len(distances) > 1 and set(distances) == {1}:
                yield group, lineup


def _distance(one: Sequence[str], two: Sequence[str]) -> int:
    """In how many seats two lineups differ."""
    if len(one) != len(two):
        return len(one) + len(two)
    return sum(here != there for here, there in zip(one, two, strict=True))


def _run(
    position: int,
    key: _World,
    seats: Mapping[int, Mapping[str, Any]],
    panel: tuple[str, ...],
    file: Path,
) -> PlannedRun:
    replaced = _said_to_be_replaced(key, seats)
    if replaced is None:
        differing = [panel[seat - 1] for seat, row in seats.items() if _differs(panel, seat, row)]
        replaced = differing[0] if len(differing) == 1 else ""
    if replaced and replaced not in panel:
        raise InputError(
            f"{file}: lineup {key.lineup} leaves out {replaced}, who is not in the reference.",
            f"The reference seats {', '.join(panel)}.",
        )
    baseline = None
    if replaced:
        own = seats.get(panel.index(replaced) + 1)
        baseline = "unknown" if own is None else str(own["candidate"])
    lineup = tuple(baseline if name == replaced and baseline else name for name in panel)
    label = f"{_WITHOUT}{replaced}" if replaced else REFERENCE
    return PlannedRun(
        run_id=f"{key.group}-s{key.seed}-r{key.repeat}-{key.lineup}",
        position=position,
        group=key.group,
        repeat=key.repeat,
        seed=key.seed,
        seed_position=0,
        lineup_label=label,
        lineup=lineup,
        replaced=replaced or None,
        baseline=baseline,
    )


def _said_to_be_replaced(key: _World, seats: Mapping[int, Mapping[str, Any]]) -> str | None:
    """Who is left out, "" in the reference; None when only a comparison can tell."""
    row = next(iter(seats.values()))
    if "replaced" in row:
        return str(row["replaced"] or "")
    if key.lineup.lower() == REFERENCE:
        return ""
    return key.lineup.removeprefix(_WITHOUT) if key.lineup.startswith(_WITHOUT) else None


def _differs(panel: Sequence[str], seat: int, row: Mapping[str, Any]) -> bool:
    return 1 <= seat <= len(panel) and panel[seat - 1] != row["candidate"]


def _seated(key: _World, seats: Mapping[int, Mapping[str, Any]], file: Path) -> tuple[str, ...]:
    if sorted(seats) != list(range(1, len(seats) + 1)):
        raise InputError(
            f"{file}: the reference of group {key.group}, seed {key.seed} has the seats "
            f"{', '.join(map(str, sorted(seats)))}.",
            "Number the seats from 1 without a gap.",
        )
    return tuple(str(seats[seat]["candidate"]) for seat in sorted(seats))


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
