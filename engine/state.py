"""The state of a world: everything its future depends on, and nothing else. History lives in the
records.

Companies stand in seat order; products, segments and channels in the scenario's identifier order,
as plain indexes. Money is integer cents and goods are integer units; knowledge is real cents
(market.md section 4).

Encoding ``ceos-state-v1``: MessagePack, each structure an array of its fields in declared order,
integers in their shortest form, reals as float64. The digest is SHA-256 over the version's name, a
zero byte and those bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

STATE_ENCODING: Final = "ceos-state-v1"


class _Part(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Base of all parts of the state: encoded as an array of fields in declared order."""


class Shipment(_Part):
    """Paid units on their way; ``due_day`` is the day on which they can be sold."""

    due_day: int
    units: int


class Order(_Part):
    """Units that wait in a company's queue at an agreed price.

    A consumer order has a ``segment``; an enterprise order has a ``tender_id``, a ``due_day`` and
    a stock reservation of ``units``.
    """

    entered_day: int
    product: int
    units: int
    price_cents: int
    segment: int | None = None
    tender_id: str | None = None
    due_day: int | None = None


class CapacityProject(_Part):
    """One capacity change; an expansion has a prepaid capital difference, a downsizing has none to
    refund."""

    project_id: str
    from_tier: int
    target_tier: int
    started_day: int
    due_day: int
    prepaid_cents: int
    status: Literal["pending", "completed", "canceled"] = "pending"

    @property
    def is_expansion(self) -> bool:
        return self.target_tier > self.from_tier


class Maturing(_Part):
    """Knowledge bought by development, cents, that becomes effective on ``due_day``."""

    due_day: int
    product: int
    knowledge_cents: int


class InnovationProject(_Part):
    """A pending innovation project. ``due_day`` and ``gain_cents`` stay hidden until completion."""

    project_id: str
    tier: int
    started_day: int
    due_day: int
    gain_cents: int


class PendingReport(_Part):
    """Paid research under way: log signals of demand, price weight and quality; hidden until
    ``due_day``.
    """

    report_id: str
    segment: int
    level: int
    sample_day: int
    due_day: int
    log_signals: list[float]


class Belief(_Part):
    """Log-normal belief about one quantity of a segment: mean and variance."""

    mean: float
    variance: float


class FirmState(_Part):
    """One company. Lists run over products, segments, or segments by channels, in the scenario's
    order.

    ``inbound`` has a list for each product, in order of arrival.
    """

    active: bool
    exit_day: int | None
    cash_cents: int
    # standing policies
    price_cents: list[int]
    promotion_cents: list[int]
    reorder_target: list[int]
    development_cents: list[int]
    marketing_cents: list[list[int]]
    reliability_cents: int
    support_cents: int
    # goods and orders
    stock: list[int]
    reserved: list[int]
    inbound: list[list[Shipment]]
    queue: list[Order]
    # capacity, knowledge, information
    tier: int
    capacity_projects: list[CapacityProject]
    knowledge_cents: list[float]
    maturing: list[Maturing]
    innovation_projects: list[InnovationProject]
    pending_reports: list[PendingReport]
    beliefs: list[list[Belief]]
    # standing with customers
    goodwill: list[float]
    satisfaction: list[float]
    loyalty: list[float]
    support_queue: int

    @property
    def pending_capacity(self) -> CapacityProject | None:
        """The capacity change under way; at most one."""
        projects = self.capacity_projects
        return projects[-1] if projects and projects[-1].status == "pending" else None

    def inbound_units(self, product: int) -> int:
        """Paid units of a product that have not arrived."""
        units = 0
        for shipment in self.inbound[product]:
            units += shipment.units
        return units

    @property
    def queued_units(self) -> int:
        """Units of all waiting orders, consumer and enterprise."""
        units = 0
        for order in self.queue:
            units += order.units
        return units


class Bid(_Part):
    """A sealed bid on an open tender."""

    seat: int
    unit_price_cents: int


class Tender(_Part):
    """An open enterprise tender and its sealed bids, by seat."""

    tender_id: str
    product: int
    units: int
    minimum_quality: float
    reservation_price_cents: int
    opened_day: int
    close_day: int
    due_day: int
    bids: list[Bid]


class Signal(_Part):
    """Macro value, demand index and quality index of one day; published late."""

    macro: float
    demand_index: float
    quality_index: float


class WorldState(_Part):
    """A whole world at the end of ``day``; ``version`` counts settled windows.

    ``signals`` holds the days that are not published yet, oldest first.
    """

    day: int
    version: int
    macro: float
    phase: int
    signals: list[Signal]
    tenders: list[Tender]
    firms: list[FirmState]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(WorldState)


def encode_state(state: WorldState) -> bytes:
    """The published binary form; equal states have equal bytes."""
    return _encoder.encode(state)


def decode_state(data: bytes) -> WorldState:
    """Inverse of :func:`encode_state`. Raises msgspec.DecodeError when the bytes are not a
    world state.
    """
    return _decoder.decode(data)


def encoded_state_digest(data: bytes) -> str:
    """``sha256:<hex>`` of an encoded state."""
    return "sha256:" + hashlib.sha256(STATE_ENCODING.encode() + b"\0" + data).hexdigest()


def state_digest(state: WorldState) -> str:
    """``sha256:<hex>`` of a state."""
    return encoded_state_digest(encode_state(state))


def copy_state(state: WorldState) -> WorldState:
    """An independent copy."""
    return decode_state(encode_state(state))


def fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a record as (path, value), in encoding order; list members have 1-based
    numbers.
    """
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from fields(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        for number, member in enumerate(value, start=1):
            yield from fields(member, f"{path}[{number}]")
    else:
        yield path, value


def first_difference(left: Any, right: Any) -> tuple[str, Any, Any] | None:
    """The first leaf in which two records of one type differ, as (path, left value, right value).

    A leaf that only one side has shows None on the other.
    """
    left_fields = dict(fields(left))
    right_fields = dict(fields(right))
    for path in [*left_fields, *(path for path in right_fields if path not in left_fields)]:
        left_value, right_value = left_fields.get(path), right_fields.get(path)
        # As text, because 0.0 == -0.0 and 1 == True while their encodings differ.
        if repr(left_value) != repr(right_value):
            return path, left_value, right_value
    return None


def field_at(value: Any, offset: int) -> str:
    """The path of the leaf whose encoding covers byte ``offset`` of the record's encoding."""
    return _field_at(value, offset, "")


def _field_at(value: Any, offset: int, path: str) -> str:
    members: list[tuple[str, Any]]
    if isinstance(value, msgspec.Struct):
        members = [
            (f"{path}.{name}" if path else name, getattr(value, name))
            for name in value.__struct_fields__
        ]
    elif isinstance(value, list):
        members = [(f"{path}[{number}]", member) for number, member in enumerate(value, start=1)]
    else:
        return path
    sizes = [len(_encoder.encode(member)) for _, member in members]
    offset -= len(_encoder.encode(value)) - sum(sizes)
    if offset < 0:
        return f"{path}.length" if path else "length"
    for (member_path, member), size in zip(members, sizes, strict=True):
        if offset < size:
            return _field_at(member, offset, member_path)
        offset -= size
    return path
