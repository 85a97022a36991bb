"""What one company may see: the only way out of a world's state (interface.md sections 1 and 3).

An observation is a value of its own. It holds the company's books and public information, keyed by
identifiers, and no reference to the state; what it does not name, a CEO cannot know. Hidden are
rivals' books and bids, the phase, the segments' true parameters, unfinished projects' true length
and gain, pending reports' readings, and the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from engine.decision import company_name
from engine.quotes import cancellation_refund, capacity_charge, capacity_delay
from engine.records import CompanyDay, DayRecord, PublicDay, PublishedSignal
from engine.rules.information import published_signal
from engine.rules.knowledge import product_quality
from engine.scenario import Scenario
from engine.state import FirmState, Order, Tender, WorldState


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
    """The public frame of a scenario."""

    products: dict[str, ProductTerms]
    segments: dict[str, SegmentLabel]
    channels: tuple[str, ...]
    capacity: tuple[CapacityTerms, ...]
    innovation: tuple[InnovationTerms, ...]
    research: tuple[ResearchTerms, ...]
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


class Boundary:
    """The observations of one boundary: public parts are built once for all companies.

    ``elapsed`` are the records of the window that ended at ``state.day`` (empty at day 0).
    """

    def __init__(self, scenario: Scenario, state: WorldState, elapsed: Sequence[DayRecord]) -> None:
        self._scenario = scenario
        self._state = state
        self._elapsed = elapsed
        self._catalog = catalog(scenario)
        self._offers = _offers(scenario, state)
        self._signal = published_signal(scenario, state)
        self._public_elapsed = tuple(record.public for record in elapsed)

    def observe(self, seat: int) -> Observation:
        """What the company in ``seat`` may see now; it must be active."""
        scenario, state = self._scenario, self._state
        firm = state.firms[seat - 1]
        if not firm.active:
            raise ValueError(
                f"{company_name(seat)} left the market on day {firm.exit_day} and sees nothing more"
            )
        consumer = [order for order in firm.queue if order.tender_id is None]
        enterprise = [order for order in firm.queue if order.tender_id is not None]
        return Observation(
            company_id=company_name(seat),
            seat=seat,
            world_version=state.version,
            day=state.day,
            catalog=self._catalog,
            cash_cents=firm.cash_cents,
            products=_own_products(scenario, firm),
            marketing={
                segment_id: dict(zip(scenario.channels, budgets, strict=True))
                for segment_id, budgets in zip(
                    scenario.segment_ids, firm.marketing_cents, strict=True
                )
            },
            reliability_cents=firm.reliability_cents,
            support_cents=firm.support_cents,
            tier=firm.tier,
            units_per_day=scenario.capacity.tiers[firm.tier].units_per_day,
            support_queue=firm.support_queue,
            inbound=tuple(
                OwnShipment(product_id, shipment.units, shipment.due_day)
                for product_id, shipments in zip(scenario.product_ids, firm.inbound, strict=True)
                for shipment in shipments
            ),
            backlog=tuple(_own_order(scenario, order) for order in consumer),
            contracts=tuple(_own_contract(scenario, order) for order in enterprise),
            capacity_projects=tuple(
                OwnCapacityProject(
                    *(getattr(project, name) for name in OwnCapacityProject.__struct_fields__)
                )
                for project in firm.capacity_projects
            ),
            capacity_quotes=tuple(_capacity_quotes(scenario, firm, state.day)),
            innovation_projects=_own_innovation(scenario, firm),
            pending_reports=tuple(
                OwnPendingReport(
                    report.report_id,
                    scenario.segment_ids[report.segment],
                    report.level,
                    report.sample_day,
                    report.due_day,
                )
                for report in firm.pending_reports
            ),
            beliefs={
                segment_id: SegmentBeliefs(
                    *(OwnBelief(belief.mean, belief.variance) for belief in beliefs)
                )
                for segment_id, beliefs in zip(scenario.segment_ids, firm.beliefs, strict=True)
            },
            offers=self._offers,
            tenders=tuple(_open_tender(scenario, tender, seat) for tender in state.tenders),
            signal=self._signal,
            elapsed=tuple(
                company
                for record in self._elapsed
                for company in record.companies
                if company.seat == seat
            ),
            public_elapsed=self._public_elapsed,
        )


@lru_cache(maxsize=8)
def catalog(scenario: Scenario) -> Catalog:
    """The public frame that every company of a scenario sees."""
    return Catalog(
        products={
            product.id: ProductTerms(
                product.id,
                product.base_quality,
                product.initial_price_cents,
                product.purchase_cost_cents,
                product.liquidation_value_cents,
                product.holding_cost_cents,
                product.procurement_days,
            )
            for product in scenario.products
        },
        segments={
            segment.id: SegmentLabel(segment.id, segment.label) for segment in scenario.segments
        },
        channels=scenario.channels,
        capacity=tuple(
            CapacityTerms(
                number,
                tier.units_per_day,
                tier.overhead_cents,
                tier.capital_cents,
                tier.construction_days,
            )
            for number, tier in enumerate(scenario.capacity.tiers)
        ),
        innovation=tuple(
            InnovationTerms(number, tier.cost_cents, tier.median_days, tier.expected_gain_cents)
            for number, tier in enumerate(scenario.innovation.tiers, start=1)
        ),
        research=tuple(
            ResearchTerms(number, level.cost_cents, level.delay_days, level.log_sd)
            for number, level in enumerate(scenario.information.research_levels, start=1)
        ),
        horizon_days=scenario.horizon_days,
        window_days=scenario.window_days,
        initial_value_cents=scenario.initial_value_cents,
    )


def _offers(scenario: Scenario, state: WorldState) -> tuple[PublicOffer, ...]:
    return tuple(
        PublicOffer(
            company_name(seat), seat, firm.active, product_id, price, promotion, price - promotion
        )
        for seat, firm in enumerate(state.firms, start=1)
        for product_id, price, promotion in zip(
            scenario.product_ids, firm.price_cents, firm.promotion_cents, strict=True
        )
    )


def _own_products(scenario: Scenario, firm: FirmState) -> dict[str, OwnProduct]:
    return {
        product.id: OwnProduct(
            product.id,
            firm.price_cents[j],
            firm.promotion_cents[j],
            firm.reorder_target[j],
            firm.development_cents[j],
            product_quality(scenario, j, firm.knowledge_cents[j]),
            firm.stock[j],
            firm.reserved[j],
            firm.inbound_units(j),
        )
        for j, product in enumerate(scenario.products)
    }


def _own_order(scenario: Scenario, order: Order) -> OwnOrder:
    assert order.segment is not None
    return OwnOrder(
        order.entered_day,
        scenario.segment_ids[order.segment],
        scenario.product_ids[order.product],
        order.units,
        order.price_cents,
    )


def _own_contract(scenario: Scenario, order: Order) -> OwnContract:
    assert order.tender_id is not None
    assert order.due_day is not None
    product_id = scenario.product_ids[order.product]
    return OwnContract(
        order.tender_id,
        product_id,
        order.units,
        order.price_cents,
        order.entered_day,
        order.due_day,
    )


def _capacity_quotes(scenario: Scenario, firm: FirmState, day: int) -> list[CapacityQuote]:
    pending = firm.pending_capacity
    if pending is not None:
        if not pending.is_expansion:
            return []
        refund = cancellation_refund(scenario, firm, pending.project_id, day)
        return [CapacityQuote("cancel", None, pending.project_id, 0, refund, day)]
    return [
        CapacityQuote(
            "expand" if tier > firm.tier else "downsize",
            tier,
            None,
            capacity_charge(scenario, firm, tier),
            0,
            day + capacity_delay(scenario, firm, tier),
        )
        for tier in range(len(scenario.capacity.tiers))
        if tier != firm.tier
    ]


def _own_innovation(scenario: Scenario, firm: FirmState) -> tuple[OwnInnovation, ...]:
    tiers = scenario.innovation.tiers
    return tuple(
        OwnInnovation(
            project.project_id,
            project.tier,
            project.started_day,
            project.started_day + tiers[project.tier - 1].median_days,
            tiers[project.tier - 1].expected_gain_cents,
        )
        for project in firm.innovation_projects
    )


def _open_tender(scenario: Scenario, tender: Tender, seat: int) -> OpenTender:
    own_bid = next((bid.unit_price_cents for bid in tender.bids if bid.seat == seat), None)
    return OpenTender(
        tender.tender_id,
        scenario.product_ids[tender.product],
        tender.units,
        tender.minimum_quality,
        tender.reservation_price_cents,
        tender.opened_day,
        tender.close_day,
        tender.due_day,
        own_bid,
    )
