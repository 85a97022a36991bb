"""What the gateway was asked and what it answered, so that a repeat cannot hide.

A request is known by the digest of what decides its answer: model, tools and conversation. A client
that also names its requests, in the header `X-Client-Request-Id`, is counted by these names too:
two runs may well ask the same thing, but they do not give it the same name.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from manifests.errors import InputError

SHOWN_REPEATS: Final = 1_000

# How every line of a ledger begins.
_BEGINNING: Final = b'{"event":'


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the ledger: a request was asked, or the last of its reply is being written."""

    event: Literal["asked", "answered"]
    model: str
    digest: str
    name: str | None = None


class Statistics:
    """Counters since the beginning of the ledger, or of the process where there is none."""

    def __init__(self, ledger: Path | None = None) -> None:
        self._asked: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()
        self._asked_names: Counter[str] = Counter()
        self._answered_names: Counter[str] = Counter()
        self._asked_models: Counter[str] = Counter()
        self._answered_models: Counter[str] = Counter()
        self._refused: Counter[int] = Counter()
        self._in_flight = 0
        self._peak = 0
        self._ledger = None if ledger is None else self._open(ledger)

    def arrived(self) -> None:
        """A request came in; whatever becomes of it, `left` follows."""
        self._in_flight += 1
        self._peak = max(self._peak, self._in_flight)

    def left(self) -> None:
        """A request is no longer in flight."""
        self._in_flight -= 1

    def refused(self, status: int) -> None:
        """A request was refused with this HTTP status."""
        self._refused[status] += 1

    def note(self, entry: Entry) -> None:
        """Count a request or a reply; the ledger has it before this returns."""
        self._count(entry)
        if self._ledger is not None:
            os.write(self._ledger, msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        """Give back the ledger."""
        if self._ledger is not None:
            os.close(self._ledger)
            self._ledger = None

    def report(self) -> dict[str, Any]:
        """All counters as plain JSON values.

        `requests` passed the checks; `replies` were written out whole. `repeats` holds, by digest,
        how often a request that was asked more than once was asked and answered; `repeats_by_name`
        the same by the client's names. Both show at most 1,000; the counts beside them count all.
        """
        return {
            "requests": self._asked.total(),
            "distinct_requests": len(self._asked),
            "replies": self._answered.total(),
            "refusals": {str(status): count for status, count in sorted(self._refused.items())},
            "in_flight": self._in_flight,
            "peak_in_flight": self._peak,
            "models": {
                model: {"requests": count, "replies": self._answered_models[model]}
                for model, count in sorted(self._asked_models.items())
            },
            "repeated_requests": _repeated(self._asked),
            "repeated_replies": _repeated(self._answered),
            "repeats": _repeats(self._asked, self._answered),
            "named_requests": self._asked_names.total(),
            "repeated_requests_by_name": _repeated(self._asked_names),
            "repeated_replies_by_name": _repeated(self._answered_names),
            "repeats_by_name": _repeats(self._asked_names, self._answered_names),
        }

    def _count(self, entry: Entry) -> None:
        is_asked = entry.event == "asked"
        (self._asked if is_asked else self._answered)[entry.digest] += 1
        (self._asked_models if is_asked else self._answered_models)[entry.model] += 1
        if entry.name is not None:
            (self._asked_names if is_asked else self._answered_names)[entry.name] += 1

    def _open(self, ledger: Path) -> int:
        try:
            if ledger.exists():
                self._read(ledger)
            return os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(
                f"The gateway cannot use its ledger {ledger}: {error.strerror}.",
                "Name a file in a folder that exists and can be written.",
            ) from error

    def _read(self, ledger: Path) -> None:
        lines = ledger.read_bytes().splitlines(keepends=True)
        # The machine went down while the last line was written.
        torn = lines.pop() if lines and _is_torn(lines[-1]) else b""
        for number, line in enumerate(lines, start=1):
            try:
                entry = msgspec.json.decode(line, type=Entry)
            except msgspec.DecodeError as error:
                raise InputError(
                    f"{ledger}, line {number}: not an entry of a gateway's ledger.",
                    "Name another file; this one is left as it is.",
                ) from error
            self._count(entry)
        if torn:
            os.truncate(ledger, sum(map(len, lines)))


def _is_torn(line: bytes) -> bool:
    return not line.endswith(b"\n") and line.startswith(_BEGINNING[: len(line)])


def _repeated(counts: Counter[str]) -> int:
    return len([key for key, count in counts.items() if count > 1])


def _repeats(asked: Counter[str], answered: Counter[str]) -> dict[str, dict[str, int]]:
    repeated = [key for key, count in asked.items() if count > 1]
    return {
        key: {"requests": asked[key], "replies": answered[key]} for key in repeated[:SHOWN_REPEATS]
    }
