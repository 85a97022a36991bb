"""What is wrong with a campaign file, told place by place in one message."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manifests.errors import InputError

Location = tuple[str | int, ...]

# Longer values are cut in messages: the place says where the rest stands.
SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong place of a campaign: where, what is wrong, what to do about it."""

    location: Location
    fault: str
    remedy: str


@dataclass(frozen=True, slots=True)
class RawCampaign:
    """The content of a campaign file before validation, inheritance included.

    `source` names the file in messages. `written_at` says for each candidate in which file, and
    there as which entry, it was last written.
    """

    source: str
    data: Mapping[str, Any]
    written_at: tuple[tuple[str, int], ...]


def refusal(raw: RawCampaign, problems: Sequence[Problem]) -> InputError:
    """All problems of one campaign as one error, a line each."""
    if len(problems) == 1:
        (only,) = problems
        return InputError(f"{raw.source}: {place(raw, only.location)}: {only.fault}.", only.remedy)
    lines = [
        f"  {place(raw, problem.location)}: {problem.fault}. {problem.remedy}"
        for problem in problems
    ]
    title = f"{raw.source} has {len(problems)} problems:"
    return InputError("\n".join([title, *lines]), "Correct every place listed, then try again.")


def place(raw: RawCampaign, location: Location) -> str:
    """A location as a person would point at it, counted from 0: `candidates[3].seat ("growth")`."""
    match location:
        case ("candidates", int(index), *rest) if index < len(raw.written_at):
            source, entry = raw.written_at[index]
            owner = "" if source == raw.source else f" of {source}"
            return dotted(("candidates", entry, *rest)) + _candidate_name(raw.data, index) + owner
    return dotted(location) or "the file"


def dotted(location: Iterable[str | int]) -> str:
    """The parts of a location as `limits.allowances.replies` or `seeds[1]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def shown(value: object) -> str:
    """A received value for a message, in the notation of the file and cut when long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def suggestion(name: str, known: Iterable[str]) -> str:
    """`Did you mean "x"? ` for the nearest known name, or nothing when none is near."""
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f'Did you mean "{near[0]}"? ' if near else ""


def listed(names: Iterable[object]) -> str:
    """Names in a row for a message, or `none`."""
    return ", ".join(str(name) for name in names) or "none"


def _candidate_name(data: Mapping[str, Any], index: int) -> str:
    candidate = data["candidates"][index]
    name = candidate.get("id") if isinstance(candidate, Mapping) else None
    return f" ({shown(name)})" if isinstance(name, str) else ""
