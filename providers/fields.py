"""The members of a JSON object that arrives in fragments, known and unknown ones alike.

Fragments of a string are joined, objects and lists are merged, and a value that comes in one piece
stays the very bytes that came (providers.md section 1).
"""

from typing import Any, Final

from providers.rawjson import NULL, encoded, is_string, parsed, string

# Strings that name something: services repeat them whole, and never send them in fragments.
_WHOLE: Final = frozenset({"format", "id", "index", "role", "type"})
_EMPTY: Final = frozenset({NULL, b'""', b"[]", b"{}"})
_PLACE_HELD: Final = b""


class Fields:
    """The members of one JSON object while its fragments arrive, in the order of arrival."""

    def __init__(self) -> None:
        # A bytearray is a string without its closing quotation mark; bytes are any other value.
        self._values: dict[str, bytearray | bytes] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def add(self, key: str, text: bytes) -> None:
        """The next fragment of a member, as JSON text."""
        current = self._values.get(key)
        if current is None or current == NULL:
            self._values[key] = bytearray(text[:-1]) if is_string(text) else text
        elif text == NULL:
            return
        elif not is_string(text):
            self._values[key] = encoded(_merged(key, parsed(self.text(key)), parsed(text)))
        elif isinstance(current, bytearray) and key not in _WHOLE:
            current += text[1:-1]
        elif text != b'""':
            self._values[key] = bytearray(text[:-1])

    def hold_place(self, key: str) -> None:
        """Note where a member stands whose value is kept elsewhere."""
        self._values.setdefault(key, _PLACE_HELD)

    def text(self, key: str) -> bytes:
        """The JSON text of a member, null when it has not come."""
        value = self._values.get(key, NULL)
        return bytes(value) + b'"' if isinstance(value, bytearray) else value

    def size(self, key: str) -> int:
        """The bytes that a member has so far."""
        return len(self._values.get(key, b""))

    def is_empty(self, key: str) -> bool:
        """Whether a member says nothing: not there, null, or empty."""
        return self.text(key) in _EMPTY

    def texts(self, **replaced: bytes) -> dict[str, bytes]:
        """All members' texts, some of them given."""
        own = {key: self.text(key) for key in self._values}
        return {**own, **replaced}

    def string(self, key: str) -> str:
        """The value of a member that is a string, otherwise its JSON text; empty without it."""
        text = self.text(key)
        if text == NULL:
            return ""
        return string(text) if is_string(text) else text.decode("utf-8", "replace")


def _merged(key: str, old: Any, new: Any) -> Any:
    """Two values of one member: objects by member, lists by their items' index, or else the new.

    Strings are joined unless they name something.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        joined = {name: _merged(name, value, new.get(name)) for name, value in old.items()}
        return {**joined, **{name: value for name, value in new.items() if name not in old}}
    if isinstance(old, list) and isinstance(new, list):
        return _merged_lists(old, new)
    if isinstance(old, str) and isinstance(new, str) and key not in _WHOLE:
        return old + new
    return old if new is None or new == "" else new


def _merged_lists(old: list[Any], new: list[Any]) -> list[Any]:
    items = list(old)
    places = {_index_in(item): place for place, item in enumerate(items)}
    for item in new:
        place = places.get(_index_in(item)) if _index_in(item) is not None else None
        if place is None:
            items.append(item)
        else:
            items[place] = _merged("", items[place], item)
    return items


def _index_in(item: Any) -> int | None:
    index = item.get("index") if isinstance(item, dict) else None
    return index if isinstance(index, int) else None
