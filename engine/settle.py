"""Settlement: a window's decisions, then its days in the contract's order (market.md section 1).

Pure: the state that is handed in stays as it is, and the same inputs give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.bounds import check_flows, check_stock
from engine.decision import CompanyDecision
from engine.enact import enact
from engine.records import (
    ActionReceipt,
    Award,
    CompanyDay,
    DayRecord,
    Ledger,
    MarketDay,
    ProductDay,
    PublicDay,
    SegmentDay,
    TenderNotice,
)
from engine.rules.advertising import update_goodwill
from engine.rules.capacity import complete_capacity_change
from engine.rules.choice import serve_new_demand
from engine.rules.conditions import advance_conditions, conditions_of, signal_of
from engine.rules.fulfilment import (
    book_sales,
    charge_holding,
    receive_shipments,
    replenish,
    serve_existing_orders,
)
from engine.rules.information import (
    deliver_reports,
    drift_beliefs,
    initial_beliefs,
    published_signal,
)
from engine.rules.knowledge import buy_development, mature, update_knowledge
from engine.rules.service import update_service
from engine.rules.tenders import (
    award_closing_tenders,
    expire_overdue_orders,
    notice_of,
    open_tender,
)
from engine.rules.today import Company, Today
from engine.scenario import Scenario
from engine.state import FirmState, WorldState, copy_state, state_digest
from engine.streams import Streams


@dataclass(frozen=True, slots=True)
class Settlement:
    """One settled window: the state after it, its days in order, and each deciding company's
    receipts by seat.
    """

    state: WorldState
    days: list[DayRecord]
    receipts: dict[int, list[ActionReceipt]]


def initial_state(scenario: Scenario, streams: Streams, firms: int) -> WorldState:
    """Day 0: ``firms`` companies with identical endowments, and the first tender."""
    if firms < 1:
        raise ValueError(f"a world needs at least one company, got {firms}")
    phase = [state.id for state in scenario.phases.states].index(scenario.phases.initial)
    state = WorldState(
        day=0,
        version=0,
        macro=scenario.macro.mean,
        phase=phase,
        signals=[],
        tenders=[],
        firms=[_initial_firm(scenario) for _ in range(firms)],
    )
    state.signals.append(signal_of(scenario, state))
    tender = open_tender(scenario, streams, 0)
    if tender is not None:
        state.tenders.append(tender)
    return state


def settle_window(
    scenario: Scenario,
    streams: Streams,
    state: WorldState,
    decisions: Mapping[int, CompanyDecision | None],
) -> Settlement:
    """Enact the decisions (by seat; None or absent holds) and settle the window's days.

    Decisions are enacted in seat order, whatever the order of the mapping. Raises InvalidDecision
    when the world does not allow one of them, MarketOverflow when a company comes to more money
    than a run can account for, and ValueError when the horizon is reached.
    """
    if state.day >= scenario.horizon_days:
        raise ValueError(f"the world ended on day {state.day}; no window is left to settle")
    state = copy_state(state)
    opening_cash = [firm.cash_cents for firm in state.firms]
    flows: dict[int, Ledger] = {}
    receipts: dict[int, list[ActionReceipt]] = {}
    for seat, decision in sorted(decisions.items()):
        if decision is not None:
            flows[seat], receipts[seat] = enact(scenario, streams, state, seat, decision)
    state.version += 1
    companies = players = [
        Company(seat, firm) for seat, firm in enumerate(state.firms, start=1) if firm.active
    ]
    last_day = min(state.day + scenario.window_days, scenario.horizon_days)
    days: list[DayRecord] = []
    while state.day < last_day:
        state.day += 1
        for company in companies:
            opening = opening_cash[company.seat - 1] if not days else company.firm.cash_cents
            company.record = _open_books(
                scenario, company.seat, opening, flows.pop(company.seat, None)
            )
        days.append(_settle_day(scenario, streams, state, companies))
        companies = [company for company in companies if company.firm.active]
    for company in players:
        check_stock(scenario, state.day, company.seat, company.firm)
    return Settlement(state, days, receipts)


def _settle_day(
    scenario: Scenario, streams: Streams, state: WorldState, companies: list[Company]
) -> DayRecord:
    """The nine steps of one day."""
    day = state.day
    advance_conditions(scenario, streams, state)
    today = Today(scenario, streams, state, conditions_of(scenario, state), companies)
    for company in companies:
        _complete_due(today, company)
    update_goodwill(today)
    for company in companies:
        _charge_recurring(today, company)
        company.prepare_to_sell(scenario)
        serve_existing_orders(today, company)
    demand = [serve_new_demand(today, segment) for segment in range(len(scenario.segments))]
    awards = award_closing_tenders(today)
    opened = _open_todays_tender(today)
    for company in companies:
        book_sales(today, company)
        update_service(today, company)
        expire_overdue_orders(today, company)
        replenish(today, company)
        charge_holding(today, company)
        check_flows(scenario, day, company.record)
        _close_books(company, day)
        if company.firm.active and day % scenario.window_days == 0:
            drift_beliefs(scenario, company.firm)
    return _record(today, demand, awards, opened)


def _complete_due(today: Today, company: Company) -> None:
    """Steps 2 and 3 for one company, goodwill apart: what is due arrives, then knowledge
    depreciates.
    """
    firm, record = company.firm, company.record
    receive_shipments(company, today.day)
    matured = mature(today.scenario, firm, today.day, record)
    complete_capacity_change(firm, today.day, record)
    deliver_reports(today.scenario, firm, today.day, record)
    update_knowledge(today.scenario, firm, matured)


def _charge_recurring(today: Today, company: Company) -> None:
    """Step 4: recurring budgets and tier overhead. Cash may dip below zero until the day's
    sales.
    """
    firm, ledger = company.firm, company.record.ledger
    for budgets in firm.marketing_cents:
        ledger.marketing_cents += sum(budgets)
    ledger.development_cents = buy_development(today.scenario, firm, today.day)
    ledger.reliability_cents = firm.reliability_cents
    ledger.support_cents = firm.support_cents
    ledger.overhead_cents = today.scenario.capacity.tiers[firm.tier].overhead_cents
    firm.cash_cents -= (
        ledger.marketing_cents
        + ledger.development_cents
        + ledger.reliability_cents
        + ledger.support_cents
        + ledger.overhead_cents
    )


def _open_todays_tender(today: Today) -> list[TenderNotice]:
    tender = open_tender(today.scenario, today.streams, today.day)
    if tender is None:
        return []
    today.state.tenders.append(tender)
    return [notice_of(tender)]


def _open_books(
    scenario: Scenario, seat: int, opening_cash: int, flows: Ledger | None
) -> CompanyDay:
    return CompanyDay(
        seat,
        opening_cash,
        ledger=flows or Ledger(),
        products=[ProductDay() for _ in scenario.products],
        segments=[SegmentDay() for _ in scenario.segments],
        reports=[],
        completions=[],
    )


def _close_books(company: Company, day: int) -> None:
    """Step 9: close the record; a company with negative cash leaves for good, its queue with it."""
    firm, record = company.firm, company.record
    record.closing_cash_cents = firm.cash_cents
    record.support_queue = firm.support_queue
    record.queued_units = firm.queued_units
    if firm.cash_cents < 0:
        record.exited = True
        firm.active = False
        firm.exit_day = day
        firm.queue = []
        firm.reserved = [0] * len(firm.reserved)


def _record(
    today: Today, demand: list[tuple[int, int]], awards: list[Award], opened: list[TenderNotice]
) -> DayRecord:
    state = today.state
    return DayRecord(
        day=state.day,
        state_digest=state_digest(state),
        public=PublicDay(
            signal=published_signal(today.scenario, state),
            opened=opened,
            awards=awards,
            exited_seats=[company.seat for company in today.companies if company.record.exited],
        ),
        market=MarketDay(
            macro=state.macro,
            phase=state.phase,
            opportunities=[opportunities for opportunities, _ in demand],
            lost_switchers=[lost for _, lost in demand],
        ),
        companies=[company.record for company in today.companies],
    )


def _initial_firm(scenario: Scenario) -> FirmState:
    products, segments = scenario.products, scenario.segments
    goodwill = -math.log(1.0 - scenario.advertising.initial_awareness)
    return FirmState(
        active=True,
        exit_day=None,
        cash_cents=scenario.initial_cash_cents,
        price_cents=[product.initial_price_cents for product in products],
        promotion_cents=[0] * len(products),
        reorder_target=[product.initial_reorder_target for product in products],
        development_cents=[0] * len(products),
        marketing_cents=[[0] * len(scenario.channels) for _ in segments],
        reliability_cents=0,
        support_cents=0,
        stock=[product.initial_stock for product in products],
        reserved=[0] * len(products),
        inbound=[[] for _ in products],
        queue=[],
        tier=scenario.initial_capacity_tier,
        capacity_projects=[],
        knowledge_cents=[0.0] * len(products),
        maturing=[],
        innovation_projects=[],
        pending_reports=[],
        beliefs=initial_beliefs(scenario),
        goodwill=[goodwill] * len(segments),
        satisfaction=[0.0] * len(segments),
        loyalty=[0.0] * len(segments),
        support_queue=0,
    )
