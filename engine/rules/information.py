"""Market research, beliefs, and the late public signal (market.md section 8)."""

from __future__ import annotations

import math

from engine.distributions import normal
from engine.records import CompanyDay, PublishedSignal, ResearchReport
from engine.rules.conditions import conditions_of
from engine.scenario import Scenario
from engine.state import Belief, FirmState, PendingReport, WorldState
from engine.streams import Streams


def initial_beliefs(scenario: Scenario) -> list[list[Belief]]:
    """The same prior for every segment: geometric means of demand and price weight, and the
    quality prior.
    """
    information = scenario.information
    demand = _geometric_mean([segment.baseline_demand for segment in scenario.segments])
    price_weight = _geometric_mean([segment.price_weight for segment in scenario.segments])
    return [
        [
            Belief(demand, (information.prior_variation * demand) ** 2),
            Belief(price_weight, (information.prior_variation * price_weight) ** 2),
            Belief(information.quality_prior_mean, information.quality_prior_variance),
        ]
        for _ in scenario.segments
    ]


def request_research(
    scenario: Scenario,
    streams: Streams,
    state: WorldState,
    seat: int,
    requests: list[tuple[int, int]],
) -> list[PendingReport]:
    """Sample the present day for each (segment, level): y = ln theta + N(0, sd^2) of three
    quantities.
    """
    conditions = conditions_of(scenario, state)
    draws = streams.open("research", seat, state.day, 3 * len(requests))
    reports = []
    for number, (segment, level) in enumerate(requests):
        terms = scenario.information.research_levels[level - 1]
        truths = (
            conditions.demand[segment],
            conditions.price_weight[segment],
            conditions.expected_quality[segment],
        )
        reports.append(
            PendingReport(
                report_id=f"report-{state.day:03d}-{number + 1}",
                segment=segment,
                level=level,
                sample_day=state.day,
                due_day=state.day + terms.delay_days,
                log_signals=[
                    math.log(truth) + terms.log_sd * normal(draw)
                    for truth, draw in zip(truths, draws[3 * number :], strict=False)
                ],
            )
        )
    state.firms[seat - 1].pending_reports.extend(reports)
    return reports


def deliver_reports(scenario: Scenario, firm: FirmState, day: int, record: CompanyDay) -> None:
    """Deliver what is due today and update the beliefs by it."""
    if not firm.pending_reports:
        return
    for report in firm.pending_reports:
        if report.due_day == day:
            log_sd = scenario.information.research_levels[report.level - 1].log_sd
            readings = [math.exp(signal) for signal in report.log_signals]
            record.reports.append(
                ResearchReport(
                    report.report_id,
                    report.segment,
                    report.level,
                    report.sample_day,
                    day,
                    log_sd,
                    *readings,
                )
            )
            firm.beliefs[report.segment] = [
                updated_belief(scenario, belief, signal, log_sd)
                for belief, signal in zip(
                    firm.beliefs[report.segment], report.log_signals, strict=True
                )
            ]
    firm.pending_reports = [report for report in firm.pending_reports if report.due_day > day]


def updated_belief(scenario: Scenario, belief: Belief, log_signal: float, log_sd: float) -> Belief:
    """Log-normal update of a belief by one log signal with the given standard deviation."""
    floor = scenario.information.denominator_floor
    prior = math.log(1.0 + belief.variance / max(belief.mean**2, floor))
    prior_mean = math.log(belief.mean) - prior / 2.0
    noise = log_sd**2
    posterior = 1.0 / (1.0 / max(prior, floor) + 1.0 / max(noise, floor))
    posterior_mean = posterior * (prior_mean / max(prior, floor) + log_signal / max(noise, floor))
    return Belief(
        math.exp(posterior_mean + posterior / 2.0),
        (math.exp(posterior) - 1.0) * math.exp(2.0 * posterior_mean + posterior),
    )


def drift_beliefs(scenario: Scenario, firm: FirmState) -> None:
    """Beliefs grow less certain after each full window: v += (drift mu)^2."""
    for beliefs in firm.beliefs:
        for belief in beliefs:
            belief.variance += (scenario.information.belief_drift * belief.mean) ** 2


def published_signal(scenario: Scenario, state: WorldState) -> PublishedSignal:
    """The signal published on the state's day: the sample of max(0, t - delay)."""
    signal = state.signals[0]
    sample_day = max(0, state.day - scenario.information.signal_delay_days)
    return PublishedSignal(sample_day, signal.macro, signal.demand_index, signal.quality_index)


def _geometric_mean(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += math.log(value)
    return math.exp(total / len(values))
