"""Pydantic's findings about a campaign, translated into problems with a place and a remedy."""

import math
from collections.abc import Iterator, Mapping
from typing import Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from campaigns.problems import Location, Problem, dotted, shown, suggestion
from manifests.canonical import LARGEST_INTEGER

# Fields in which a credential may have been pasted by mistake: their values are never repeated.
_UNSHOWN: Final = frozenset({"route"})

# What Pydantic says in the words of JSON and Python is said in those of the file.
_TOML_WORDS: Final = {
    "an object": "a table",
    "a valid array": "a list",
    "tuple should": "list should",
}


def structural_problems(root: type[BaseModel], error: ValidationError) -> list[Problem]:
    """The findings of one validation, in its order.

    Findings of a whole-model validator (those at the empty location) are left to the caller, which
    knows how to place them.
    """
    findings = error.errors()
    faulty = {
        finding["loc"][:length] for finding in findings for length in range(len(finding["loc"]))
    }
    return [
        _problem(root, finding)
        for finding in findings
        # A list whose only item is wrong is not too short on top of it.
        if finding["loc"] and not (finding["type"] == "too_short" and finding["loc"] in faulty)
    ]


def foreign_values(location: Location, value: object) -> Iterator[Problem]:
    """Values without an exact JSON form, wherever they stand: dates, infinities, huge integers."""
    match value:
        case Mapping():
            for key, item in value.items():
                yield from foreign_values((*location, key), item)
        case list() | tuple():
            for index, item in enumerate(value):
                yield from foreign_values((*location, index), item)
        case bool() | str() | None:
            return
        case int() if abs(value) > LARGEST_INTEGER:
            yield Problem(
                location,
                f"received an integer beyond {LARGEST_INTEGER}, which has no exact JSON form",
                "Use a smaller integer, or a string where text is allowed.",
            )
        case float() if not math.isfinite(value):
            yield Problem(location, f"received {value}, no finite number", "Use a finite number.")
        case int() | float():
            return
        case _:
            kind = type(value).__name__
            yield Problem(
                location, f"received a {kind} ({value}), which has no JSON form", "Write a string."
            )


def _problem(root: type[BaseModel], finding: ErrorDetails) -> Problem:
    location = finding["loc"]
    field = dotted(location[-1:])
    match finding["type"]:
        case "extra_forbidden":
            return Problem(
                location, "this field is not known", _known_fields(root, location, field)
            )
        case "missing":
            return Problem(location, "is missing", _expectation(root, location))
    message = finding["msg"][:1].lower() + finding["msg"][1:]
    for word, toml_word in _TOML_WORDS.items():
        message = message.replace(word, toml_word)
    received = "" if _UNSHOWN & set(location) else f"received {shown(finding['input'])}; "
    return Problem(location, f"{received}{message}", _expectation(root, location))


def _known_fields(root: type[BaseModel], location: Location, field: str) -> str:
    model = _model_at(root, location[:-1])
    known = [] if model is None else list(model.model_fields)
    # In TOML a key below a [table] belongs to that table: the commonest slip of a newcomer.
    if len(location) > 1 and field in root.model_fields and field not in known:
        return f'"{field}" belongs to the whole campaign: write it above the first [table].'
    if model is root:
        known.append("extends")
    return f"{suggestion(field, known)}Known here: {', '.join(known)}."


def _expectation(root: type[BaseModel], location: Location) -> str:
    """What the field at or above a location is meant to hold, from its own description."""
    names = [index for index, part in enumerate(location) if isinstance(part, str)]
    for index in reversed(names):
        model = _model_at(root, location[:index])
        info = None if model is None else model.model_fields.get(str(location[index]))
        if info is not None and info.description:
            return f"Write {location[index]} as {info.description}."
    return "Correct the value."


def _model_at(root: type[BaseModel], location: Location) -> type[BaseModel] | None:
    model: type[BaseModel] | None = root
    for part in location:
        if isinstance(part, int):
            continue
        info = None if model is None else model.model_fields.get(part)
        model = None if info is None else _model_within(info.annotation)
    return model


def _model_within(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, BaseModel) else None
    inner = (_model_within(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)
