"""`set_marketing`: the daily advertising budget of one channel in one segment."""

from __future__ import annotations

from pydantic import Field

from orchestrator.session.draft import MarketingChange
from orchestrator.session.tools.arguments import one_of
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.schemas import Amount, Arguments, Name
from orchestrator.session.tools.staging import Effect, policy_terms, staged


class SetMarketing(Arguments):
    segment_id: Name = Field(description="Identifier of the consumer segment, from segments.")
    channel: Name = Field(description="Identifier of the advertising channel, from channels.")
    daily_budget_cents: Amount = Field(
        description="Spending in this segment and channel, in whole US cents per day, 0 or more. "
        "0 stops it."
    )


def _run(context: ToolContext, arguments: SetMarketing) -> ToolOutcome:
    segments, channels = context.scenario.segment_ids, context.scenario.channels
    segment, channel = arguments.segment_id, arguments.channel
    if segment not in segments:
        raise one_of("segment_id", segments, segment)
    if channel not in channels:
        raise one_of("channel", channels, channel)
    before = marketing_budgets(context)[segment][channel]
    return staged(
        context,
        MarketingChange(segment, channel, arguments.daily_budget_cents),
        [Effect(f"{segment}.{channel}.daily_budget_cents", before, arguments.daily_budget_cents)],
        details=policy_terms(context),
    )


def marketing_budgets(context: ToolContext) -> dict[str, dict[str, int]]:
    """All daily budgets, by segment and channel, as the draft would leave them."""
    scenario, staged_budgets = context.scenario, context.draft.marketing
    return {
        segment: {
            channel: staged_budgets.get(segment, {}).get(channel, standing)
            for channel, standing in zip(scenario.channels, line, strict=True)
        }
        for segment, line in zip(scenario.segment_ids, context.firm.marketing_cents, strict=True)
    }


SET_MARKETING = Tool(
    name="set_marketing",
    description=(
        "Stage the daily advertising budget of one channel in one consumer segment; there is one "
        "such standing budget for each pair. It is charged every day from the day after this "
        "boundary until you change it. Other budgets stay as they are. Staging only changes your "
        "private draft."
    ),
    arguments=SetMarketing,
    run=_run,
)
