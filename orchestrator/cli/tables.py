"""Tables without ruled lines, which read the same on a terminal and in a pipe.

Services and other people wrote some of what stands in them: nothing of it steers the terminal.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from manifests.printable import harmless
from orchestrator.cli.output import Column

NOTHING: Final = "-"
"""What stands in a cell without a value."""

_GAP: Final = 2

# In a pipe a table has as many columns of numbers as fit here, but no text is wrapped or cut.
_PIPE_WIDTH: Final = 100
_UNLIMITED: Final = 10_000

# On a narrow terminal texts are cut to this length before numbers move to a table of their own.
_SHORTEST_TEXT: Final = 16


def print_table(
    title: str,
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[object]],
    notes: Sequence[str] = (),
) -> None:
    """Print a title, a header and rows to standard output, and lines of notes below them.

    None is shown as a dash, whole numbers with thousands separators, negative numbers in red. When
    there is no room for all numbers, those that are left follow in further tables, beside the same
    texts.
    """
    kinds = [column if isinstance(column, Column) else Column(column) for column in columns]
    cells = [[_text(value) for value in row] for row in rows]
    widths = [
        max(len(column.heading), *(len(row[place]) for row in cells), 0)
        for place, column in enumerate(kinds)
    ]
    console = _console()
    room = console.width if console.is_terminal else _PIPE_WIDTH
    for number, places in enumerate(_tables(kinds, widths, room)):
        heading = f"\n{title} (continued)" if number else title
        console.print(Text(heading, style="bold"), soft_wrap=True)
        console.print(_table(kinds, widths, cells, places, console.width))
    print_text(*notes, "")


def print_text(*lines: str) -> None:
    """Print lines of plain text to standard output."""
    console = _console()
    for line in lines:
        console.print(Text(harmless(line)), soft_wrap=True)


def whole_dollars(cents: int | Fraction | None) -> str | None:
    """An amount in whole dollars, such as `-$1,235`, rounded half to even; None stays None."""
    if cents is None:
        return None
    amount = round(Fraction(cents) / 100)
    return f"{'-' if amount < 0 else ''}${abs(amount):,}"


def _tables(kinds: Sequence[Column], widths: Sequence[int], room: int) -> list[list[int]]:
    """Which columns stand in which table: texts and what leads them in all, numbers in one each."""
    texts = [place for place, column in enumerate(kinds) if not column.number]
    leading = range(texts[0] if texts else 0)
    repeated = sum(
        min(widths[place], _SHORTEST_TEXT if place in texts else widths[place]) + _GAP
        for place in (*leading, *texts)
    )
    tables: list[list[int]] = [[]]
    taken = repeated
    for place in range(len(kinds)):
        if place in texts or place in leading:
            continue
        if tables[-1] and taken + widths[place] > room:
            tables.append([])
            taken = repeated
        tables[-1].append(place)
        taken += widths[place] + _GAP
    return [sorted([*leading, *texts, *numbers]) for numbers in tables]


def _table(
    kinds: Sequence[Column],
    widths: Sequence[int],
    cells: Sequence[Sequence[str]],
    places: Sequence[int],
    room: int,
) -> Table:
    """The table of some columns, in which texts give way until it has its room."""
    given = {place: widths[place] for place in places}
    excess = sum(given.values()) + _GAP * (len(places) - 1) - room
    for place in sorted(places, key=lambda place: -widths[place]):
        if excess > 0 and not kinds[place].number:
            given[place] = max(widths[place] - excess, min(widths[place], _SHORTEST_TEXT))
            excess -= widths[place] - given[place]
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for place in places:
        table.add_column(
            Text(kinds[place].heading),
            justify="right" if kinds[place].number else "left",
            # Only a text with nothing beside it may go on below: other rows stay lines.
            no_wrap=kinds[place].number or place != places[-1],
            width=given[place],
        )
    for row in cells:
        table.add_row(*(_cell(kinds[place], row[place]) for place in places))
    return table


def _text(value: object) -> str:
    if value is None:
        return NOTHING
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_number else harmless(str(value))


def _cell(column: Column, text: str) -> Text:
    negative = column.number and text.startswith("-") and text != NOTHING
    return Text(text, style="red" if negative else "")


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNLIMITED
    return console
