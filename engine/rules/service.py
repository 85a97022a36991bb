"""Failures, support queue, satisfaction and loyalty (market.md section 7)."""

from __future__ import annotations

import math

from engine.distributions import binomial, poisson
from engine.records import SegmentDay
from engine.rules.today import Company, Today
from engine.scenario import Scenario


def failure_probability(scenario: Scenario, reliability_cents: int, utilization: float) -> float:
    """f = clip([f_min + (f0 - f_min) e^(-r/r0)] (1 + factor [u - knee]+^2), f_min, 1)."""
    service = scenario.service
    spend = math.exp(-reliability_cents / service.reliability_scale_cents)
    calm = service.failure_floor + (service.failure_base - service.failure_floor) * spend
    overload = max(0.0, utilization - service.utilization_knee)
    return min(
        1.0, max(service.failure_floor, calm * (1.0 + service.utilization_factor * overload**2))
    )


def update_service(today: Today, company: Company) -> None:
    """Step 7 of the day for one company: failures, tickets, support queue, then each segment's
    experience.
    """
    capacity = max(1, company.record.capacity_units)
    fulfilled = company.record.capacity_units - company.capacity_left
    queued = company.firm.queued_units
    _draw_failures(today, company, (fulfilled + queued) / capacity)
    pressure = _work_support_queue(today, company, fulfilled)
    for segment in range(len(company.record.segments)):
        _update_standing(today, company, segment, queued / capacity, pressure)


def _draw_failures(today: Today, company: Company, utilization: float) -> None:
    """Consumer units fail with one probability for all segments; each failure costs its
    remediation.
    """
    service = today.scenario.service
    segments = company.record.segments
    probability = failure_probability(today.scenario, company.firm.reliability_cents, utilization)
    failure_draws = today.streams.bounded("failures", company.seat, today.day, len(segments))
    ticket_draws = today.streams.bounded("tickets", company.seat, today.day, len(segments))
    failures = 0
    for number, segment in enumerate(segments):
        units = segment.fulfilled_units
        if units:
            failed = binomial(failure_draws[number], units, probability)
            expected_tickets = service.ticket_rate * units + service.tickets_per_failure * failed
            segment.failures = failed
            segment.tickets = poisson(ticket_draws[number], expected_tickets)
            failures += failed
    cost = failures * service.failure_cost_cents
    company.firm.cash_cents -= cost
    company.record.ledger.remediation_cents = cost


def _work_support_queue(today: Today, company: Company, fulfilled: int) -> float:
    """Add today's tickets, close what support can; returns the pressure pi."""
    service = today.scenario.service
    firm = company.firm
    open_tickets = firm.support_queue
    for segment in company.record.segments:
        open_tickets += segment.tickets
    closed = 0
    if open_tickets and firm.support_cents:
        (draw,) = today.streams.bounded("support", company.seat, today.day, 1)
        mean = service.support_tickets * firm.support_cents / service.support_base_cents
        closed = min(open_tickets, poisson(draw, mean))
    firm.support_queue = open_tickets - closed
    return firm.support_queue / max(1, open_tickets + fulfilled)


def _update_standing(
    today: Today, company: Company, segment: int, congestion: float, pressure: float
) -> None:
    """Satisfaction moves every day, loyalty only on days with fulfilled consumer units."""
    service = today.scenario.service
    firm = company.firm
    record = company.record.segments[segment]
    experience = _experience(today, record, segment, congestion, pressure)
    if experience < 0.0:
        experience *= service.loss_aversion
    experience = min(1.0, max(-1.0, experience))
    memory = service.satisfaction_memory
    satisfaction = memory * firm.satisfaction[segment] + (1.0 - memory) * experience
    satisfaction = min(1.0, max(-1.0, satisfaction))
    firm.satisfaction[segment] = record.satisfaction = satisfaction
    if record.fulfilled_units:
        memory = service.loyalty_memory
        loyalty = memory * firm.loyalty[segment] + (1.0 - memory) * max(0.0, satisfaction)
        firm.loyalty[segment] = min(1.0, max(0.0, loyalty))
    record.loyalty = firm.loyalty[segment]


def _experience(
    today: Today, record: SegmentDay, segment: int, congestion: float, pressure: float
) -> float:
    """e of one segment before loss aversion: quality, price, waiting, failures, support pressure.

    ``congestion`` is the queue in days of capacity.
    """
    service = today.scenario.service
    terms = today.scenario.segments[segment]
    units = record.fulfilled_units
    if not units:
        delay = math.log(1.0 + congestion / terms.service_target_days)
        return -service.wait_penalty * delay - pressure
    quality_gap = record.quality_units / units - today.conditions.expected_quality[segment]
    price_excess = record.paid_cents / units / terms.reference_price_cents - 1.0
    if price_excess > 0.0:
        quality_gap -= service.price_penalty * price_excess
    wait = record.wait_unit_days / units
    delay = math.log(1.0 + max(wait, congestion) / terms.service_target_days)
    return quality_gap - service.wait_penalty * delay - record.failures / units - pressure
