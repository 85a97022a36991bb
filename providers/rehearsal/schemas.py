"""The tools of a request: whether a service would take them."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from providers.rehearsal.refusals import Refusal, bad_request

MOST_TOOLS: Final = 128
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_SCHEMA_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")
_SCHEMA_LISTS: Final = ("anyOf", "allOf", "oneOf", "prefixItems")


class OfferedFunction(NamedTuple):
    """A tool in any protocol; `place` is where it stands in the request."""

    name: str
    parameters: dict[str, Any] | None
    is_strict: bool
    place: str
    schema_key: str


def checked_names(functions: Sequence[OfferedFunction]) -> frozenset[str]:
    """The names of the tools on offer.

    Raises:
        Refusal: too many or no tools, a name used twice, or parameters that are no JSON schema.
    """
    if not 1 <= len(functions) <= MOST_TOOLS:
        raise bad_request(
            f"Invalid 'tools': expected 1 to {MOST_TOOLS} tools, but got {len(functions)} instead.",
            "tools",
            "invalid_value",
        )
    names: set[str] = set()
    for function in functions:
        if function.name in names:
            raise bad_request(
                f"Invalid 'tools': the function name '{function.name}' is used twice.",
                f"{function.place}.name",
                "invalid_value",
            )
        names.add(function.name)
        _check_parameters(function)
    return frozenset(names)


def _check_parameters(function: OfferedFunction) -> None:
    schema = function.parameters or {}
    if function.parameters is not None and schema.get("type") != "object":
        raise _invalid(function, "schema must be a JSON Schema of 'type: \"object\"'")
    problem = _schema_problem(schema, "")
    if not problem and function.is_strict:
        problem = _strict_problem(schema, "")
    if problem:
        raise _invalid(function, problem)


def _invalid(function: OfferedFunction, problem: str) -> Refusal:
    return bad_request(
        f"Invalid schema for function '{function.name}': {problem}.",
        f"{function.place}.{function.schema_key}",
        "invalid_function_parameters",
    )


def _schema_problem(schema: Any, place: str) -> str | None:
    """The first thing that makes a JSON value no JSON schema, or None."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return f"{place or 'the schema'} is not an object"
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [] if kinds is None else [kinds]:
        if not isinstance(kind, str) or kind not in _TYPES:
            return f"{place}/type: {kind!r} is not a type"
    if not _are_names(schema.get("required", [])):
        return f"{place}/required is not an array of different strings"
    if "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        return f"{place}/enum is not an array with values"
    return _inner_problem(schema, place)


def _inner_problem(schema: dict[str, Any], place: str) -> str | None:
    inner: list[tuple[str, Any]] = []
    for key in _SCHEMA_MAPS:
        members = schema.get(key, {})
        if not isinstance(members, dict):
            return f"{place}/{key} is not an object"
        inner += [(f"{place}/{key}/{name}", member) for name, member in members.items()]
    for key in _SCHEMA_LISTS:
        choices = schema.get(key, [])
        if not isinstance(choices, list):
            return f"{place}/{key} is not an array"
        inner += [(f"{place}/{key}/{number}", choice) for number, choice in enumerate(choices)]
    for key in ("items", "additionalProperties", "not"):
        if key in schema:
            inner.append((f"{place}/{key}", schema[key]))
    return next(filter(None, (_schema_problem(member, where) for where, member in inner)), None)


def _are_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


def _strict_problem(schema: Any, place: str) -> str | None:
    """What a strict function may not have: optional or further properties."""
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties", {})
    if schema.get("type") == "object" or properties:
        if schema.get("additionalProperties") is not False:
            return f"In {place or '/'}: 'additionalProperties' is required to be false"
        if sorted(schema.get("required", [])) != sorted(properties):
            return f"In {place or '/'}: 'required' must name every key in properties"
    children = [(f"{place}/{name}", child) for name, child in properties.items()]
    children += [(f"{place}/{name}", child) for name, child in schema.get("$defs", {}).items()]
    children.append((f"{place}/items", schema.get("items")))
    return next(filter(None, (_strict_problem(child, where) for where, child in children)), None)
