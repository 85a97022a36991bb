"""What a private table is: documented columns, and where its rows come from (interface.md
section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from engine.observation import Observation
from engine.tables.chronicle import Elapsed

Cell: TypeAlias = int | float | str | None
Row: TypeAlias = tuple[Cell, ...]

PENDING: Final = "pending"
"""The status of the rows that are replaced at each boundary in a table that also keeps others."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; ``unit`` is empty for identifiers and words."""

    name: str
    type: Literal["INTEGER", "REAL", "TEXT"]
    unit: str
    description: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One private table.

    ``present`` gives the rows that hold at a boundary and are replaced at the next; ``added`` gives
    the rows that the elapsed window adds for good. In a table with both, the rows of ``present``
    are those whose status is pending. ``key`` names the columns that identify a row; it is empty
    for a table of one row and where no columns do.
    """

    name: str
    group: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    present: Callable[[Observation], Iterable[Row]] | None = None
    added: Callable[[Elapsed], Iterable[Row]] | None = None


def name_of(name: str, description: str, *, nullable: bool = False) -> Column:
    """An identifier or a word."""
    return Column(name, "TEXT", "", description, nullable)


def cents(name: str, description: str, *, nullable: bool = False) -> Column:
    """An amount of money."""
    return Column(name, "INTEGER", "cents", description, nullable)


def units(name: str, description: str) -> Column:
    """A count of goods."""
    return Column(name, "INTEGER", "units", description)


def day(name: str, description: str, *, nullable: bool = False) -> Column:
    """A day of the market; day 0 is the start."""
    return Column(name, "INTEGER", "day", description, nullable)


def count(name: str, unit: str, description: str, *, nullable: bool = False) -> Column:
    """A whole number of something else."""
    return Column(name, "INTEGER", unit, description, nullable)


def real(name: str, unit: str, description: str, *, nullable: bool = False) -> Column:
    """A real number."""
    return Column(name, "REAL", unit, description, nullable)
