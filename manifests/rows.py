"""Rows as JSON Lines: one JSON object a line, whose integers no reader rounds.

Many readers keep numbers as doubles. An integer beyond 2**53 - 1 therefore stands as a string of
its digits, in rows and documents alike; reading a row brings it back.
"""

import re
from typing import Any, Final, TypeVar

import msgspec

from manifests.canonical import LARGEST_INTEGER
from manifests.errors import IntegrityError

_Row = TypeVar("_Row")

# The digits behind a point belong to a real number.
_LONG_INTEGER: Final = re.compile(rb"(?<![.0-9])[0-9]{16,}(?![.0-9eE])")
_encode: Final = msgspec.json.Encoder().encode


def exact(value: Any) -> Any:
    """A JSON value with every integer beyond 2**53 - 1 as a string of its digits."""
    match value:
        case bool():
            return value
        case int():
            return str(value) if abs(value) > LARGEST_INTEGER else value
        case dict():
            return {key: exact(member) for key, member in value.items()}
        case list() | tuple():
            return [exact(member) for member in value]
    return value


def row_line(row: msgspec.Struct) -> bytes:
    """A row as a line, its fields in order, its end included. Texts in it are UTF-8."""
    line = _encode(row)
    if _LONG_INTEGER.search(line):
        # Rare, and it may be a digest: only then is every value looked at.
        value = msgspec.json.decode(line)
        told = exact(value)
        line = line if told == value else _encode(told)
    return line + b"\n"


def read_row(decoder: msgspec.json.Decoder[_Row], line: bytes, place: str) -> _Row:
    """Inverse of `row_line`; the decoder takes digits for an integer (`strict=False`).

    Raises:
        IntegrityError: the line is no such row; `place` names it.
    """
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise IntegrityError(f"{place} cannot be read: {error}.") from error
