"""What a settled day leaves behind: the records that are stored, analysed, and shown to their
company.

Encoded like the state (MessagePack arrays in declared order). Lists run over products or segments
in the scenario's order. Amounts are positive integer cents whichever way they flow.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ReceiptKind = Literal[
    "innovation_project",
    "capacity_expansion",
    "capacity_downsizing",
    "capacity_cancellation",
    "enterprise_bid",
    "market_research",
]


class _Record(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Base of all records: encoded as an array of fields in declared order."""


class Ledger(_Record):
    """Gross cash flows of one company-day by category (section 9)."""

    revenue_cents: int = 0
    refunds_cents: int = 0
    procurement_cents: int = 0
    holding_cents: int = 0
    marketing_cents: int = 0
    development_cents: int = 0
    reliability_cents: int = 0
    support_cents: int = 0
    overhead_cents: int = 0
    projects_cents: int = 0
    capacity_cents: int = 0
    research_cents: int = 0
    remediation_cents: int = 0
    penalties_cents: int = 0

    @property
    def outlays_cents(self) -> int:
        """All outflows."""
        return (
            self.procurement_cents
            + self.holding_cents
            + self.marketing_cents
            + self.development_cents
            + self.reliability_cents
            + self.support_cents
            + self.overhead_cents
            + self.projects_cents
            + self.capacity_cents
            + self.research_cents
            + self.remediation_cents
            + self.penalties_cents
        )

    @property
    def net_cents(self) -> int:
        """The day's cash change."""
        return self.revenue_cents + self.refunds_cents - self.outlays_cents


class ProductDay(_Record):
    """One product of a company on one day; ``orders`` are consumer units asked for, ``stockouts``
    those unmet.

    ``fulfilled_units`` counts all orders, ``enterprise_units`` those of enterprise orders among
    them; ``received_units`` arrived this day, ``ordered_units`` were bought this day,
    ``abandoned_units`` left the backlog, ``backlogged_units`` joined it.
    """

    orders: int = 0
    fulfilled_units: int = 0
    enterprise_units: int = 0
    revenue_cents: int = 0
    cogs_cents: int = 0
    stockouts: int = 0
    backlogged_units: int = 0
    abandoned_units: int = 0
    received_units: int = 0
    ordered_units: int = 0


class SegmentDay(_Record):
    """One segment of a company on one day; consumer units only.

    ``paid_cents``, ``wait_unit_days`` and ``quality_units`` are totals over the fulfilled units.
    ``satisfaction`` and ``loyalty`` are the values at the day's end.
    """

    fulfilled_units: int = 0
    paid_cents: int = 0
    wait_unit_days: int = 0
    quality_units: float = 0.0
    failures: int = 0
    tickets: int = 0
    satisfaction: float = 0.0
    loyalty: float = 0.0


class ResearchReport(_Record):
    """A delivered research report: noisy readings of the sampling day (section 8)."""

    report_id: str
    segment: int
    level: int
    sample_day: int
    delivery_day: int
    log_sd: float
    demand: float
    price_weight: float
    expected_quality: float


class Completion(_Record):
    """A project that completed this day: an innovation's total gain in cents, or a capacity
    change's new tier.
    """

    kind: Literal["innovation_project", "capacity_project"]
    project_id: str
    knowledge_gain_cents: int | None = None
    tier: int | None = None


class CompanyDay(_Record):
    """One company-day. Private to the company."""

    seat: int
    opening_cash_cents: int
    ledger: Ledger
    products: list[ProductDay]
    segments: list[SegmentDay]
    reports: list[ResearchReport]
    completions: list[Completion]
    capacity_units: int = 0
    support_queue: int = 0
    queued_units: int = 0
    closing_cash_cents: int = 0
    exited: bool = False

    @property
    def fulfilled_units(self) -> int:
        return sum(product.fulfilled_units for product in self.products)


class TenderNotice(_Record):
    """Public terms of a tender."""

    tender_id: str
    product: int
    units: int
    minimum_quality: float
    reservation_price_cents: int
    opened_day: int
    close_day: int
    due_day: int


class Award(_Record):
    """Public result of a closed tender; without a qualifying bid, winner and price are None."""

    tender_id: str
    product: int
    units: int
    close_day: int
    due_day: int
    winner_seat: int | None
    unit_price_cents: int | None


class PublishedSignal(_Record):
    """The late public signal of one day (section 8)."""

    sample_day: int
    macro: float
    demand_index: float
    quality_index: float


class PublicDay(_Record):
    """What everyone may know of a day."""

    signal: PublishedSignal
    opened: list[TenderNotice]
    awards: list[Award]
    exited_seats: list[int]


class MarketDay(_Record):
    """What only the settlement knows of a day: conditions, opportunities and switchers lost, by
    segment.
    """

    macro: float
    phase: int
    opportunities: list[int]
    lost_switchers: list[int]


class DayRecord(_Record):
    """One settled day of a world; ``companies`` has those that were active when it began, in
    seat order.
    """

    day: int
    state_digest: str
    public: PublicDay
    market: MarketDay
    companies: list[CompanyDay]


class ActionReceipt(_Record):
    """What really happened to one staged action (interface.md section 2).

    ``subject`` names the project, tender, or segment and level. ``outcome`` is ``applied`` when
    the action took effect at the barrier: a project was placed, a bid was entered, a report was
    ordered.
    """

    kind: ReceiptKind
    subject: str
    decided_day: int
    charge_cents: int
    refund_cents: int
    outcome: Literal["applied"]
    effective_day: int
