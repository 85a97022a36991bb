"""The private draft of one company-window: what a CEO has staged and not sealed
(interface.md section 2).

A draft is a value. Each staging call adds one `DraftChange`, which is journaled with the call's
receipt; the draft is nothing but the fold of its changes, so that it can be built again from a
journal without a world. A change carries its quote, so that what a CEO was told stays known:
whoever seals the draft compares it with the world's quote of that moment.

What replaces what: settings go field by field, a budget replaces the same budget, an innovation
project the earlier project, a capacity action the earlier action, and a bid the earlier bid on the
same tender. Research requests add up, also equal ones: each buys a report of its own, with an error
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Literal, TypeAlias, TypeVar

import msgspec

from engine.decision import (
    CancelCapacityProject,
    CompanyDecision,
    DownsizeCapacity,
    ExpandCapacity,
    ProductSettings,
    ResearchRequest,
)


class Quote(msgspec.Struct, frozen=True, array_like=True):
    """What a one-time commitment costs or returns at the boundary, in cents, and the day on which
    it takes effect: a tier is installed, a project starts, a report arrives, a refund is paid.
    """

    charge_cents: int
    refund_cents: int
    effective_day: int


class _Change(msgspec.Struct, frozen=True, array_like=True):
    """Base of what one call changes in a draft."""


class ProductChange(_Change, frozen=True, tag="product"):
    """New settings of one product; None leaves the earlier one."""

    product_id: str
    price_cents: int | None = None
    promotion_cents: int | None = None
    reorder_target: int | None = None
    daily_development_budget_cents: int | None = None


class MarketingChange(_Change, frozen=True, tag="marketing"):
    """A new daily budget for one channel in one segment."""

    segment_id: str
    channel: str
    daily_budget_cents: int


class OperationsChange(_Change, frozen=True, tag="operations"):
    """New daily budgets for reliability and support; None leaves the earlier one."""

    reliability_budget_cents: int | None = None
    support_budget_cents: int | None = None


class InnovationStart(_Change, frozen=True, tag="innovation"):
    """An innovation project of a tier, counted from 1."""

    tier: int
    quote: Quote


class CapacityMove(_Change, frozen=True, tag="capacity"):
    """The one capacity action: to ``target_tier``, or the end of the project ``project_id``."""

    action: Literal["expand", "downsize", "cancel"]
    target_tier: int | None
    project_id: str | None
    quote: Quote

    def __str__(self) -> str:
        subject = self.project_id if self.action == "cancel" else f"to tier {self.target_tier}"
        return f"{self.action} {subject}"


class BidPlaced(_Change, frozen=True, tag="bid"):
    """A sealed bid for a whole tender."""

    tender_id: str
    unit_price_cents: int


class ResearchOrder(_Change, frozen=True, tag="research"):
    """One paid report on a segment; ``level`` counts from 1."""

    segment_id: str
    level: int
    quote: Quote


class DraftReset(_Change, frozen=True, tag="reset"):
    """Everything staged so far is dropped."""


DraftChange: TypeAlias = (
    ProductChange
    | MarketingChange
    | OperationsChange
    | InnovationStart
    | CapacityMove
    | BidPlaced
    | ResearchOrder
    | DraftReset
)


class Commitment(msgspec.Struct, frozen=True):
    """One staged one-time commitment, in words, with its quote."""

    item: str
    quote: Quote


class Draft(msgspec.Struct, frozen=True):
    """Everything staged. An empty draft seals to a deliberate hold.

    ``products`` are by product, ``marketing`` by segment and channel, ``bids`` by tender.
    """

    products: dict[str, ProductChange] = msgspec.field(default_factory=dict)
    marketing: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    operations: OperationsChange = OperationsChange()
    innovation: InnovationStart | None = None
    capacity: CapacityMove | None = None
    bids: dict[str, int] = msgspec.field(default_factory=dict)
    research: tuple[ResearchOrder, ...] = ()

    @property
    def is_hold(self) -> bool:
        """Whether nothing is staged."""
        return self == EMPTY

    def commitments(self) -> Iterator[Commitment]:
        """The staged one-time commitments; policies and bids commit no cash."""
        if self.innovation is not None:
            item = f"innovation project of tier {self.innovation.tier}"
            yield Commitment(item, self.innovation.quote)
        if self.capacity is not None:
            yield Commitment(f"capacity: {self.capacity}", self.capacity.quote)
        for order in self.research:
            item = f"market research on {order.segment_id}, level {order.level}"
            yield Commitment(item, order.quote)

    def to_decision(self, company_id: str, world_version: int) -> CompanyDecision:
        """The typed decision that this draft seals to, for one company and world version."""
        return CompanyDecision(
            company_id=company_id,
            world_version=world_version,
            products={
                product_id: ProductSettings(
                    price_cents=settings.price_cents,
                    promotion_cents=settings.promotion_cents,
                    reorder_target=settings.reorder_target,
                    daily_development_budget_cents=settings.daily_development_budget_cents,
                )
                for product_id, settings in self.products.items()
            },
            marketing=self.marketing,
            reliability_budget_cents=self.operations.reliability_budget_cents,
            support_budget_cents=self.operations.support_budget_cents,
            innovation_tier=None if self.innovation is None else self.innovation.tier,
            capacity=None if self.capacity is None else _capacity_action(self.capacity),
            bids=self.bids,
            research=tuple(
                ResearchRequest(segment_id=order.segment_id, level=order.level)
                for order in self.research
            ),
        )


EMPTY = Draft()

_Settings = TypeVar("_Settings", ProductChange, OperationsChange)


def apply(draft: Draft, change: DraftChange) -> Draft:
    """The draft after one change; the one given is left as it is."""
    match change:
        case ProductChange(product_id=product_id):
            settings = _merged(draft.products.get(product_id), change)
            return _with(draft, products={**draft.products, product_id: settings})
        case MarketingChange(segment_id=segment_id, channel=channel, daily_budget_cents=budget):
            budgets = {**draft.marketing.get(segment_id, {}), channel: budget}
            return _with(draft, marketing={**draft.marketing, segment_id: budgets})
        case OperationsChange():
            return _with(draft, operations=_merged(draft.operations, change))
        case InnovationStart():
            return _with(draft, innovation=change)
        case CapacityMove():
            return _with(draft, capacity=change)
        case BidPlaced(tender_id=tender_id, unit_price_cents=price):
            return _with(draft, bids={**draft.bids, tender_id: price})
        case ResearchOrder():
            return _with(draft, research=(*draft.research, change))
        case DraftReset():
            return EMPTY


def fold(changes: Iterable[DraftChange]) -> Draft:
    """The draft that these changes, in their order, make of an empty one."""
    return reduce(apply, changes, EMPTY)


def _with(draft: Draft, **values: object) -> Draft:
    return msgspec.structs.replace(draft, **values)


def _merged(earlier: _Settings | None, change: _Settings) -> _Settings:
    """The change, with the earlier value of each field that it leaves."""
    if earlier is None:
        return change
    values = {
        name: getattr(earlier, name) if getattr(change, name) is None else getattr(change, name)
        for name in change.__struct_fields__
    }
    return msgspec.structs.replace(change, **values)


def _capacity_action(
    move: CapacityMove,
) -> ExpandCapacity | DownsizeCapacity | CancelCapacityProject:
    if move.project_id is not None:
        return CancelCapacityProject(project_id=move.project_id)
    assert move.target_tier is not None
    if move.action == "expand":
        return ExpandCapacity(target_tier=move.target_tier)
    return DownsizeCapacity(target_tier=move.target_tier)
