"""Text of any origin, fit for a terminal and for a record."""

import re
from typing import Final

_LONGEST_WORD: Final = 300
_OVERLONG: Final = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str, keep: str = "") -> str:
    """The text with every character that cannot be printed written out, such as `\\x1b`; those in
    `keep` stay.
    """
    return "".join(
        letter
        if letter.isprintable() or letter in keep
        else letter.encode("unicode_escape", errors="backslashreplace").decode()
        for letter in text
    )


def harmless(text: str) -> str:
    """The text with a mark for every character that would steer a terminal. Unlike in `printable`,
    all others stay, such as the unusual spaces that models like to write.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(text: str) -> str:
    """The text with words that no person reads to their end cut."""
    return _OVERLONG.sub(lambda word: f"{word[0][:_LONGEST_WORD]}...", text)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as "1 run" or "2,000 companies"; the plural ends with s where no
    other is given.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
