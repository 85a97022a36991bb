"""Capacity, innovation, information: catalogues, quotes, projects, reports, beliefs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.observation import Observation
from engine.tables.chronicle import Elapsed
from engine.tables.form import PENDING, Cell, Row, Table, cents, count, day, name_of, real, units

_GROUP: Final = "capacity, innovation, information"


def _capacity_catalog(observation: Observation) -> Iterator[Row]:
    for tier in observation.catalog.capacity:
        yield (
            tier.tier,
            tier.units_per_day,
            tier.overhead_cents,
            tier.capital_cents,
            tier.construction_days,
        )


def _quotes(observation: Observation) -> Iterator[Row]:
    for quote in observation.capacity_quotes:
        yield (
            quote.action,
            quote.target_tier,
            quote.project_id,
            quote.charge_cents,
            quote.refund_cents,
            quote.effective_day,
        )


def _innovation_catalog(observation: Observation) -> Iterator[Row]:
    for tier in observation.catalog.innovation:
        yield tier.tier, tier.cost_cents, tier.median_days, tier.expected_gain_cents


def _pending_innovation(observation: Observation) -> Iterator[Row]:
    for project in observation.innovation_projects:
        yield (
            project.project_id,
            project.tier,
            project.started_day,
            project.median_completion_day,
            project.expected_gain_cents,
            PENDING,
            None,
        )


def _completed_innovation(elapsed: Elapsed) -> Iterator[Row]:
    for number, company in elapsed.company_days:
        for completion in company.completions:
            if completion.kind == "innovation_project":
                project = elapsed.projects[completion.project_id]
                yield (
                    project.project_id,
                    project.tier,
                    project.started_day,
                    project.median_completion_day,
                    project.expected_gain_cents,
                    "completed",
                    number,
                )


def _research_catalog(observation: Observation) -> Iterator[Row]:
    for level in observation.catalog.research:
        yield level.level, level.cost_cents, level.delay_days, level.log_sd


def _pending_reports(observation: Observation) -> Iterator[Row]:
    for report in observation.pending_reports:
        unread: tuple[Cell, ...] = (None, None, None)
        yield (
            report.report_id,
            report.segment_id,
            report.level,
            report.sample_day,
            report.delivery_day,
            PENDING,
            observation.catalog.research[report.level - 1].log_sd,
            *unread,
        )


def _delivered_reports(elapsed: Elapsed) -> Iterator[Row]:
    segments = tuple(elapsed.observation.catalog.segments)
    for _, company in elapsed.company_days:
        for report in company.reports:
            yield (
                report.report_id,
                segments[report.segment],
                report.level,
                report.sample_day,
                report.delivery_day,
                "delivered",
                report.log_sd,
                report.demand,
                report.price_weight,
                report.expected_quality,
            )


def _beliefs(observation: Observation) -> Iterator[Row]:
    for segment_id, beliefs in observation.beliefs.items():
        for quantity in ("demand", "price_weight", "expected_quality"):
            belief = getattr(beliefs, quantity)
            yield segment_id, quantity, belief.mean, belief.variance


PROJECTS: Final = (
    Table(
        "capacity_catalog",
        _GROUP,
        "The capacity tiers.",
        (
            count("tier", "tier", "Capacity tier."),
            units("units_per_day", "Units fulfilled in a day at most, all products together."),
            cents("overhead_cents", "Charged every day while the tier is installed."),
            cents("capital_cents", "Capital in all from tier 0; an expansion pays the difference."),
            count("construction_days", "days", "From the decision to expand to the tier's effect."),
        ),
        key=("tier",),
        present=_capacity_catalog,
    ),
    Table(
        "capacity_action_quotes",
        _GROUP,
        "The capacity actions open to you in this window; the settlement charges what is quoted.",
        (
            name_of("action", "expand, downsize or cancel."),
            count("target_tier", "tier", "Tier of an expansion or downsizing.", nullable=True),
            name_of("project_id", "Expansion that a cancellation ends.", nullable=True),
            cents("charge_cents", "Paid at once."),
            cents("refund_cents", "Received at once."),
            day("effective_day", "Day from which the change acts."),
        ),
        key=(),
        present=_quotes,
    ),
    Table(
        "innovation_catalog",
        _GROUP,
        "The tiers of innovation projects.",
        (
            count("tier", "tier", "Project tier."),
            cents("cost_cents", "Paid once, at the start."),
            count("median_days", "days", "Median length; the true one shows when it completes."),
            cents(
                "expected_gain_cents",
                "Expected knowledge gain of the whole company, shared by its product lines.",
            ),
        ),
        key=("tier",),
        present=_innovation_catalog,
    ),
    Table(
        "innovation_projects",
        _GROUP,
        "Your innovation projects, pending and completed.",
        (
            name_of("project_id", "Project."),
            count("tier", "tier", "Project tier."),
            day("started_day", "Day of the decision."),
            day("median_completion_day", "Start plus median length; not a promise."),
            cents(
                "expected_gain_cents",
                "Expected knowledge gain of the whole company, shared by its product lines.",
            ),
            name_of("status", "pending or completed."),
            day("completed_day", "Day of completion.", nullable=True),
        ),
        key=("project_id",),
        present=_pending_innovation,
        added=_completed_innovation,
    ),
    Table(
        "research_catalog",
        _GROUP,
        "The levels of market research.",
        (
            count("level", "level", "Research level."),
            cents("cost_cents", "Paid once for one report on one segment."),
            count("delay_days", "days", "From the request to delivery."),
            real("log_sd", "log", "Standard deviation of a reading's logarithm."),
        ),
        key=("level",),
        present=_research_catalog,
    ),
    Table(
        "research_reports",
        _GROUP,
        "Your market research. A report describes its sampling day, not the day of delivery.",
        (
            name_of("report_id", "Report."),
            name_of("segment_id", "Segment it is about."),
            count("level", "level", "Research level."),
            day("sample_day", "Day that the readings describe."),
            day("delivery_day", "Day of delivery."),
            name_of("status", "pending or delivered."),
            real("log_sd", "log", "Standard deviation of a reading's logarithm."),
            real("demand", "units a day", "Reading: daily demand of the segment.", nullable=True),
            real("price_weight", "weight", "Reading: weight of price in choice.", nullable=True),
            real("expected_quality", "quality", "Reading: quality expected.", nullable=True),
        ),
        key=("report_id",),
        present=_pending_reports,
        added=_delivered_reports,
    ),
    Table(
        "beliefs",
        _GROUP,
        "What your company believes of each segment: its prior and all delivered reports together, "
        "less certain with every window.",
        (
            name_of("segment_id", "Segment."),
            name_of("quantity", "demand (units a day), price_weight or expected_quality."),
            real("mean", "as the quantity", "Mean of the belief."),
            real("variance", "its square", "Variance of the belief."),
        ),
        key=("segment_id", "quantity"),
        present=_beliefs,
    ),
)
