"""`set_operations`: the daily budgets for reliability and support."""

from __future__ import annotations

from pydantic import Field

from orchestrator.session.draft import OperationsChange
from orchestrator.session.tools.arguments import Rejected
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome
from orchestrator.session.tools.schemas import Amount, Arguments, Omitted
from orchestrator.session.tools.staging import Effect, policy_terms, staged


class SetOperations(Arguments):
    reliability_budget_cents: Amount | Omitted = Field(
        default=None,
        description="Spending on reliability, which lowers the failure rate, in whole US cents "
        "per day, 0 or more. 0 stops it.",
    )
    support_budget_cents: Amount | Omitted = Field(
        default=None,
        description="Spending on customer support, which works off the support queue, in whole US "
        "cents per day, 0 or more. 0 stops it.",
    )


def _run(context: ToolContext, arguments: SetOperations) -> ToolOutcome:
    given = {
        "reliability_budget_cents": arguments.reliability_budget_cents,
        "support_budget_cents": arguments.support_budget_cents,
    }
    if all(value is None for value in given.values()):
        raise Rejected(f"arguments: must hold at least one of {', '.join(given)}")
    before = operations_budgets(context)
    return staged(
        context,
        OperationsChange(**given),
        [Effect(name, before[name], value) for name, value in given.items() if value is not None],
        details=policy_terms(context),
    )


def operations_budgets(context: ToolContext) -> dict[str, int]:
    """Both daily budgets as the draft would leave them."""
    firm, change = context.firm, context.draft.operations
    reliability, support = change.reliability_budget_cents, change.support_budget_cents
    return {
        "reliability_budget_cents": firm.reliability_cents if reliability is None else reliability,
        "support_budget_cents": firm.support_cents if support is None else support,
    }


SET_OPERATIONS = Tool(
    name="set_operations",
    description=(
        "Stage the daily budgets of the whole company for reliability, support, or both. An "
        "argument that you leave out keeps its present value. The budgets are charged every day "
        "from the day after this boundary until you change them. Staging only changes your "
        "private draft."
    ),
    arguments=SetOperations,
    run=_run,
)
