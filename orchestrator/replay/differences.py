"""Differences between what was recorded and what comes out, down to the field that differs.

Recorded bytes that differ need not decode any more. Then the place of the first byte that differs
says which field it is, because the encoding of what should be there is known.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from engine.state import field_at, fields, first_difference
from manifests.canonical import canonical_json, digest_bytes
from manifests.comparison import value_differences
from manifests.errors import ArenaError

# Beyond this length a search for the one byte that was changed would take minutes.
_LONGEST_SEARCH: Final = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first thing in which a run differs; `run` is None for the catalogue itself.

    `day` is the day that was settled, or the boundary day of a decision; `company` is None for what
    belongs to nobody. `what` says in which record the field is.
    """

    run: str | None
    day: int | None
    company: str | None
    field: str
    recorded: Any
    recomputed: Any
    what: str

    def to_json(self) -> dict[str, Any]:
        """The difference as plain JSON."""
        return {
            "run": self.run,
            "day": self.day,
            "company": self.company,
            "field": self.field,
            "recorded": plain(self.recorded),
            "recomputed": plain(self.recomputed),
            "what": self.what,
        }

    def __str__(self) -> str:
        place = [
            self.run or "the catalogue",
            *([] if self.day is None else [f"day {self.day}"]),
            *([] if self.company is None else [self.company]),
        ]
        return (
            f"{', '.join(place)}: {self.what}, {self.field}: "
            f"recorded {plain(self.recorded)!r}, recomputed {plain(self.recomputed)!r}"
        )


class FieldDifference(NamedTuple):
    """A field with its recorded and its recomputed value."""

    field: str
    recorded: Any
    recomputed: Any


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON lacks is shown as text."""
    exact = value is None or isinstance(value, bool | int | str)
    return value if exact or (isinstance(value, float) and math.isfinite(value)) else str(value)


def record_difference(
    recorded: bytes, expected: msgspec.Struct, encode: Callable[[Any], bytes]
) -> FieldDifference | None:
    """The first field in which recorded MessagePack is not that of the record that was expected."""
    should_be = encode(expected)
    if recorded == should_be:
        return None
    try:
        found = first_difference(msgspec.msgpack.decode(recorded, type=type(expected)), expected)
    except msgspec.MsgspecError:
        found = None
    if found is not None:
        return FieldDifference(*found)
    # Undecodable, or decoded to equal values: two encodings of one number, for instance.
    offset = _first_offset(recorded, should_be)
    place = field_at(expected, offset)
    there, here = (part[offset : offset + 1].hex() or "missing" for part in (recorded, should_be))
    return FieldDifference(
        place,
        f"byte {offset} of the record is {there} instead of {here}",
        dict(fields(expected)).get(place),
    )


def json_difference(path: str, recorded: bytes, should_be: bytes) -> FieldDifference | None:
    """The first field, below `path`, in which recorded JSON differs from canonical JSON."""
    if recorded == should_be:
        return None
    expected = json.loads(should_be)
    try:
        found = next(value_differences(path, json.loads(recorded), expected), None)
    except (ValueError, RecursionError):
        found = None
    if found is not None:
        return FieldDifference(found.path, found.left, found.right)
    offset = _first_offset(recorded, should_be)
    return FieldDifference(
        json_field_at(path, expected, offset),
        _around(recorded, offset),
        _around(should_be, offset),
    )


def json_field_at(path: str, value: Any, offset: int) -> str:
    """The path of the innermost member whose canonical JSON covers byte `offset`."""
    for place, start, member in _members(path, value):
        if start <= offset < start + len(canonical_json(member)):
            return json_field_at(place, member, offset - start)
    return path


def restored(damaged: bytes, digest: str | None) -> bytes | None:
    """The bytes that have the digest, if `damaged` differs from them in one byte alone.

    A digest does not only tell that something was changed: where one byte was, trying all bytes
    finds the original, and with it the field.
    """
    if len(damaged) > _LONGEST_SEARCH:
        return None
    candidate = bytearray(damaged)
    for place, found in enumerate(damaged):
        for byte in range(256):
            candidate[place] = byte
            if digest_bytes(bytes(candidate)) == digest:
                return bytes(candidate)
        candidate[place] = found
    return None


def unreadable(error: Exception) -> str:
    """A failure to read a record, in one line."""
    return error.message if isinstance(error, ArenaError) else f"{type(error).__name__}: {error}"


def _members(path: str, value: Any) -> Iterator[tuple[str, int, Any]]:
    """The members of a JSON value with their paths and where their canonical JSON begins."""
    start = 1
    if isinstance(value, dict):
        # Canonical JSON orders keys by their UTF-16 code units.
        for key in sorted(value, key=lambda name: name.encode("utf-16-be")):
            start += len(canonical_json(key)) + 1
            yield f"{path}.{key}", start, value[key]
            start += len(canonical_json(value[key])) + 1
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", start, item
            start += len(canonical_json(item)) + 1


def _first_offset(one: bytes, two: bytes) -> int:
    pairs = enumerate(zip(one, two, strict=False))
    shorter = min(len(one), len(two))
    return next((offset for offset, (left, right) in pairs if left != right), shorter)


def _around(text: bytes, offset: int) -> str:
    piece = text[max(offset - 12, 0) : offset + 12].decode("utf-8", errors="replace")
    return f"...{piece}... at byte {offset}"
