"""Reading what the tools answer, without knowing more of their form than they show.

Results are JSON texts. A table is found by its keys "columns" and "rows"; a column by the words of
its name, because only some names are fixed. What is missing reads as empty, never as an error.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, TypeGuard

import msgspec

_FAILED_STATUS: Final = frozenset({"error", "failed", "invalid", "refused", "rejected"})
_FAILED_TEXT: Final = re.compile(r"(?i)^\W*(error|refused|rejected|invalid|unknown|not run)\b")


class Table:
    """Rows by column name, in the order of the result."""

    def __init__(self, names: list[str], rows: list[dict[str, Any]]) -> None:
        self.names = names
        self.rows = rows

    @property
    def first(self) -> dict[str, Any]:
        """The first row, or an empty one."""
        return self.rows[0] if self.rows else {}

    def column(self, *words: str) -> str | None:
        """The column whose name consists of the words, else the shortest that contains them all."""
        exact = "_".join(words)
        if exact in self.names:
            return exact
        found = [name for name in self.names if all(word in name for word in words)]
        return min(found, key=len) if found else None

    def number(self, row: dict[str, Any], *words: str, default: int = 0) -> int:
        """The whole number in that column of a row."""
        return int(self.decimal(row, *words, default=default))

    def decimal(self, row: dict[str, Any], *words: str, default: float = 0.0) -> float:
        """The number in that column of a row."""
        value = row.get(self.column(*words) or "")
        return value if _is_number(value) else default

    def text(self, row: dict[str, Any], *words: str) -> str:
        """The text in that column of a row, or an empty one."""
        value = row.get(self.column(*words) or "")
        return value if isinstance(value, str) else ""

    def total(self, *words: str) -> int:
        """The sum of a column of whole numbers."""
        return sum(self.number(row, *words) for row in self.rows)


class Result:
    """The result of one call."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def value(self) -> Any:
        """The JSON value of the text, or None."""
        try:
            return msgspec.json.decode(self.text)
        except msgspec.DecodeError:
            return None

    @cached_property
    def refused(self) -> bool:
        """Whether the call failed."""
        value = self.value
        if isinstance(value, dict):
            return (
                bool(value.get("error"))
                or value.get("ok") is False
                or str(value.get("status")) in _FAILED_STATUS
            )
        return _FAILED_TEXT.match(self.text) is not None

    @property
    def reason(self) -> str:
        """Why a call failed, as one line."""
        value = self.value if isinstance(self.value, dict) else {}
        said = value.get("problems") or value.get("error") or self.text
        if isinstance(said, dict):
            said = said.get("message")
        parts = said if isinstance(said, list) else [said]
        return " ".join(" ".join(str(part) for part in parts).split())

    @cached_property
    def table(self) -> Table:
        """The table of the result, or an empty one."""
        for candidate in _candidates(self.value):
            names = _names(candidate)
            rows = candidate.get("rows")
            if isinstance(rows, list):
                records = [_record(names, row) for row in rows]
                return Table(names or list(records[0] if records else {}), records)
        return Table([], [])

    def flag(self, word: str) -> bool | None:
        """The first true or false of the result whose key contains a word, or None."""
        for key, value in _members(self.value):
            if word in key and isinstance(value, bool):
                return value
        return None

    def amount(self, *words: str) -> int | None:
        """The first whole number of the result whose key contains all words, or None."""
        for key, value in _members(self.value):
            if all(word in key for word in words) and _is_number(value):
                return int(value)
        return None


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _candidates(value: Any) -> Iterator[dict[str, Any]]:
    """The value and what it holds, one level down."""
    if isinstance(value, dict):
        yield value
        yield from (inner for inner in value.values() if isinstance(inner, dict))


def _names(candidate: dict[str, Any]) -> list[str]:
    columns = candidate.get("columns")
    if not isinstance(columns, list):
        return []
    names = [column.get("name") if isinstance(column, dict) else column for column in columns]
    return [name if isinstance(name, str) else "" for name in names]


def _record(names: list[str], row: Any) -> dict[str, Any]:
    if isinstance(row, dict):
        return row
    return dict(zip(names, row, strict=False)) if isinstance(row, list) else {}


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
        for inner in value.values():
            yield from _members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _members(inner)
