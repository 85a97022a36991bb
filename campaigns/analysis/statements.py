"""If-then statements in a company's notes (evaluation.md section 2), by a rule that can be checked.

A text is cut into sentences: at line ends, and after `.`, `!`, `?` or `;` that a blank follows. A
sentence is an if-then statement when all of this holds:

1. It contains `if` as a word of its own, in any case, and not as part of "as if", "even if" or
   "what if".
2. It is no question: it does not end in `?`.
3. A condition of at least two words follows the `if`: "if needed" and "if any" state none.
4. It has a consequence. Either a word stands before the `if` ("hold if stock is low") that is none
   of "also", "and", "but", "however", "now", "only", "or", "so", "then". Or the condition ends in a
   comma, a colon, an arrow (`->`, `=>`, an arrow character), a dash between blanks or the word
   `then`, and at least one word follows.

A sentence counts once, however many times it says `if`. Marks of lists, headings and quotes, of
emphasis and of code are no words.
"""

import re
from typing import Final

_LINE_ENDS: Final = re.compile(r"[\r\n]+")
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?;])\s+")
_IF: Final = re.compile(r"\bif\b", re.IGNORECASE)
_NOT_CONDITIONAL: Final = re.compile(r"\b(?:as|even|what)\s+$", re.IGNORECASE)
_TURN: Final = re.compile(
    r"[,:](?!\d)|->|=>|[\u2192\u21d2]|\s[-\u2013\u2014]\s|\bthen\b", re.IGNORECASE
)
_LEADING: Final = frozenset(("also", "and", "but", "however", "now", "only", "or", "so", "then"))
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019.,%-][^\W_]+)*")


def if_then_statements(text: str) -> int:
    """How many sentences of a text are if-then statements."""
    # Most lines say no "if", and are many.
    lines = filter(_IF.search, _LINE_ENDS.split(text))
    return sum(_is_statement(each) for line in lines for each in _SENTENCE_ENDS.split(line))


def _is_statement(sentence: str) -> bool:
    if sentence.rstrip("*_`\"') ").endswith("?"):
        return False
    return any(
        _has_consequence(sentence[: found.start()], sentence[found.end() :])
        for found in _IF.finditer(sentence)
        if not _NOT_CONDITIONAL.search(sentence[: found.start()])
    )


def _has_consequence(before: str, after: str) -> bool:
    turn = _TURN.search(after)
    condition = after if turn is None else after[: turn.start()]
    if len(_words(condition)) < 2:
        return False
    if turn is not None and _words(_TURN.sub(" ", after[turn.start() :])):
        return True
    return any(word.lower() not in _LEADING for word in _words(before))


def _words(text: str) -> list[str]:
    return _WORD.findall(text)
