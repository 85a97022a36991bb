"""What one company may see: the only way out of a world's state (interface.md sections 1 and 3).

An observation is a value of its own. It holds the company's books and public information, keyed by
identifiers, and no reference to the state; what it does not name, a CEO cannot know. Hidden are
rivals' books and bids, the phase, the segments' true parameters, unfinished projects' true length
and gain, pending reports' readings, and the future.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.records import CompanyDay, PublicDay, PublishedSignal


class _Seen(msgspec.Struct, frozen=True):
    """Base of all parts of an observation."""


class ProductTerms(_Seen, frozen=True):
    """Public terms of one product line."""

    product_id: str
    base_quality: float
    initial_price_cents: int
    purchase_cost_cents: int
    liquidation_value_cents: int
    holding_cost_cents: int
    procurement_days: int


class SegmentLabel(_Seen, frozen=True):
    """A consumer segment by name only."""

    segment_id: str
    label: str


class CapacityTerms(_Seen, frozen=True):
    """Public terms of one capacity tier; capital is cumulative from tier 0."""

    tier: int
    units_per_day: int
    overhead_cents: int
    capital_cents: int
    construction_days: int


class InnovationTerms(_Seen, frozen=True):
    """Public terms of one innovation tier; the expected gain is the company total over all
    product lines.
    """

    tier: int
    cost_cents: int
    median_days: int
    expected_gain_cents: int


class ResearchTerms(_Seen, frozen=True):
    """Public terms of one research level."""

    level: int
    cost_cents: int
    delay_days: int
    log_sd: float


class Catalog(_Seen, frozen=True):
    """The public frame of a scenario; ``innovation_limit`` is how many projects may be pending, and
    ``development_days`` pass from development spending to its knowledge.
    """

    products: dict[str, ProductTerms]
    segments: dict[str, SegmentLabel]
    channels: tuple[str, ...]
    capacity: tuple[CapacityTerms, ...]
    innovation: tuple[InnovationTerms, ...]
    innovation_limit: int | None
    research: tuple[ResearchTerms, ...]
    development_days: int
    horizon_days: int
    window_days: int
    initial_value_cents: int


class OwnProduct(_Seen, frozen=True):
    """Own standing policy, stock and realized quality of one product."""

    product_id: str
    price_cents: int
    promotion_cents: int
    reorder_target: int
    development_cents: int
    quality: float
    on_hand: int
    reserved: int
    inbound: int


class OwnShipment(_Seen, frozen=True):
    """Paid units that arrive on a known day."""

    product_id: str
    units: int
    due_day: int


class OwnOrder(_Seen, frozen=True):
    """A waiting consumer order."""

    entered_day: int
    segment_id: str
    product_id: str
    units: int
    price_cents: int


class OwnContract(_Seen, frozen=True):
    """A won tender that is not fully delivered yet."""

    tender_id: str
    product_id: str
    units: int
    price_cents: int
    awarded_day: int
    due_day: int


class OwnCapacityProject(_Seen, frozen=True):
    """A capacity change of any status."""

    project_id: str
    from_tier: int
    target_tier: int
    started_day: int
    due_day: int
    prepaid_cents: int
    status: str


class CapacityQuote(_Seen, frozen=True):
    """One capacity action that is possible now. A charge is paid at once, a refund received at
    once.
    """

    action: Literal["expand", "downsize", "cancel"]
    target_tier: int | None
    project_id: str | None
    charge_cents: int
    refund_cents: int
    effective_day: int


class OwnInnovation(_Seen, frozen=True):
    """A pending innovation project: only what was known at its start."""

    project_id: str
    tier: int
    started_day: int
    median_completion_day: int
    expected_gain_cents: int


class OwnPendingReport(_Seen, frozen=True):
    """Research under way."""

    report_id: str
    segment_id: str
    level: int
    sample_day: int
    delivery_day: int


class OwnBelief(_Seen, frozen=True):
    """The company's belief about one quantity of a segment."""

    mean: float
    variance: float


class SegmentBeliefs(_Seen, frozen=True):
    """Beliefs about daily demand, price weight and expected quality of a segment."""

    demand: OwnBelief
    price_weight: OwnBelief
    expected_quality: OwnBelief


class PublicOffer(_Seen, frozen=True):
    """A company's list price, promotion and effective price of one product; ``active`` is false
    after its exit.
    """

    company_id: str
    seat: int
    active: bool
    product_id: str
    price_cents: int
    promotion_cents: int
    effective_price_cents: int


class OpenTender(_Seen, frozen=True):
    """Public terms of an open tender and, if any, the company's own sealed bid."""

    tender_id: str
    product_id: str
    units: int
    minimum_quality: float
    reservation_price_cents: int
    opened_day: int
    close_day: int
    due_day: int
    own_bid_cents: int | None


class Observation(_Seen, frozen=True):
    """One company's view at one boundary.

    ``elapsed`` and ``public_elapsed`` are the company's own and the public records of the window
    that ended now, a day each; earlier windows were in earlier observations.
    """

    company_id: str
    seat: int
    world_version: int
    day: int
    catalog: Catalog
    cash_cents: int
    products: dict[str, OwnProduct]
    marketing: dict[str, dict[str, int]]
    reliability_cents: int
    support_cents: int
    tier: int
    units_per_day: int
    support_queue: int
    inbound: tuple[OwnShipment, ...]
    backlog: tuple[OwnOrder, ...]
    contracts: tuple[OwnContract, ...]
    capacity_projects: tuple[OwnCapacityProject, ...]
    capacity_quotes: tuple[CapacityQuote, ...]
    innovation_projects: tuple[OwnInnovation, ...]
    pending_reports: tuple[OwnPendingReport, ...]
    beliefs: dict[str, SegmentBeliefs]
    offers: tuple[PublicOffer, ...]
    tenders: tuple[OpenTender, ...]
    signal: PublishedSignal
    elapsed: tuple[CompanyDay, ...]
    public_elapsed: tuple[PublicDay, ...]

    @property
    def days_remaining(self) -> int:
        return self.catalog.horizon_days - self.day

    @property
    def pending_capacity(self) -> OwnCapacityProject | None:
        """The capacity change under way; at most one."""
        projects = self.capacity_projects
        return projects[-1] if projects and projects[-1].status == "pending" else None
