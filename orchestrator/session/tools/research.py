"""`request_market_research`: a paid, noisy report on one segment."""

from __future__ import annotations

from pydantic import Field

from orchestrator.session.draft import ResearchOrder
from orchestrator.session.tools.arguments import one_of, out_of_range
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.quoting import research_quote
from orchestrator.session.tools.schemas import Arguments, Name, Ordinal
from orchestrator.session.tools.staging import Effect, staged


class RequestMarketResearch(Arguments):
    segment_id: Name = Field(description="Identifier of the consumer segment, from segments.")
    level: Ordinal = Field(
        description="Accuracy of the report, 1 (cheap, quick, noisy) to 5 (dear, slow, accurate) "
        "in the standard market; research_catalog lists cost, delay and error.",
    )


def _run(context: ToolContext, arguments: RequestMarketResearch) -> ToolOutcome:
    segments, levels = context.scenario.segment_ids, context.scenario.information.research_levels
    segment, level = arguments.segment_id, arguments.level
    if segment not in segments:
        raise one_of("segment_id", segments, segment)
    if level > len(levels):
        raise out_of_range("level", 1, len(levels), level)
    quote = research_quote(context.scenario, context.day, level)
    before = len(context.draft.research)
    return staged(
        context,
        ResearchOrder(segment, level, quote),
        [Effect("reports_requested", before, before + 1)],
        quote=quote,
        details={
            "sample_day": context.day,
            "delivery_day": quote.effective_day,
            "log_sd": levels[level - 1].log_sd,
        },
    )


REQUEST_MARKET_RESEARCH = Tool(
    name="request_market_research",
    description=(
        "Stage the order of one market research report on a consumer segment, paid once. It "
        "describes the segment's demand, price weight and expected quality on its sampling day, "
        "which is this boundary, with random error, and arrives after the delay of its level. "
        "Each call adds one report to the draft, also when it repeats a staged one: repeated "
        "reports have independent errors and are charged each. Staging only changes your private "
        "draft."
    ),
    arguments=RequestMarketResearch,
    run=_run,
)
