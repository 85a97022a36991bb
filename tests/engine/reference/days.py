"""market.md section 1: day 0, a window, and the nine steps of a day."""

import math
from collections.abc import Mapping

from engine.decision import CompanyDecision
from engine.records import DayRecord, MarketDay, PublicDay
from engine.scenario import Scenario
from engine.state import FirmState, WorldState
from engine.streams import Streams
from tests.engine.reference import conditions, information, knowledge, orders, tenders
from tests.engine.reference.accounts import close, new_books, pay
from tests.engine.reference.advertising import update_goodwill
from tests.engine.reference.capacity import complete_change
from tests.engine.reference.choice import serve_new_demand
from tests.engine.reference.decisions import enact
from tests.engine.reference.market import Company, Market, units_per_day
from tests.engine.reference.service import update_service


def new_market(scenario: Scenario, streams: Streams, firms: int) -> Market:
    """Day 0, with identical endowments (section 2) and the first tender (section 6)."""
    phases = [phase.id for phase in scenario.phases.states]
    state = WorldState(
        day=0,
        version=0,
        macro=scenario.macro.mean,
        phase=phases.index(scenario.phases.initial),
        signals=[],
        tenders=[],
        firms=[_endowed(scenario) for _ in range(firms)],
    )
    companies = [
        Company(seat, firm, new_books(scenario, seat, firm.cash_cents))
        for seat, firm in enumerate(state.firms, start=1)
    ]
    market = Market(scenario, streams, state, companies, [])
    market.signals.append(conditions.signal_of_today(market))
    state.signals = information.unpublished(market)
    tenders.open_tender(market)
    return market


def _endowed(scenario: Scenario) -> FirmState:
    products, segments = scenario.products, scenario.segments
    return FirmState(
        active=True,
        exit_day=None,
        cash_cents=scenario.initial_cash_cents,
        price_cents=[product.initial_price_cents for product in products],
        promotion_cents=[0 for _ in products],
        reorder_target=[product.initial_reorder_target for product in products],
        development_cents=[0 for _ in products],
        marketing_cents=[[0 for _ in scenario.channels] for _ in segments],
        reliability_cents=0,
        support_cents=0,
        stock=[product.initial_stock for product in products],
        reserved=[0 for _ in products],
        inbound=[[] for _ in products],
        queue=[],
        tier=scenario.initial_capacity_tier,
        capacity_projects=[],
        knowledge_cents=[0.0 for _ in products],
        maturing=[],
        innovation_projects=[],
        pending_reports=[],
        beliefs=information.initial_beliefs(scenario),
        goodwill=[-math.log(1 - scenario.advertising.initial_awareness) for _ in segments],
        satisfaction=[0.0 for _ in segments],
        loyalty=[0.0 for _ in segments],
        support_queue=0,
    )


def play_window(market: Market, decisions: Mapping[int, CompanyDecision | None]) -> list[DayRecord]:
    """Enact a boundary's decisions, which are booked on the next day, and settle the window."""
    for company in market.active:
        decision = decisions.get(company.seat)
        if decision is not None:
            enact(market, company, decision)
    market.state.version += 1
    last = min(market.day + market.scenario.window_days, market.scenario.horizon_days)
    return [play_day(market) for _ in range(market.day, last)]


def play_day(market: Market) -> DayRecord:
    """Steps 1 to 9."""
    companies = market.active
    market.state.day += 1
    # 1
    conditions.update_macro(market)
    conditions.update_phase(market)
    market.signals.append(conditions.signal_of_today(market))
    market.state.signals = information.unpublished(market)
    # 2
    for company in companies:
        orders.receive(market, company)
        knowledge.complete_development(market, company)
        knowledge.complete_projects(market, company)
        complete_change(market, company)
        information.deliver_reports(market, company)
    # 3
    for company in companies:
        knowledge.depreciate(market, company)
    update_goodwill(market)
    # 4
    for company in companies:
        charge_recurring(market, company)
    # 5
    for company in companies:
        company.capacity_left = units_per_day(market, company)
        orders.abandon(market, company)
        orders.serve_queue(market, company)
    demand = [serve_new_demand(market, segment) for segment in range(len(market.segments))]
    # 6
    awards = tenders.award_closing(market)
    opened = tenders.open_tender(market)
    # 7
    for company in companies:
        update_service(market, company)
        tenders.expire(market, company)
    # 8
    for company in companies:
        orders.replenish(market, company)
        orders.charge_holding(market, company)
    # 9
    for company in companies:
        close(market, company)
    for company in market.active:
        information.drift_beliefs(market, company)
    books = [company.books for company in companies]
    for company in market.active:
        company.books = new_books(market.scenario, company.seat, company.firm.cash_cents)
    return DayRecord(
        day=market.day,
        state_digest="",
        public=PublicDay(
            signal=information.published_signal(market),
            opened=opened,
            awards=awards,
            exited_seats=[company.seat for company in companies if not company.firm.active],
        ),
        market=MarketDay(
            macro=market.state.macro,
            phase=market.state.phase,
            opportunities=[opportunities for opportunities, _ in demand],
            lost_switchers=[lost for _, lost in demand],
        ),
        companies=books,
    )


def charge_recurring(market: Market, company: Company) -> None:
    """Step 4: the standing budgets, and the overhead of the installed tier."""
    firm = company.firm
    for budgets in firm.marketing_cents:
        pay(company, "marketing_cents", sum(budgets))
    knowledge.develop(market, company)
    pay(company, "reliability_cents", firm.reliability_cents)
    pay(company, "support_cents", firm.support_cents)
    pay(company, "overhead_cents", market.scenario.capacity.tiers[firm.tier].overhead_cents)
