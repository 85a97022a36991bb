"""Attempts at company-windows, as keys of rows."""

from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Table,
    bindparam,
)

from orchestrator.store.homes import HeldRun

ATTEMPT: Final = ("run", "version", "seat", "attempt")
"""The columns by which a row names the attempt to which it belongs."""

PLACE: Final = {name: bindparam(f"of_{name}", type_=BigInteger()) for name in (*ATTEMPT, "ordinal")}
"""Parameters of statements that are built once; `place_of` binds them, the ordinal apart."""


class AttemptKey(NamedTuple):
    """One attempt at a company-window; ``version`` is the world version of the window."""

    version: int
    seat: int
    attempt: int


def at(table: Table, *names: str) -> tuple[ColumnElement[bool], ...]:
    """The rows of a table that stand at the `PLACE` by these columns."""
    return tuple(table.c[name] == PLACE[name] for name in names)


def place_of(held: HeldRun, key: AttemptKey) -> dict[str, Any]:
    """An attempt as parameters of a statement with `PLACE`."""
    return {"of_run": held.run} | {f"of_{name}": part for name, part in key._asdict().items()}
