"""Regular expressions and file name patterns for private files, in bounded time.

Patterns are a model's, and Python's own `re` can take time exponential in a short pattern while it
holds the interpreter's lock, so that one search would stop every company of a host. RE2 takes time
linear in the text, at worst times the size of the compiled pattern, and lets other threads run.
The product of both is bounded before a search begins, so that what is refused does not depend on
the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import re2  # type: ignore[import-untyped]

PATTERN_CHARACTERS: Final = 1_000

_MOST_STEPS: Final = 2**27
"""Compiled pattern size times bytes of text: about three seconds at RE2's slowest."""

_COMPILED_BYTES: Final = 2**20
_LINE_SHOWN: Final = 500


class PatternRefused(ValueError):
    """A pattern that cannot be used; the text says why."""


class LineMatch(NamedTuple):
    """A line, counted from 1, in which a pattern occurs; a long line is shown in part."""

    number: int
    text: str


class LinePattern:
    """A regular expression that is looked for within lines. Raises PatternRefused."""

    def __init__(self, pattern: str) -> None:
        _compiled(pattern)  # so that an error shows the pattern as it was written
        self._expression = _compiled(f"(?m){pattern}")  # ^ and $ are the ends of each line

    def bound(self, size: int) -> None:
        """Raise PatternRefused when searching so many bytes could take too long."""
        _bound(self._expression, size)

    def matches(self, content: str) -> Iterator[LineMatch]:
        """The lines in which the pattern occurs, in order."""
        data = content.encode()
        place, number, counted = 0, 1, 0
        while place < len(data):
            found = self._expression.search(data, place)
            if found is None or (found.start() == len(data) and data.endswith(b"\n")):
                return
            number += data.count(b"\n", counted, found.start())
            counted = found.start()
            start = data.rfind(b"\n", 0, counted) + 1
            end = data.find(b"\n", counted)
            end = len(data) if end < 0 else end
            yield LineMatch(number, _part(data[start:end], counted - start))
            place = end + 1


class NamePattern:
    """A file name pattern (`*`, `?`, `[abc]`, `**`). Without a ``/`` it is compared with the last
    part of a path, otherwise with the whole path. Raises PatternRefused.
    """

    def __init__(self, pattern: str) -> None:
        self._whole_path = "/" in pattern
        self._expression = _compiled(_translated(pattern))

    def select(self, paths: list[str]) -> list[str]:
        """The paths that match, in their order."""
        size = 0
        for path in paths:
            size += len(path.encode())
        _bound(self._expression, size)
        return [path for path in paths if self._expression.fullmatch(self._compared(path))]

    def _compared(self, path: str) -> str:
        return path if self._whole_path else path.rsplit("/", 1)[-1]


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.max_mem = _COMPILED_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        (reason,) = error.args
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise PatternRefused(f"must be a usable pattern; received one with {text[:200]}") from None


def _bound(expression: Any, size: int) -> None:
    if expression.programsize * size > _MOST_STEPS:
        raise PatternRefused(
            "must be simpler, above all in its counted repetitions: it could take too long on "
            f"{size} bytes of text; or select fewer files"
        )


def _part(line: bytes, place: int) -> str:
    """A line, or the part of a long one around a place in it."""
    text = line.decode()
    if len(text) <= _LINE_SHOWN:
        return text
    # A pattern can name single bytes, and so match inside a character.
    before = line[:place].decode(errors="ignore")
    first = max(0, len(before) - _LINE_SHOWN // 4)
    last = first + _LINE_SHOWN
    return ("..." if first else "") + text[first:last] + ("..." if last < len(text) else "")


def _translated(pattern: str) -> str:
    """The regular expression of a file name pattern."""
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        if pattern.startswith("**/", place):
            parts.append("(?:.*/)?")
            place += 3
        elif pattern.startswith("**", place):
            parts.append(".*")
            place += 2
        elif pattern[place] == "[":
            characters, place = _character_class(pattern, place)
            parts.append(characters)
        else:
            wild = {"*": "[^/]*", "?": "[^/]"}
            parts.append(wild.get(pattern[place]) or re2.escape(pattern[place]))
            place += 1
    return "".join(parts)


def _character_class(pattern: str, place: int) -> tuple[str, int]:
    """The class that begins at a bracket, and the place behind it."""
    end = pattern.find("]", place + 2)
    if end < 0:
        raise PatternRefused("must have a ] after each [")
    inside = pattern[place + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
    if inside[0] in "!^":
        inside = f"^{inside[1:]}"
    return f"[{inside}]", end + 1
