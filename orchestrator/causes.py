"""Why something failed, for the record of a run and for the person who reads it."""

import traceback
from pathlib import Path

from engine.decision import InvalidDecision
from manifests.errors import ArenaError
from manifests.printable import printable


def cause_of(error: BaseException) -> str:
    """A failure in one line: what it was and where it was raised."""
    if isinstance(error, ArenaError):
        return error.in_one_line
    if isinstance(error, InvalidDecision):
        return "; ".join(error.problems)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {_text_of(error)}{place}"


def _text_of(error: BaseException) -> str:
    """The text of an error of anybody's code, fit for a terminal and for a database."""
    try:
        text = str(error)
    except Exception as again:  # noqa: BLE001 - whatever else is wrong with it
        return f"(its text cannot be had: {type(again).__name__})"
    return printable(text)
