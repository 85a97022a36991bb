"""Twins of the engine's records that show their fields by name.

The engine encodes a record as an array of its fields. In a bundle the same record is a JSON object,
so that it can be read without counting places; a twin converts both ways and loses nothing.
"""

import types
import typing
from functools import cache
from typing import Any

import msgspec


@cache
def named(record: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The twin of a record's type: same name, same fields, encoded as an object."""
    fields = []
    for field in msgspec.structs.fields(record):
        hint = _named_hint(field.type)
        fields.append((field.name, hint) if field.required else (field.name, hint, field.default))
    return msgspec.defstruct(
        record.__name__,
        fields,
        forbid_unknown_fields=True,
        namespace={"__doc__": record.__doc__, "__module__": record.__module__},
    )


def to_named(record: msgspec.Struct) -> msgspec.Struct:
    """A record as its twin."""
    return msgspec.convert(record, named(type(record)), from_attributes=True)


def from_named(twin: Any, record: type[msgspec.Struct]) -> Any:
    """Inverse of `to_named`."""
    return msgspec.convert(twin, record, from_attributes=True)


def _named_hint(hint: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return named(hint)
    arguments = tuple(_named_hint(argument) for argument in typing.get_args(hint))
    origin = typing.get_origin(hint)
    if origin is list:
        return list[arguments]  # type: ignore[valid-type]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[arguments]  # noqa: UP007 - made while the program runs
    return hint
