"""What happened in a run, window by window: what each company read, did and wrote, and the market
beside it.

What a trajectory tells of conversations is what was sent to a model, the text and the calls of its
replies, and what came of them; nothing of a model's reasoning. A source that leaves conversations
out still tells that there were replies, queries and writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import msgspec

from campaigns.records.source import RecordSource, RunRecords

StepKind = Literal[
    "briefing",
    "reply",
    "call",
    "file",
    "correction",
    "notice",
    "fault",
    "wait",
    "halted",
    "resumed",
    "closed",
]
EventKind = Literal["exit", "tender", "award", "unfilled"]


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened in an attempt, `seconds` of active time after it began (None where
    that is not told).

    `text` is what was said, or what a call returned; `tool` and `arguments` are those of a call,
    `refused` when it changed nothing. Of a `file`, which a call wrote, `path`, `version` and
    `content` are there instead of the arguments. `input_tokens` and `output_tokens` are those of a
    reply with usage. `left_out` are characters of `text` or `content` that are not there; bytes of
    a file whose text is left out as a whole.
    """

    kind: StepKind
    seconds: float | None = None
    text: str = ""
    tool: str = ""
    arguments: str = ""
    refused: bool = False
    path: str = ""
    version: int = 0
    content: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    left_out: int = 0


class CameOf(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one action of a decision at the settlement; money in cents."""

    kind: str
    subject: str
    charge_cents: int
    refund_cents: int
    effective_day: int


class WindowStory(msgspec.Struct, frozen=True, kw_only=True):
    """One company-window: the steps of its last attempt, the sealed decision, and what came of it.

    `decision` has the fields that the decision writes (interface.md section 2), None without one.
    """

    world_version: int
    status: str
    reason: str
    settled: bool
    attempts: int
    steps: tuple[Step, ...]
    decision: dict[str, Any] | None
    receipts: tuple[CameOf, ...]


class Offer(msgspec.Struct, frozen=True, array_like=True):
    """A company's list price and promotion of one product, cents."""

    price_cents: int
    promotion_cents: int


class MarketEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something public that happened on a settled day; `seat` left the market or won the tender."""

    day: int
    kind: EventKind
    seat: int | None = None
    tender: str = ""
    product: str = ""
    units: int = 0
    unit_price_cents: int | None = None


class Trajectory(Protocol):
    """One run window by window. Reading holds the windows of one world version at a time."""

    def offers(self) -> Iterator[list[list[Offer] | None]]:
        """The standing prices at every boundary, day 0 first: by seat and product, None for a
        company that has left.
        """
        ...

    def events(self) -> Iterator[MarketEvent]:
        """By day."""
        ...

    def windows(self) -> Iterator[tuple[int, WindowStory]]:
        """Every company-window with its seat, settled and open ones, by world version and seat.

        Raises:
            IntegrityError: what is stored is not what was settled.
        """
        ...


class TrajectoryRun(RunRecords, Protocol):
    """A run with its records and its trajectory."""

    @property
    def trajectory(self) -> Trajectory:
        """The run window by window."""
        ...


class TrajectorySource(RecordSource, Protocol):
    """A campaign whose runs can be followed window by window."""

    @property
    def has_conversations(self) -> bool:
        """Whether it tells what was said, asked and written, not only how much of it."""
        ...

    @property
    def products(self) -> list[str]:
        """The product ids in the order of offers."""
        ...

    @property
    def window_days(self) -> int:
        """Days between two boundaries."""
        ...

    @property
    def horizon_days(self) -> int:
        """Days of a whole run."""
        ...

    def runs(self) -> Iterator[TrajectoryRun]:
        """The runs in scheduling order. One is readable until the next is asked for."""
        ...
