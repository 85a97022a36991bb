"""From the raw text of a tool call to typed arguments, or to problems that a model can correct.

A model writes the text, so anything may be in it. Each problem names the argument, what it may be,
and what was received. Types are strict: an amount is a JSON integer, not 5.0, "5" or true; an
argument that a tool does not have is an error, and so is a null. No text at all counts as no
arguments, because services differ in what they send for a call without any.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from orchestrator.session.tools.schemas import Arguments, allowed

ARGUMENTS_CHARACTERS: Final = 4_194_304

_PROBLEMS_SHOWN: Final = 8
_CHARACTERS_SHOWN: Final = 80
_DIGITS_READ: Final = 40
_NOT_TEXT: Final = re.compile("[\0\ud800-\udfff]")
_BOUND: Final = re.compile("run|company|version|world|window|seat|session|campaign", re.IGNORECASE)

_Arguments = TypeVar("_Arguments", bound=Arguments)


class Rejected(Exception):
    """A call that did nothing; each of ``problems`` names an argument and what to do about it."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


class _Outsized:
    """A number that no argument can be, kept as words."""

    def __init__(self, described: str) -> None:
        self.described = described


def parsed(model: type[_Arguments], text: str) -> _Arguments:
    """The arguments that a call's text holds. Raises Rejected."""
    values = _members(text)
    problems = dict(_value_problems(model, values))
    try:
        # Pydantic's own findings about such keys and texts have no place to name.
        arguments = model.model_validate(
            {field: value for field, value in values.items() if field not in problems}
        )
    except ValidationError as error:
        problems = _type_problems(model, values, error) | problems
    else:
        if not problems:
            return arguments
    raise Rejected(*shortened(list(problems.values())))


def one_of(field: str, existing: Sequence[str], received: str) -> Rejected:
    """The rejection of an identifier that does not exist."""
    if not existing:
        return Rejected(f"{field}: there is none at present; received {shown(received)}")
    return Rejected(f"{field}: must be one of {', '.join(existing)}; received {shown(received)}")


def out_of_range(field: str, lowest: int, highest: int, received: int) -> Rejected:
    """The rejection of an integer outside of what the market allows."""
    return Rejected(
        f"{field}: must be an integer from {lowest} to {highest}; received {shown(received)}"
    )


def shown(value: object) -> str:
    """A received value in a few ASCII characters, whatever it is."""
    match value:
        case str() if len(value) > _CHARACTERS_SHOWN:
            start = json.dumps(value[:_CHARACTERS_SHOWN])
            return f"a string of {len(value)} characters that starts with {start}"
        case list():
            return f"a list with {len(value)} members"
        case dict():
            return f"an object with {len(value)} members"
        case _Outsized():
            return value.described
        case _:
            return json.dumps(value)


def shortened(problems: list[str]) -> list[str]:
    """The first problems and how many more there are; a flood of them says no more than a few."""
    more = len(problems) - _PROBLEMS_SHOWN
    return problems if more <= 0 else [*problems[:_PROBLEMS_SHOWN], f"and {more} more problems"]


def _members(text: str) -> dict[str, Any]:
    if len(text) > ARGUMENTS_CHARACTERS:
        raise Rejected(
            f"arguments: must have at most {ARGUMENTS_CHARACTERS} characters; received {len(text)}"
        )
    if not text.strip():
        return {}
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_not_json,
        )
    except json.JSONDecodeError as error:
        raise Rejected(
            f"arguments: must be one valid JSON object; received {len(text)} characters that are "
            f"not JSON at character {error.pos + 1}, after {json.dumps(text[: error.pos][-40:])}"
        ) from None
    except RecursionError:
        raise Rejected("arguments: must be one JSON object; received too deep a nesting") from None
    if not isinstance(value, dict):
        raise Rejected(f"arguments: must be one JSON object; received {shown(value)}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Rejected(f"{_name(key)}: must be written once; received it more than once")
            seen.add(key)
    return members


def _integer(literal: str) -> int | _Outsized:
    # Python refuses to read integers of thousands of digits, and reading them takes long.
    if len(literal) > _DIGITS_READ:
        return _Outsized(f"an integer of {len(literal.lstrip('-'))} digits")
    return int(literal)


def _real(literal: str) -> float | _Outsized:
    value = float(literal)
    return value if math.isfinite(value) else _Outsized("a number beyond double precision")


def _not_json(literal: str) -> None:
    raise Rejected(f"arguments: must be JSON, which has no {literal}; write a number")


def _value_problems(model: type[Arguments], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, problem) of what types do not tell: unknown fields, nulls, and texts that cannot be
    stored.
    """
    for field, value in values.items():
        if field not in model.model_fields:
            yield field, _unknown(model, field)
        elif value is None:
            left_out = "" if model.model_fields[field].is_required() else ", or left out"
            yield field, f"{field}: must be {allowed(model, field)}{left_out}; received null"
        elif any(_NOT_TEXT.search(text) for text in _texts(value)):
            yield field, f"{field}: must be Unicode text without NUL and without lone surrogates"


def _texts(value: object) -> Iterator[str]:
    """All strings in a JSON value, keys included, however deep it is."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as members:
                waiting.extend(members)
            case dict() as members:
                waiting.extend(members)
                waiting.extend(members.values())


def _type_problems(
    model: type[Arguments], values: Mapping[str, Any], error: ValidationError
) -> dict[str, str]:
    """A problem for each field at fault."""
    problems: dict[str, str] = {}
    for finding in error.errors(include_url=False, include_context=False):
        field = str(finding["loc"][0])
        if finding["type"] == "missing":
            problems[field] = f"{field}: must be given, as {allowed(model, field)}"
        else:
            received = shown(values[field])
            problems[field] = f"{field}: must be {allowed(model, field)}; received {received}"
    return problems


def _unknown(model: type[Arguments], field: str) -> str:
    known = ", ".join(model.model_fields) or "none"
    problem = f"{_name(field)}: is not an argument of this tool; its arguments are: {known}"
    if _BOUND.search(field):
        problem += ". A session is bound to its company and its window; a call never names them."
    return problem


def _name(key: str) -> str:
    plain = key.isascii() and key.isprintable() and 0 < len(key) <= _CHARACTERS_SHOWN
    return key if plain else shown(key)
