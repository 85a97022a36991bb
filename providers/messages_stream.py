"""The stream of one Messages reply, put together block by block.

Every block is what its first event says, with the fragments that follow joined to it: known and
unknown fields, known and unknown kinds of blocks alike. Nothing that came is left out.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from providers import replying
from providers.contract import ProviderFault, Reply, StopKind, ToolCall, Usage
from providers.faults import Scrub, error_in, fault_of
from providers.fields import Fields
from providers.rawjson import (
    NULL,
    NotJson,
    array_text,
    elements,
    is_string,
    member,
    members,
    object_text,
    parsed,
    sound,
    string,
    text_of,
)
from providers.replying import LONGEST_NAME, Answerer, chunk_of, count_of, cut_off
from providers.routes import Route
from providers.sse import Event
from providers.transport import Exchanged, unreadable

_STOPS: Final[Mapping[str, StopKind]] = {
    "end_turn": "finished",
    "stop_sequence": "finished",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_THINKING: Final = frozenset({b'"thinking"', b'"redacted_thinking"'})
_CALL: Final = b'"tool_use"'
_TEXT: Final = b'"text"'
_NO_INPUT: Final = b"{}"
# A text of white space alone, or none at all, as it stands in JSON.
_BLANK: Final = re.compile(rb'"text":"(?: |\\[nrt])*"')

_RawObject = Mapping[str, msgspec.Raw]


class MessagesStream:
    """One reply on its way; a `ReplyStream`."""

    def __init__(self, route: Route, scrub: Scrub) -> None:
        self.done = False
        self.begun = False
        self._route = route
        self._scrub = scrub
        self._answerer = Answerer(route, scrub)
        self._blocks: dict[int, _Block] = {}
        self._bytes = 0
        self._message_id = ""
        self._stop_reason = ""
        self._usage: dict[str, Any] = {}

    def take(self, event: Event) -> None:
        """The next event.

        Raises:
            ProviderFault: an error, another model, or what is no event of a reply at all.
        """
        try:
            self._take(event, members(event.data))
        except NotJson:
            if event.name in (b"ping", b"") and event.data in (b"", b"[DONE]"):
                return
            fault = unreadable(self._scrub(chunk_of(event)))
        else:
            return
        raise ProviderFault(fault)

    def reply(self, exchanged: Exchanged) -> Reply:
        """The whole reply; see `ReplyStream`."""
        request_id = exchanged.request_id or self._message_id or None
        if not self._stop_reason:
            raise cut_off(request_id)
        blocks = [block for _, block in sorted(self._blocks.items())]
        calls = tuple(block.call() for block in blocks if block.kind == _CALL)
        replying.check_ids(calls, request_id)
        thoughts = [block.kind in _THINKING for block in blocks]
        return Reply(
            native=sound(array_text(block.text() for block in blocks)),
            text="".join(block.said() for block in blocks if block.kind == _TEXT),
            tool_calls=calls,
            stop=self._stop(bool(calls)),
            stop_reason=self._stop_reason,
            usage=usage_of(self._usage),
            requested_model=self._route.model,
            returned_model=self._answerer.model,
            request_id=request_id,
            fingerprint=None,
            latency_seconds=exchanged.latency_seconds,
            first_token_seconds=exchanged.first_token_seconds,
            has_reasoning=any(thoughts),
            is_only_reasoning=bool(thoughts) and all(thoughts),
        )

    def _take(self, event: Event, data: _RawObject) -> None:
        match text_of(member(data, "type")) or event.name.decode("utf-8", "replace"):
            case "content_block_delta":
                self._take_delta(data)
            case "content_block_start":
                self._take_start(data)
            case "message_start":
                self._take_message(members(member(data, "message")))
            case "message_delta":
                self._take_end(data)
            case "message_stop":
                self.done = True
            case "error":
                now = datetime.now(UTC)
                error = error_in(parsed(event.data))
                raise ProviderFault(fault_of(error, None, headers={}, now=now, scrub=self._scrub))

    def _take_message(self, message: _RawObject) -> None:
        self._answerer.says(text_of(member(message, "model")))
        self._message_id = self._scrub(text_of(member(message, "id")), LONGEST_NAME)
        self._take_usage(member(message, "usage"), is_final=False)

    def _take_start(self, data: _RawObject) -> None:
        self.begun = True
        block = _Block()
        content = member(data, "content_block")
        self._bound(len(content))
        block.start(members(content))
        self._blocks[_index(data, len(self._blocks))] = block

    def _take_delta(self, data: _RawObject) -> None:
        delta = member(data, "delta")
        self._bound(len(delta))
        block = self._blocks.setdefault(_index(data, max(self._blocks, default=0)), _Block())
        block.add(members(delta))

    def _take_end(self, data: _RawObject) -> None:
        delta = member(data, "delta")
        if delta != NULL:
            reason = text_of(member(members(delta), "stop_reason"))
            self._stop_reason = self._scrub(reason, LONGEST_NAME) or self._stop_reason
        self._take_usage(member(data, "usage"), is_final=True)

    def _take_usage(self, text: bytes, *, is_final: bool) -> None:
        """Later counts replace earlier ones; the output counts once it is that of the end."""
        usage = parsed(text)
        if isinstance(usage, dict):
            told = {key: value for key, value in usage.items() if value is not None}
            if not is_final:
                told.pop("output_tokens", None)
            self._usage.update(told)

    def _bound(self, size: int) -> None:
        self._bytes += size
        if self._bytes > replying.LARGEST_REPLY_BYTES:
            raise ProviderFault(unreadable(replying.TOO_LARGE))

    def _stop(self, has_calls: bool) -> StopKind:
        stop = _STOPS.get(self._stop_reason, "other")
        if stop in ("finished", "tool_calls"):
            return "tool_calls" if has_calls else "finished"
        return stop


class _Block:
    """One content block; the text of a call's input arrives inside a string of its own."""

    def __init__(self) -> None:
        self._fields = Fields()
        self._input: bytearray | None = None
        self._cut = False
        self._citations: list[bytes] = []

    @property
    def kind(self) -> bytes:
        """The block's type, as JSON text."""
        return self._fields.text("type")

    def start(self, block: _RawObject) -> None:
        for key, value in block.items():
            self._fields.add(key, bytes(value))

    def add(self, delta: _RawObject) -> None:
        """The next fragment, whatever it is a fragment of."""
        kind = member(delta, "type")
        for key, value in delta.items():
            text = bytes(value)
            if kind == b'"input_json_delta"' and key == "partial_json":
                self._add_input(text)
            elif kind == b'"citations_delta"' and key == "citation":
                self._citations.append(text)
            elif key != "type":
                self._fields.add(key, text)

    def text(self) -> bytes:
        """The block as a request carries it back: a call's input must be an object there."""
        fields = self._fields.texts()
        if self._input is not None:
            fields["input"] = self._object()
        if self._citations:
            before = fields.get("citations", NULL)
            kept = [bytes(one) for one in elements(before)] if before != NULL else []
            fields["citations"] = array_text([*kept, *self._citations])
        return object_text(fields)

    def said(self) -> str:
        """The text of a text block."""
        return self._fields.string("text")

    def call(self) -> ToolCall:
        """The call of a block that calls; its arguments are the model's text."""
        name, identity = self._fields.string("name"), self._fields.string("id")
        return ToolCall(identity, name, self._arguments() or "{}", self._cut)

    def _add_input(self, text: bytes) -> None:
        if self._input is None:
            self._input = bytearray()
        if self._cut or not is_string(text):
            return
        room = replying.LARGEST_ARGUMENTS_BYTES - len(self._input)
        self._cut = len(text) - 2 > room
        if not self._cut:
            self._input += text[1:-1]

    def _arguments(self) -> str:
        if self._input is None:
            given = self._fields.text("input")
            return "" if given == NULL else sound(given)
        return string(b'"' + bytes(self._input) + b'"')

    def _object(self) -> bytes:
        """The input as it was written, or an empty object where it is none."""
        text = self._arguments().encode()
        if self._cut or not text:
            return _NO_INPUT
        try:
            members(text)
            # Strict readers must find nothing amiss in it, however deep.
            return sound(text).encode()
        except NotJson:
            return _NO_INPUT


