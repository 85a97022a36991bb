"""The audit trace of an attempt: its events as lines of JSON, within limits (runtime.md section 3).

A trace is a copy for people and their tools. What does not fit into it is marked as cut, by its
size and digest; the journal, and the conversation that is sent, hold all of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from orchestrator.session.events import Event
from orchestrator.session.windows import plain_event

EVENT_BYTES: Final = 64 * 1024
"""The longest line, its line feed included."""

TRACE_BYTES: Final = 16 * 1024 * 1024
"""The longest trace."""

# Room for the line that says what was left out.
_MARK_BYTES: Final = 200

_Shorten = Callable[[str], str]


def trace_lines(events: Iterable[Event]) -> Iterator[bytes]:
    """One line for each event, the whole within the limits; the last line says how many are left
    out, if any.
    """
    written, left_out = 0, 0
    for event in events:
        line = b"" if left_out else _line(event)
        if left_out or written + len(line) > TRACE_BYTES - _MARK_BYTES:
            left_out += 1
            continue
        written += len(line)
        yield line
    if left_out:
        yield _encoded(
            {"kind": "trace_cut", "events_left_out": left_out, "trace_bytes": TRACE_BYTES}
        )


def _line(event: Event) -> bytes:
    """An event within its limit: long texts in it are cut, as little as is needed."""
    value = plain_event(event)
    whole = _encoded(value)
    if len(whole) <= EVENT_BYTES:
        return whole
    mark = {"bytes": len(whole), "digest": f"sha256:{hashlib.sha256(whole).hexdigest()}"}
    longest = EVENT_BYTES
    while longest := longest // 2:
        line = _encoded({**_cut(value, _shortened_to(longest)), "cut": mark})
        if len(line) <= EVENT_BYTES:
            return line
    # So many texts that not even their beginnings fit.
    return _encoded({"kind": value["kind"], "active_seconds": event.active_seconds, "cut": mark})


def _shortened_to(longest: int) -> _Shorten:
    def shortened(text: str) -> str:
        over = len(text) - longest
        return text if over <= 0 else f"{text[:longest]}[... {over} characters cut]"

    return shortened


def _cut(value: Any, shortened: _Shorten) -> Any:
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, dict):
        return {name: _cut(item, shortened) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, shortened) for item in value]
    return value


def _encoded(value: dict[str, Any]) -> bytes:
    # Escaped, so that half a character in some text cannot end the trace.
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
