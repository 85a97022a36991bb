"""market.md section 7: service."""

import math

from tests.engine.reference import conditions, draws
from tests.engine.reference.accounts import pay
from tests.engine.reference.market import Company, Market, queued_units, units_per_day


def clip(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


def fulfilled_units(company: Company) -> int:
    """F_it: all units fulfilled today, consumer and enterprise."""
    return sum(line.fulfilled_units for line in company.books.products)


def failure_probability(market: Market, company: Company) -> float:
    terms = market.scenario.service
    units = fulfilled_units(company) + queued_units(company)
    utilization = units / max(1, units_per_day(market, company))
    spend = math.exp(-company.firm.reliability_cents / terms.reliability_scale_cents)
    calm = terms.failure_floor + (terms.failure_base - terms.failure_floor) * spend
    excess = max(0.0, utilization - terms.utilization_knee)
    return clip(calm * (1 + terms.utilization_factor * excess**2), terms.failure_floor, 1.0)


def fail(market: Market, company: Company) -> None:
    """Failures of the consumer units of each segment, and the tickets that follow."""
    terms, share = market.scenario.service, failure_probability(market, company)
    for segment, served in enumerate(company.books.segments):
        units = served.fulfilled_units
        served.failures = draws.failures(market, company, segment, units, share)
        expected = terms.ticket_rate * units + terms.tickets_per_failure * served.failures
        served.tickets = draws.tickets(market, company, segment, expected)
        pay(company, "remediation_cents", served.failures * terms.failure_cost_cents)


def work_support_queue(market: Market, company: Company) -> float:
    """Close what support can close today; the pressure pi."""
    terms, firm = market.scenario.service, company.firm
    tickets = firm.support_queue + sum(served.tickets for served in company.books.segments)
    capacity = draws.support(
        market, company, terms.support_tickets * firm.support_cents / terms.support_base_cents
    )
    firm.support_queue = tickets - min(tickets, capacity)
    return firm.support_queue / max(1, tickets + fulfilled_units(company))


def experience(market: Market, company: Company, segment: int, pressure: float) -> float:
    """e of a segment, before losses weigh more; without sales, what was expected for nothing."""
    service, terms = market.scenario.service, market.segments[segment]
    served, units = company.books.segments[segment], company.books.segments[segment].fulfilled_units
    expected = conditions.expected_quality(market, segment)
    mean_quality = served.quality_units / units if units else expected
    mean_price = served.paid_cents / units if units else 0.0
    mean_wait = served.wait_unit_days / units if units else 0.0
    congestion = queued_units(company) / max(1, units_per_day(market, company))
    wait = max(mean_wait, congestion)
    return (
        mean_quality
        - expected
        - service.price_penalty * max(0.0, mean_price / terms.reference_price_cents - 1)
        - service.wait_penalty * math.log(1 + wait / terms.service_target_days)
        - served.failures / max(1, units)
        - pressure
    )


def update_standing(market: Market, company: Company, pressure: float) -> None:
    """Satisfaction every day, loyalty on days on which the segment was served."""
    terms, firm = market.scenario.service, company.firm
    for segment, served in enumerate(company.books.segments):
        felt = experience(market, company, segment, pressure)
        felt = clip(felt * (terms.loss_aversion if felt < 0 else 1), -1.0, 1.0)
        memory = terms.satisfaction_memory
        satisfaction = clip(memory * firm.satisfaction[segment] + (1 - memory) * felt, -1.0, 1.0)
        firm.satisfaction[segment] = satisfaction
        if served.fulfilled_units > 0:
            memory = terms.loyalty_memory
            loyalty = memory * firm.loyalty[segment] + (1 - memory) * max(0.0, satisfaction)
            firm.loyalty[segment] = clip(loyalty, 0.0, 1.0)
        served.satisfaction, served.loyalty = firm.satisfaction[segment], firm.loyalty[segment]


def update_service(market: Market, company: Company) -> None:
    fail(market, company)
    pressure = work_support_queue(market, company)
    update_standing(market, company, pressure)
