"""From the state of a world to what each company may see at a boundary (interface.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from engine.decision import company_name
from engine.observation import (
    CapacityQuote,
    CapacityTerms,
    Catalog,
    InnovationTerms,
    Observation,
    OpenTender,
    OwnBelief,
    OwnCapacityProject,
    OwnContract,
    OwnInnovation,
    OwnOrder,
    OwnPendingReport,
    OwnProduct,
    OwnShipment,
    ProductTerms,
    PublicOffer,
    ResearchTerms,
    SegmentBeliefs,
    SegmentLabel,
)
from engine.quotes import cancellation_refund, capacity_charge, capacity_delay
from engine.records import DayRecord
from engine.rules.information import published_signal
from engine.rules.knowledge import product_quality
from engine.scenario import Scenario
from engine.state import FirmState, Order, Tender, WorldState


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
        innovation_limit=scenario.innovation.max_pending,
        research=tuple(
            ResearchTerms(number, level.cost_cents, level.delay_days, level.log_sd)
            for number, level in enumerate(scenario.information.research_levels, start=1)
        ),
        development_days=scenario.knowledge.maturation_days,
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
