"""The diarist: keeps a diary in MEMORY.md, with a rule for next week in it, and follows the rule.

It moves the price of one product by its notes alone: as long as the weeks' gross grows it goes on
in the same direction, else it turns.
"""

import re

import msgspec

from providers.rehearsal.agents.reading import Result
from providers.rehearsal.agents.script import Act, Desk, Script, Step, act, query
from providers.rehearsal.agents.trade import (
    CHANNELS,
    SEGMENTS,
    Books,
    Line,
    campaign,
    dollars,
    survey,
    upkeep,
)

PATH = "MEMORY.md"
STEP_PERCENT = 2
MARKETING_CENTS = 8_000
KEPT_NOTES = 40
HEADING = "## Diary"

_LATEST = re.compile(
    r"Latest: week (\d+), gross (-?\d+) cents, (\S+) at (\d+) cents, heading (up|down)\."
    r" If next week's gross is lower, then turn; if it is not, then keep heading the same way\."
)
_NOTE = re.compile(r"- week \d+: [^\n\\]*")


class Memory(msgspec.Struct, frozen=True):
    """What the diary says about last time; `line` is the sentence as it stands in the file."""

    line: str
    week: int
    gross: int
    heading: str
    notes: tuple[str, ...]


def diarist(_: Desk) -> Script:
    """Reads its diary, follows its rule, and writes down what it did and what to do next."""
    diary, files = yield Step(
        "My memory of earlier weeks is what I wrote down. I read the diary itself, not only what "
        "the briefing shows of it, and see which files there are.",
        (act("read_file", path=PATH), act("glob_files", pattern="*")),
    )
    memory = _remembered(diary)
    books, (sales, segments, channels) = yield from survey(
        f"The diary says: {memory.line if memory else 'nothing yet'} ({len(files.text)} characters "
        "of file list). Now what really happened: books and daily sales.",
        "SELECT * FROM daily_product_sales ORDER BY day DESC LIMIT 21",
        SEGMENTS,
        CHANNELS,
    )
    if not books.lines:
        return
    line = books.lines[len(books.lines) // 2]
    gross = sales.total("revenue") - sales.total("cogs")
    heading = _heading(memory, gross)
    price = line.price_at(100 + STEP_PERCENT if heading == "up" else 100 - STEP_PERCENT)
    thought = (
        f"The week earned {dollars(gross)} over the cost of goods. "
        + (f"In week {memory.week} it was {dollars(memory.gross)}. " if memory else "")
        + f"By my own rule {line.product_id} heads {heading}, to {dollars(price)}."
    )
    yield Step(
        thought,
        (
            *(
                _terms(books, each, price if each == line else each.price_at(100))
                for each in books.lines
            ),
            *campaign(segments, channels, MARKETING_CENTS),
            upkeep(4_000, 6_000),
        ),
        "As the diary says.",
    )
    latest = _sentence(books, gross, line.product_id, price, heading)
    written = yield Step(
        "And now the diary: what I did, and an if-then sentence for the one who will read it next "
        "week, who will remember nothing else.",
        _entries(memory, latest),
    )
    if any(result.refused for result in written):
        yield Step(
            f"The diary could not be edited: {written[0].reason[:160]} Then I write it anew.",
            (act("write_file", path=PATH, content=_whole_file(latest, memory)),),
        )
    yield Step(
        "Is the sentence there once, as I meant it? And is the draft what I meant?",
        (
            act("search_files", pattern="If next week", path=PATH),
            query("SELECT day FROM company"),
            act("preview_decision"),
        ),
    )


def _remembered(diary: Result) -> Memory | None:
    """What the file says, or None when there is none or another hand wrote it."""
    text = diary.text
    found = None if diary.refused else _LATEST.search(text)
    if found is None:
        return None
    notes = tuple(note for note in _NOTE.findall(text))
    return Memory(found[0], int(found[1]), int(found[2]), found[5], notes)


def _heading(memory: Memory | None, gross: int) -> str:
    if memory is None:
        return "up"
    if gross >= memory.gross:
        return memory.heading
    return "down" if memory.heading == "up" else "up"


def _terms(books: Books, line: Line, price: int) -> Act:
    return act(
        "set_product",
        product_id=line.product_id,
        price_cents=price,
        promotion_cents=0,
        reorder_target=line.wanted_target(books.days_remaining),
        daily_development_budget_cents=1_000 if books.days_remaining > 60 else 0,
    )


def _sentence(books: Books, gross: int, product_id: str, price: int, heading: str) -> str:
    return (
        f"Latest: week {books.version}, gross {gross} cents, {product_id} at {price} cents, heading"
        f" {heading}. If next week's gross is lower, then turn; if it is not, then keep heading the"
        " same way."
    )


def _entries(memory: Memory | None, latest: str) -> tuple[Act, ...]:
    """The calls that bring the diary up to date; one that has grown long is written anew."""
    if memory is None or len(memory.notes) >= KEPT_NOTES:
        return (act("write_file", path=PATH, content=_whole_file(latest, memory)),)
    note = f"- week {memory.week}: gross {memory.gross} cents, heading {memory.heading}"
    return (
        act("edit_file", path=PATH, old_string=memory.line, new_string=latest),
        act("edit_file", path=PATH, old_string=HEADING, new_string=f"{HEADING}\n{note}"),
    )


def _whole_file(latest: str, memory: Memory | None) -> str:
    notes = memory.notes[: KEPT_NOTES // 2] if memory else ()
    return "\n".join(["# What I know", "", latest, "", HEADING, *notes, ""])
