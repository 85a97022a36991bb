"""The capacity actions; a draft holds at most one of them, and each replaces the one before."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from engine.quotes import CapacityUnavailable
from orchestrator.session.draft import CapacityMove
from orchestrator.session.tools.arguments import Rejected, out_of_range
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.quoting import cancellation_quote, tier_quote
from orchestrator.session.tools.schemas import Amount, Arguments, Name
from orchestrator.session.tools.staging import Effect, staged


class ExpandCapacity(Arguments):
    target_tier: Amount = Field(
        description="Capacity tier to build, above the installed one; capacity_catalog lists the "
        "tiers, 0 to 3 in the standard market."
    )


class DownsizeCapacity(Arguments):
    target_tier: Amount = Field(
        description="Capacity tier to go down to, from 0 to one below the installed tier; "
        "capacity_catalog lists the tiers."
    )


class CancelCapacityProject(Arguments):
    project_id: Name = Field(
        description="Identifier of your unfinished expansion, from capacity_action_quotes."
    )


def _expand(context: ToolContext, arguments: ExpandCapacity) -> ToolOutcome:
    tier, highest = context.firm.tier, len(context.scenario.capacity.tiers) - 1
    if tier == highest:
        raise Rejected(f"target_tier: tier {tier} is installed and is the highest there is")
    if not tier < arguments.target_tier <= highest:
        raise out_of_range("target_tier", tier + 1, highest, arguments.target_tier)
    return _to_tier(context, "expand", arguments.target_tier)


def _downsize(context: ToolContext, arguments: DownsizeCapacity) -> ToolOutcome:
    tier = context.firm.tier
    if tier == 0:
        raise Rejected("target_tier: tier 0 is installed and is the lowest there is")
    if arguments.target_tier >= tier:
        raise out_of_range("target_tier", 0, tier - 1, arguments.target_tier)
    return _to_tier(context, "downsize", arguments.target_tier)


def _to_tier(
    context: ToolContext, action: Literal["expand", "downsize"], target_tier: int
) -> ToolOutcome:
    try:
        quote = tier_quote(context.scenario, context.firm, context.day, target_tier)
    except CapacityUnavailable as reason:
        raise Rejected(
            f"target_tier: {reason}; only one capacity change may be pending. Wait until it is "
            "due; an unfinished expansion can also be canceled, by cancel_capacity_project"
        ) from reason
    return _staged(context, CapacityMove(action, target_tier, None, quote))


def _cancel(context: ToolContext, arguments: CancelCapacityProject) -> ToolOutcome:
    project_id = arguments.project_id
    try:
        quote = cancellation_quote(context.scenario, context.firm, context.day, project_id)
    except CapacityUnavailable as reason:
        raise Rejected(f"project_id: {reason}") from reason
    return _staged(context, CapacityMove("cancel", None, project_id, quote))


def _staged(context: ToolContext, move: CapacityMove) -> ToolOutcome:
    earlier = context.draft.capacity
    effect = Effect("capacity_action", None if earlier is None else str(earlier), str(move))
    return staged(context, move, [effect], quote=move.quote)


_ONE_ACTION: Final = (
    "A draft holds at most one capacity action: another one replaces it. Staging only changes your "
    "private draft."
)

EXPAND_CAPACITY = Tool(
    name="expand_capacity",
    description=(
        "Stage an expansion to a higher capacity tier. The difference of cumulative capital is "
        "charged at once when the sealed draft is carried out; the tier is installed after its "
        "construction delay, and its overhead is charged from then on. Only one capacity change "
        f"may be pending in your company. {_ONE_ACTION}"
    ),
    arguments=ExpandCapacity,
    run=_expand,
)

DOWNSIZE_CAPACITY = Tool(
    name="downsize_capacity",
    description=(
        "Stage a move to a lower capacity tier, with its lower overhead. An adjustment fee for "
        "each tier is charged at once, the change acts after the adjustment delay (7 days in the "
        "standard market), and nothing is refunded. Only one capacity change may be pending in "
        f"your company. {_ONE_ACTION}"
    ),
    arguments=DownsizeCapacity,
    run=_downsize,
)

CANCEL_CAPACITY_PROJECT = Tool(
    name="cancel_capacity_project",
    description=(
        "Stage the cancellation of your unfinished expansion for a partial refund of what was "
        "prepaid; the receipt quotes the refund, and the draft may spend it. Finished projects "
        f"and downsizings cannot be canceled. {_ONE_ACTION}"
    ),
    arguments=CancelCapacityProject,
    run=_cancel,
)
