"""Frames as Parquet, the same bytes for the same frame and version of Polars."""

from collections.abc import Iterator
from importlib import metadata
from io import BytesIO
from typing import Final, TypeVar

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from campaigns.records import Record
from campaigns.records.frames import from_frame, to_frame
from manifests.errors import IntegrityError

DAMAGED: Final = "Get the bundle again from where it came: this copy is damaged."

_Row = TypeVar("_Row", bound=Record)

_MOST_ROWS: Final = 20_000_000
_ROWS_A_GROUP: Final = 131_072
_ZSTD_LEVEL: Final = 3


def polars_version() -> str:
    """The version of the library that the bytes of the files depend on."""
    return metadata.version("polars")


def write_frame(frame: pl.DataFrame) -> bytes:
    """A frame as a Parquet file: zstd, no statistics, one row group for most."""
    content = BytesIO()
    frame.write_parquet(
        content,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        statistics=False,
        row_group_size=_ROWS_A_GROUP,
    )
    return content.getvalue()


def read_frame(content: bytes, name: str) -> pl.DataFrame:
    """Inverse of `write_frame`. Raises IntegrityError when it cannot be read, naming the file."""
    try:
        rows = pl.scan_parquet(BytesIO(content)).select(pl.len()).collect().item()
        if rows <= _MOST_ROWS:
            return pl.read_parquet(BytesIO(content))
    except PolarsError as error:
        raise IntegrityError(f"{name} cannot be read as Parquet: {error}.", DAMAGED) from error
    raise IntegrityError(f"{name} has {rows:,} rows, which no such file has.", DAMAGED)


def write_rows(table: type[_Row], rows: list[_Row]) -> bytes:
    """The rows of a record table as a Parquet file."""
    return write_frame(to_frame(table, rows))


def read_rows(table: type[_Row], content: bytes, name: str) -> Iterator[_Row]:
    """Inverse of `write_rows`. Raises IntegrityError when a row is none of the table's."""
    try:
        yield from from_frame(table, read_frame(content, name))
    except msgspec.ValidationError as error:
        raise IntegrityError(
            f"{name} holds something else than it should: {error}.", DAMAGED
        ) from error
