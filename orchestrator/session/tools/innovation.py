"""`start_research_project`: the one-time, company-wide innovation project."""

from __future__ import annotations

from pydantic import Field

from orchestrator.session.draft import InnovationStart
from orchestrator.session.tools.arguments import Rejected, out_of_range
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.quoting import innovation_quote
from orchestrator.session.tools.schemas import Arguments, Ordinal
from orchestrator.session.tools.staging import Effect, staged


class StartResearchProject(Arguments):
    tier: Ordinal = Field(
        description="Size of the project: 1, 2 or 3 in the standard market; innovation_catalog "
        "lists the tiers with their cost, median duration and expected gain.",
    )


def _run(context: ToolContext, arguments: StartResearchProject) -> ToolOutcome:
    terms, tier = context.scenario.innovation, arguments.tier
    if tier > len(terms.tiers):
        raise out_of_range("tier", 1, len(terms.tiers), tier)
    pending = len(context.firm.innovation_projects)
    if terms.max_pending is not None and pending >= terms.max_pending:
        raise Rejected(
            f"tier: no project can start while {pending} are pending; at most {terms.max_pending} "
            "may be"
        )
    earlier = context.draft.innovation
    quote = innovation_quote(context.scenario, context.day, tier)
    return staged(
        context,
        InnovationStart(tier, quote),
        [Effect("innovation_tier", None if earlier is None else earlier.tier, tier)],
        quote=quote,
        details={
            "median_completion_day": context.day + terms.tiers[tier - 1].median_days,
            "expected_gain_cents": terms.tiers[tier - 1].expected_gain_cents,
        },
    )


START_RESEARCH_PROJECT = Tool(
    name="start_research_project",
    description=(
        "Stage one innovation project for the whole company, paid once. On completion its "
        "knowledge gain, a company total, is shared equally by all product lines; the true "
        "duration and gain are random and unknown until then. A draft holds at most one project: "
        "another call replaces the staged tier. A project is not repeated in later windows. "
        "Staging only changes your private draft."
    ),
    arguments=StartResearchProject,
    run=_run,
)
