"""JSON texts taken apart and put together without being rewritten.

What a vendor sends must be sent back as it came: unknown fields, numbers beyond double precision,
escapes. So values travel as the bytes that stood in the stream, and a string that arrives in
fragments is joined between its quotation marks.

Strings of a stream may be split inside a surrogate pair, which strict readers refuse; such a
fragment is read leniently, and joining the halves repairs the pair.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

import msgspec

NULL: Final = b"null"

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw])
# Nesting too deep to follow is not JSON of any use either.
_UNREAD: Final = (ValueError, RecursionError, msgspec.DecodeError)

_any: Final = msgspec.json.Decoder(msgspec.Raw)
_text: Final = msgspec.json.Decoder(str)
_encoder: Final = msgspec.json.Encoder()


class NotJson(ValueError):
    """The text is not JSON of the kind that was asked for."""


def members(text: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The members of a JSON object, their values as they stand.

    Raises:
        NotJson: not an object.
    """
    try:
        return _members.decode(text)
    except _UNREAD:
        value = parsed(bytes(text))
    if not isinstance(value, dict):
        raise NotJson("not a JSON object")
    return {key: msgspec.Raw(_rewritten(item)) for key, item in value.items()}


def member(holder: Mapping[str, msgspec.Raw], key: str) -> bytes:
    """The text of one member of an object, null when it is not there."""
    return bytes(holder[key]) if key in holder else NULL


def elements(text: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    """The elements of a JSON array, as they stand.

    Raises:
        NotJson: not an array.
    """
    try:
        return _elements.decode(text)
    except _UNREAD:
        value = parsed(bytes(text))
    if not isinstance(value, list):
        raise NotJson("not a JSON array")
    return [msgspec.Raw(_rewritten(item)) for item in value]


def parsed(text: bytes) -> Any:
    """The value of a JSON text, half surrogate pairs and all; broken UTF-8 is replaced.

    Raises:
        NotJson: no JSON text.
    """
    try:
        return json.loads(text.decode("utf-8", "replace"), parse_constant=_refused)
    except _UNREAD as error:
        raise NotJson("not a JSON text") from error


def string(text: bytes | bytearray) -> str:
    """The value of a JSON string; a half surrogate pair becomes the replacement character.

    Raises:
        NotJson: not a string.
    """
    try:
        return _text.decode(text)
    except _UNREAD:
        value = parsed(bytes(text))
    if not isinstance(value, str):
        raise NotJson("not a JSON string")
    return whole_characters(value)


def text_of(value: bytes) -> str:
    """The value of a JSON text that is a string; empty for any other."""
    return string(value) if is_string(value) else ""


def whole_characters(text: str) -> str:
    """The text with surrogate pairs joined and unpaired halves replaced, fit for UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_string(text: bytes | bytearray) -> bool:
    """Whether a well-formed JSON text is a string."""
    return text.startswith(b'"')


def encoded(value: Any) -> bytes:
    """The compact JSON text of a value."""
    return _encoder.encode(value)


def sound(text: bytes) -> str:
    """A JSON text as text that every reader takes: itself, unless it holds half a character.

    Raises:
        NotJson: no JSON text.
    """
    try:
        _any.decode(text)
        return text.decode()
    except _UNREAD:
        value = parsed(text)
    return whole_characters(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def object_text(fields: Mapping[str, bytes | bytearray]) -> bytes:
    """The JSON object of these member texts, in their order."""
    return b"{" + b",".join(encoded(key) + b":" + text for key, text in fields.items()) + b"}"


def array_text(items: Iterable[bytes]) -> bytes:
    """The JSON array of these element texts."""
    return b"[" + b",".join(items) + b"]"


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _rewritten(value: Any) -> bytes:
    # In ASCII, so that half a surrogate pair stays an escape.
    return json.dumps(value, separators=(",", ":")).encode()
