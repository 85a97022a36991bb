"""The assistant message of Chat Completions, put together from the fragments of a stream.

Fields that nobody here knows are kept like the known ones (providers.md section 1).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from providers import replying
from providers.contract import ToolCall
from providers.fields import Fields
from providers.rawjson import (
    NULL,
    NotJson,
    array_text,
    elements,
    encoded,
    is_string,
    member,
    members,
    object_text,
    parsed,
    string,
    text_of,
)
from providers.routes import ChatDialect


class _Call:
    """One tool call; `index` is its place, where the service states one."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.fields = Fields()
        self.function = Fields()
        self.cut = False

    def add(self, delta: Mapping[str, msgspec.Raw]) -> None:
        for key, value in delta.items():
            if key == "function":
                self.fields.hold_place(key)
                self._add_function(bytes(value))
            elif key != "index":
                self.fields.add(key, bytes(value))

    def _add_function(self, delta: bytes) -> None:
        if delta == NULL:
            return
        for key, value in members(delta).items():
            text = bytes(value)
            if key == "arguments":
                text = self._within_limit(text)
            elif key == "name" and text == self.function.text(key):
                continue
            self.function.add(key, text)

    def _within_limit(self, text: bytes) -> bytes:
        room = replying.LARGEST_ARGUMENTS_BYTES - self.function.size("arguments")
        if self.cut:
            return b'""'
        if len(text) <= room:
            return text
        self.cut = True
        shown = string(text) if is_string(text) else text.decode("utf-8", "replace")
        return encoded(shown[: max(0, room)])

    def text(self) -> bytes:
        arguments = self.function.text("arguments")
        function = self.function.texts(arguments=b'"{}"' if arguments == NULL else arguments)
        kind = self.fields.text("type")
        return object_text(
            self.fields.texts(
                type=b'"function"' if kind == NULL else kind, function=object_text(function)
            )
        )

    def call(self) -> ToolCall:
        arguments = self.function.string("arguments")
        if self.function.text("arguments") == NULL:
            arguments = "{}"
        return ToolCall(self.fields.string("id"), self.function.string("name"), arguments, self.cut)


class AssistantDraft:
    """The message so far."""

    def __init__(self) -> None:
        self._fields = Fields()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def add(self, delta: Mapping[str, msgspec.Raw]) -> None:
        """The next fragment.

        Raises:
            NotJson: `tool_calls` or a call is not of its kind.
        """
        for key, value in delta.items():
            text = bytes(value)
            if key != "tool_calls":
                self._fields.add(key, text)
            elif text != NULL:
                self._fields.hold_place(key)
                for fragment in elements(text):
                    call = members(fragment)
                    self._call_of(call).add(call)

    def native(self) -> bytes:
        """The message as a request carries it."""
        role = self._fields.text("role")
        replaced = {"role": b'"assistant"' if role == NULL else role}
        if self._calls:
            replaced["tool_calls"] = array_text(call.text() for call in self._ordered())
        if self._fields.text("content") == NULL:
            # A request must hold content or calls; null stands for content only beside calls.
            replaced["content"] = NULL if self._calls else b'""'
        own = self._fields.texts(**replaced)
        if "tool_calls" in own and not self._calls:
            del own["tool_calls"]
        return object_text(own if "role" in self._fields else {"role": own.pop("role"), **own})

    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in order."""
        return tuple(call.call() for call in self._ordered())

    def text(self) -> str:
        """What the model wrote for its reader."""
        content = self._fields.text("content")
        if content == NULL or is_string(content):
            return self._fields.string("content")
        parts = parsed(content)
        texts = [_part_text(part) for part in parts] if isinstance(parts, list) else []
        return "".join(texts)

    def holds_any(self, keys: tuple[str, ...]) -> bool:
        """Whether one of these members says something."""
        return any(not self._fields.is_empty(key) for key in keys)

    def holds_only(self, keys: tuple[str, ...]) -> bool:
        """Whether nothing but these members says anything."""
        apart = {"role", "tool_calls", *keys}
        others = (key for key in self._fields.texts() if key not in apart)
        return not self._calls and all(self._fields.is_empty(key) for key in others)

    def _call_of(self, delta: Mapping[str, msgspec.Raw]) -> _Call:
        """The call that a fragment belongs to: by index, else by id, else the last one.

        Some services give no index, or one index to all; a new id is then a new call, and so is a
        new name where there are no ids either.
        """
        index = _integer(member(delta, "index"))
        identity = text_of(member(delta, "id"))
        if index is not None:
            call = self._by_index.get(index)
            known = call.fields.string("id") if call is not None else ""
            if call is None or (identity and known and identity != known):
                call = self._by_index[index] = self._new(index)
        elif identity:
            call = self._by_id.get(identity) or self._new(None)
        elif not self._calls or _starts_call(delta):
            call = self._new(None)
        else:
            call = self._calls[-1]
        if identity:
            self._by_id[identity] = call
        return call

    def _new(self, index: int | None) -> _Call:
        self._calls.append(_Call(index))
        return self._calls[-1]

    def _ordered(self) -> list[_Call]:
        """The calls by their indexes, and as they came where those do not tell."""
        if any(call.index is None for call in self._calls):
            return self._calls
        return sorted(self._calls, key=lambda call: call.index or 0)


def returned(native: str, dialect: ChatDialect) -> bytes:
    """A stored message as the dialect takes it back; what it leaves alone stays as it stands."""
    if dialect.returns_everything:
        return native.encode()
    fields = {key: bytes(value) for key, value in members(native.encode()).items()}
    calls = elements(fields["tool_calls"]) if fields.get("tool_calls", NULL) != NULL else []
    rule = dialect.return_reasoning
    keep = rule == "always" or (rule == "with tool calls" and bool(calls))
    for key in (*dialect.withheld_fields, *(() if keep else dialect.reasoning_fields)):
        fields.pop(key, None)
    if calls and dialect.return_bad_arguments == "as empty object":
        fields["tool_calls"] = array_text(_with_sound_arguments(bytes(call)) for call in calls)
    return object_text(fields)


def _with_sound_arguments(call: bytes) -> bytes:
    fields = {key: bytes(value) for key, value in members(call).items()}
    function = {key: bytes(value) for key, value in members(fields["function"]).items()}
    try:
        members(string(function["arguments"]).encode())
    except NotJson:
        function["arguments"] = b'"{}"'
    return object_text({**fields, "function": object_text(function)})


def _integer(text: bytes) -> int | None:
    return int(text) if text.isdigit() and len(text) < 10 else None


def _starts_call(delta: Mapping[str, msgspec.Raw]) -> bool:
    function = member(delta, "function")
    return function != NULL and text_of(member(members(function), "name")) != ""


def _part_text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return text if isinstance(text, str) else ""
