"""A table as it is written to files and shown: a name, what it says, and a tidy frame."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

Rows: TypeAlias = Iterable[Mapping[str, Any]]
Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A tidy table. Columns that end in `_cents` are integer cents; means among them are rounded
    half to even to a cent from exact fractions. `about` says what is shown and how it is computed.
    """

    name: str
    title: str
    about: str
    frame: pl.DataFrame


TEXT = pl.String
WHOLE = pl.Int64
REAL = pl.Float64
YES = pl.Boolean


def table(name: str, title: str, about: str, schema: Schema, rows: Rows) -> Table:
    """A table of these rows, with its columns also when there are none."""
    values = [tuple(row[column] for column in schema) for row in rows]
    frame = pl.DataFrame(values, schema=dict(schema), orient="row")
    return Table(name, title, about, frame)
