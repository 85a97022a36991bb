"""The one byte form of a JSON value (RFC 8785) and the digests made from bytes.

Every digest names its algorithm: `sha256:` followed by 64 lower-case hexadecimal digits.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import rfc8785

from manifests.errors import InputError

DIGEST_PREFIX: Final = "sha256:"

# RFC 8785 numbers are IEEE 754 doubles: beyond this, neighbouring integers share one double.
LARGEST_INTEGER: Final = 2**53 - 1


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value, UTF-8.

    `value` is made of None, bool, int, float, str, list or tuple, and dict with str keys.

    Raises:
        InputError: NaN, an infinity, an integer beyond 2**53 - 1, a lone surrogate, a key that
            is not a string, or a type that JSON lacks; the message names the place in the value.
    """
    try:
        return rfc8785.dumps(value)
    except (ValueError, RecursionError) as error:
        raise _explained(value, error) from error


def parse_json(text: str | bytes, source: str) -> Any:
    """The value of a JSON text in which every key stands once and every number is finite.

    `source` names the text in messages, for instance its path. Plain `json.loads` keeps the last
    of two equal keys and takes NaN, so that two readers of one file may see different values.

    Raises:
        InputError: not JSON, a key written twice, NaN or an infinity, or nested too deeply.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{source}: the key {twice!r} is written twice.", "Keep one of them.")
        return members

    def refuse(number: str) -> NoReturn:
        raise InputError(f"{source}: {number} is not a finite number.", "Use one, or null.")

    def finite(number: str) -> float:
        value = float(number)
        return value if math.isfinite(value) else refuse(number)

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        why = str(error) if text.strip() else "it is empty"
        raise InputError(
            f"{source}: not valid JSON: {why}.", "Correct it at the place named."
        ) from error


def digest(value: Any) -> str:
    """The digest of the canonical form of a JSON value; errors as `canonical_json`."""
    return digest_bytes(canonical_json(value))


def digest_bytes(content: bytes) -> str:
    """The digest of bytes as they are: `sha256:` and 64 hexadecimal digits."""
    return DIGEST_PREFIX + hashlib.sha256(content).hexdigest()


def _explained(value: Any, error: Exception) -> InputError:
    # Looked up only after a failure: a walk in Python on every call would double the cost.
    if isinstance(error, RecursionError):
        return InputError(
            "The value has no canonical JSON form: it is nested too deeply or contains itself."
        )
    for place, message, remedy in _faults("$", value):
        return InputError(f"{place}: {message}", remedy)
    return InputError(f"The value has no canonical JSON form: {error}")


def _faults(place: str, value: Any) -> Iterator[tuple[str, str, str]]:
    match value:
        case bool() | None:
            return
        case int() | float():
            yield from _number_faults(place, value)
        case str():
            yield from _text_faults(place, value)
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _faults(f"{place}[{index}]", item)
        case dict():
            yield from _member_faults(place, value)
        case _:
            yield (
                place,
                f"a value of type {type(value).__name__} has no JSON form.",
                "Turn it into plain JSON values first.",
            )


def _number_faults(place: str, value: float) -> Iterator[tuple[str, str, str]]:
    if not isinstance(value, int):
        if not math.isfinite(value):
            yield place, f"{value} is not a JSON number.", "Use a finite number or null."
    elif abs(value) > LARGEST_INTEGER:
        # Python refuses to print integers of thousands of digits, so the message gives the length.
        yield (
            place,
            f"an integer of {value.bit_length()} bits is beyond 2**53 - 1, so not exact in JSON.",
            "Write it as a string.",
        )


def _text_faults(place: str, text: str) -> Iterator[tuple[str, str, str]]:
    try:
        text.encode()
    except UnicodeEncodeError:
        yield place, f"the text {text!a} contains a lone surrogate.", "Use valid Unicode text."


def _member_faults(place: str, members: dict[Any, Any]) -> Iterator[tuple[str, str, str]]:
    for key, item in members.items():
        if isinstance(key, str):
            yield from _text_faults(place, key)
            yield from _faults(f"{place}.{key}", item)
        else:
            yield place, f"the key {key!r} is not a string.", "Use string keys."
