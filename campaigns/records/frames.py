"""Records as Polars frames, and back. The columns are the fields, money stays integer cents."""

import types
import typing
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, TypeVar

import msgspec
import polars as pl
from polars.datatypes import DataType, DataTypeClass

from campaigns.records.columns import Record

Row = TypeVar("Row", bound=Record)

_TYPES: Final[dict[Any, DataType | DataTypeClass]] = {
    bool: pl.Boolean,
    int: pl.Int64,
    float: pl.Float64,
    str: pl.String,
    tuple[str, ...]: pl.List(pl.String),
}


def column_types(table: type[Record]) -> dict[str, DataType | DataTypeClass]:
    """The columns of a table, in order, with their types in Polars (and so in Parquet)."""
    hints = typing.get_type_hints(table, include_extras=True)
    return {name: _TYPES[_plain(hints[name])] for name in table.__struct_fields__}


def to_frame(table: type[Row], rows: Iterable[Row]) -> pl.DataFrame:
    """The rows as a frame with the table's columns, also when there are none."""
    values = [msgspec.structs.astuple(row) for row in rows]
    return pl.DataFrame(values, schema=column_types(table), orient="row")


def from_frame(table: type[Row], frame: pl.DataFrame) -> Iterator[Row]:
    """Inverse of `to_frame`; columns are matched by name and checked against the table's types.

    Raises:
        msgspec.ValidationError: a column is missing, unknown, or holds another type.
    """
    for values in frame.iter_rows(named=True):
        yield msgspec.convert(values, table)


def _plain(hint: Any) -> Any:
    """The type of a column without its description, and without null."""
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (each for each in typing.get_args(hint) if each is not type(None))
    return hint