def returned(native: str) -> bytes | None:
    """A stored reply as the service takes it back; None when nothing was said.

    It stays as it stands, except that the service refuses the blank texts that it sends.
    """
    text = native.encode()
    if _BLANK.search(text) is None:
        return None if text == b"[]" else text
    kept = [bytes(block) for block in elements(text) if not _is_blank(block)]
    return array_text(kept) if kept else None


def usage_of(usage: Mapping[str, Any]) -> Usage | None:
    """The tokens that the usage of a whole reply states (section 3).

    The vendor counts input apart that was read from the cache, or written into it: all three are
    the input. None when input or output is not stated; no request is without input.
    """
    plain, wrote = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    if plain is None or wrote is None:
        return None
    cached = count_of(usage, "cache_read_input_tokens") or 0
    written = count_of(usage, "cache_creation_input_tokens") or 0
    read = plain + cached + written
    thinking = count_of(usage.get("output_tokens_details"), "thinking_tokens") or 0
    return Usage(read, cached, wrote, min(thinking, wrote), written) if read else None


def _is_blank(block: msgspec.Raw) -> bool:
    fields = members(block)
    return member(fields, "type") == _TEXT and not text_of(member(fields, "text")).strip()


def _index(data: _RawObject, otherwise: int) -> int:
    index = member(data, "index")
    return int(index) if index.isdigit() and len(index) < 10 else otherwise
