"""market.md section 8: information."""

import math

from engine.decision import ResearchRequest
from engine.records import PublishedSignal, ResearchReport
from engine.scenario import Scenario
from engine.state import Belief, PendingReport, Signal
from tests.engine.reference import conditions, draws
from tests.engine.reference.accounts import pay
from tests.engine.reference.market import Company, Market


def initial_beliefs(scenario: Scenario) -> list[list[Belief]]:
    """The same for all segments: geometric means over segments, and the prior of quality."""
    terms, segments = scenario.information, scenario.segments
    demand = math.prod(segment.baseline_demand for segment in segments) ** (1 / len(segments))
    weight = math.prod(segment.price_weight for segment in segments) ** (1 / len(segments))
    return [
        [
            Belief(demand, (terms.prior_variation * demand) ** 2),
            Belief(weight, (terms.prior_variation * weight) ** 2),
            Belief(terms.quality_prior_mean, terms.quality_prior_variance),
        ]
        for _ in segments
    ]


def request_research(
    market: Market, company: Company, requests: tuple[ResearchRequest, ...]
) -> None:
    """Pay, and sample the request day's demand, price weight and expected quality at once."""
    noise = draws.research(market, company, len(requests))
    for number, request in enumerate(requests):
        terms = market.scenario.information.research_levels[request.level - 1]
        segment = market.scenario.segment_ids.index(request.segment_id)
        truths = [
            conditions.adjusted_demand(market, segment),
            conditions.price_weight(market, segment),
            conditions.expected_quality(market, segment),
        ]
        pay(company, "research_cents", terms.cost_cents)
        company.firm.pending_reports.append(
            PendingReport(
                report_id=f"report-{market.day:03d}-{number + 1}",
                segment=segment,
                level=request.level,
                sample_day=market.day,
                due_day=market.day + terms.delay_days,
                log_signals=[
                    math.log(truth) + terms.log_sd * shock
                    for truth, shock in zip(truths, noise[number], strict=True)
                ],
            )
        )


def deliver_reports(market: Market, company: Company) -> None:
    firm = company.firm
    for report in firm.pending_reports:
        if report.due_day == market.day:
            log_sd = market.scenario.information.research_levels[report.level - 1].log_sd
            demand, price_weight, quality = [math.exp(signal) for signal in report.log_signals]
            company.books.reports.append(
                ResearchReport(
                    report_id=report.report_id,
                    segment=report.segment,
                    level=report.level,
                    sample_day=report.sample_day,
                    delivery_day=report.due_day,
                    log_sd=log_sd,
                    demand=demand,
                    price_weight=price_weight,
                    expected_quality=quality,
                )
            )
            for belief, signal in zip(
                firm.beliefs[report.segment], report.log_signals, strict=True
            ):
                learn(market, belief, signal, log_sd)
    firm.pending_reports = [
        report for report in firm.pending_reports if report.due_day != market.day
    ]


def learn(market: Market, belief: Belief, signal: float, log_sd: float) -> None:
    """The update of one belief; denominators are floored."""
    floor = market.scenario.information.denominator_floor
    mean, variance = belief.mean, belief.variance
    prior = math.log(1 + variance / max(mean**2, floor))
    prior_mean = math.log(mean) - prior / 2
    prior, noise = max(prior, floor), max(log_sd**2, floor)
    posterior = 1 / (1 / prior + 1 / noise)
    posterior_mean = posterior * (prior_mean / prior + signal / noise)
    belief.mean = math.exp(posterior_mean + posterior / 2)
    belief.variance = (math.exp(posterior) - 1) * math.exp(2 * posterior_mean + posterior)


def drift_beliefs(market: Market, company: Company) -> None:
    """After each full boundary v += (0.03 mu)^2."""
    if market.day % market.scenario.window_days == 0:
        for beliefs in company.firm.beliefs:
            for belief in beliefs:
                belief.variance += (market.scenario.information.belief_drift * belief.mean) ** 2


def published_signal(market: Market) -> PublishedSignal:
    """The sample of max(0, t - 7)."""
    day = max(0, market.day - market.scenario.information.signal_delay_days)
    signal = market.signals[day]
    return PublishedSignal(day, signal.macro, signal.demand_index, signal.quality_index)


def unpublished(market: Market) -> list[Signal]:
    """The signals that the state still has to keep, today's published one first."""
    day = max(0, market.day - market.scenario.information.signal_delay_days)
    return market.signals[day:]
