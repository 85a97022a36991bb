"""What the arguments of tools are made of, and the JSON schemas that are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from engine.decision import LARGEST_AMOUNT

Amount = Annotated[int, Field(ge=0, le=LARGEST_AMOUNT)]
"""Cents, units or the number of a capacity tier. The largest is what JSON carries exactly."""

Ordinal = Annotated[int, Field(ge=1, le=LARGEST_AMOUNT)]
"""A number of something that is counted from 1; the scenario says how many there are."""

Name = Annotated[str, Field(min_length=1, max_length=64)]

Omitted: TypeAlias = SkipJsonSchema[None]
"""An argument that may be left out. It may not be null, so the schema does not show this type."""


class Arguments(BaseModel):
    """Base of the arguments of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@cache
def schema_of(model: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, without what a reader does not need."""
    schema = _tidied(model.model_json_schema())
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        **({"required": schema["required"]} if "required" in schema else {}),
        "additionalProperties": False,
    }


def allowed(model: type[Arguments], field: str) -> str:
    """What may be given for a field, in words, as its schema has it."""
    return _in_words(schema_of(model)["properties"][field])


def _in_words(schema: Mapping[str, Any]) -> str:
    match schema:
        case {"anyOf": list(alternatives)}:
            return " or ".join(_in_words(alternative) for alternative in alternatives)
        case {"type": "integer", "minimum": lowest, "maximum": highest}:
            return f"an integer from {lowest} to {highest}"
        case {"type": "string", "minLength": shortest, "maxLength": longest}:
            return f"a string of {shortest} to {longest} characters"
        case {"type": "string", "maxLength": longest}:
            return f"a string of at most {longest} characters"
        case {"type": "array", "maxItems": most}:
            return f"a list of at most {most} values"
        case {"type": "object", "maxProperties": most}:
            return f"an object of at most {most} members"
    raise AssertionError(f"no words for the schema {schema}")


def _tidied(schema: Any) -> Any:
    """A schema without titles and empty defaults, with type and description first."""
    match schema:
        case dict():
            kept = {
                key: _tidied(value)
                for key, value in schema.items()
                # A title here is a word of Pydantic's; an argument of that name is an object.
                if not (key == "title" and isinstance(value, str))
                and not (key == "default" and value is None)
            }
            first = {key: kept[key] for key in ("type", "description") if key in kept}
            return {**first, **kept}
        case list():
            return [_tidied(member) for member in schema]
        case _:
            return schema
