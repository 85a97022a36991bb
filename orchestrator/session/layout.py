"""Plain text that a model and a person read equally well: amounts, lists, aligned tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def dollars(cents: int) -> str:
    """An amount to the cent, such as ``-$1,234.05``."""
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${whole:,}.{rest:02}"


def number(value: int) -> str:
    """A count with thousands separators."""
    return f"{value:,}"


def listed(items: Sequence[str], nothing: str) -> Iterator[str]:
    """One line for each item, or one that says there is none."""
    for item in items or (nothing,):
        yield f"- {item}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of a table: the first column is text, the others end on the right."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    for place, line in enumerate(lines):
        first, *others = line
        cells = [
            first.ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)),
        ]
        yield "| " + " | ".join(cells) + " |"
        if not place:
            rules = ("-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:]))
            yield "| " + " | ".join(rules) + " |"
