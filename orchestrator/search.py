"""The Rule search as its command takes and gives it: lists of numbers in, a ranking out."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from campaigns.analysis.exact import cents
from campaigns.analysis.rule_search import ProfileScores, SearchResult
from campaigns.search import profiles
from manifests.canonical import LARGEST_INTEGER
from manifests.errors import InputError

_WHOLE: Final = re.compile(r"[0-9]+")
_RANGE: Final = re.compile(r"([0-9]+)-([0-9]+)")


def parse_seeds(text: str) -> list[int]:
    """The seeds of a list such as `7,19,42`. Raises InputError."""
    seeds = []
    for part in _parts(text):
        if not _WHOLE.fullmatch(part) or _too_large(part):
            raise InputError(
                f"--seeds: {part!r} is no seed.",
                f"Give whole numbers from 0 to {LARGEST_INTEGER}, such as --seeds 7,19,42.",
            )
        seeds.append(int(part))
    return seeds


def parse_profiles(text: str) -> list[int]:
    """The profile numbers of a list such as `1,17` or `1-8,17`. Raises InputError."""
    last = len(profiles())
    return [number for part in _parts(text) for number in _numbers(part, last)]


def in_order(result: SearchResult) -> list[ProfileScores]:
    """All profiles: those with all their Scores by rank, then the others in grid order."""
    ranked = result.ranked()
    return [*ranked, *(profile for profile in result.profiles if profile not in ranked)]


def search_json(result: SearchResult) -> dict[str, Any]:
    """The search as plain JSON: profiles by rank, money in integer cents.

    `mean_cents` is rounded half to even and null while a Score lacks; `bankrupt` counts companies
    of all `worlds` that were played; `validation` is null until the winner is known.
    """
    return {
        "profiles": [profile.to_json() for profile in in_order(result)],
        "winner": None if result.winner is None else result.winner.number,
        "bankrupt": result.bankrupt,
        "worlds": result.worlds,
        "validation": _validation_json(result),
        "missing": list(result.missing),
    }


def validation_mean(result: SearchResult) -> Fraction | None:
    """The winner's exact mean over the validation seeds that were played, in cents."""
    scores = result.validation
    return Fraction(sum(scores.values()), len(scores)) if scores else None


def _validation_json(result: SearchResult) -> dict[str, Any] | None:
    if result.winner is None:
        return None
    return {
        "profile": result.winner.number,
        "scores_cents": {str(seed): score for seed, score in result.validation.items()},
        "mean_cents": cents(validation_mean(result)),
    }


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _numbers(part: str, last: int) -> Iterator[int]:
    """The numbers that one part of a list names, checked before any is made."""
    ends = _RANGE.fullmatch(part)
    first_text, last_text = ends.groups() if ends else (part, part)
    for text in (first_text, last_text):
        if not _WHOLE.fullmatch(text) or _too_large(text) or not 1 <= int(text) <= last:
            raise InputError(
                f"--profiles: {part!r} is no profile and no range of them.",
                f"The grid has the profiles 1 to {last}; give them like --profiles 1,17 or 1-8.",
            )
    if int(first_text) > int(last_text):
        raise InputError(
            f"--profiles: the range {part!r} runs backwards.",
            f"Write {last_text}-{first_text}.",
        )
    yield from range(int(first_text), int(last_text) + 1)


def _too_large(digits: str) -> bool:
    # The length first: Python refuses to read a number of thousands of digits.
    return len(digits) > len(str(LARGEST_INTEGER)) or int(digits) > LARGEST_INTEGER
