"""Server-sent events out of the bytes of a stream, each byte looked at once.

A pure decoder of the WHATWG event-stream format: feed it what arrives, in pieces of any size, and
take the events that are complete. Nothing here knows what the events mean.
"""

from typing import Final, NamedTuple

# One event of a reply is a few hundred bytes; a whole reply sent as one event is below this.
LARGEST_EVENT_BYTES: Final = 32 * 1024 * 1024

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event: its name, empty when the stream gave none, and its data, lines joined."""

    name: bytes
    data: bytes


class EventTooLarge(Exception):
    """The stream holds an event larger than `LARGEST_EVENT_BYTES`."""


class EventDecoder:
    """Turns the pieces of one stream into its events."""

    def __init__(self) -> None:
        # The unfinished line, in the pieces it came in: joined once, when its end is there.
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._name = b""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._begun = False

    def feed(self, piece: bytes) -> list[Event]:
        """The events that `piece` completes, in order.

        Raises:
            EventTooLarge: an unfinished event has outgrown the limit.
        """
        self._line.append(piece)
        self._line_bytes += len(piece)
        events: list[Event] = []
        if b"\n" in piece or b"\r" in piece:
            *lines, rest = self._lines()
            events = self._take(lines)
            self._line = [rest]
            self._line_bytes = len(rest)
        if self._data_bytes + self._line_bytes > LARGEST_EVENT_BYTES:
            raise EventTooLarge
        return events

    def finish(self) -> list[Event]:
        """The last event of a stream that ended properly but without its closing blank line."""
        lines = [line.removesuffix(b"\r") for line in self._lines()]
        self._line = []
        return self._take([*lines, b""])

    def _lines(self) -> list[bytes]:
        text = b"".join(self._line)
        if not self._begun:
            self._begun = True
            text = text.removeprefix(_BYTE_ORDER_MARK)
        if b"\r" not in text:
            return text.split(b"\n")
        # A carriage return at the very end may be the first half of a line end.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        return text.split(b"\n")

    def _take(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(Event(self._name, b"\n".join(self._data)))
                    self._data = []
                    self._data_bytes = 0
                self._name = b""
            elif line.startswith(b"data:"):
                data = line[6:] if line.startswith(b"data: ") else line[5:]
                self._data.append(data)
                self._data_bytes += len(data) + 1
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
        return events
