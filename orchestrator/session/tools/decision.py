"""`preview_decision`, `reset_decision` and `seal_decision`: the draft as a whole."""

from __future__ import annotations

from typing import Any

from engine.decision import CompanyDecision, decision_problems
from orchestrator.session.draft import EMPTY, DraftReset
from orchestrator.session.tools.context import (
    Tool,
    ToolContext,
    ToolOutcome,
    answer,
    encoded,
)
from orchestrator.session.tools.marketing import marketing_budgets
from orchestrator.session.tools.operations import operations_budgets
from orchestrator.session.tools.products import product_settings
from orchestrator.session.tools.quoting import outdated_quotes
from orchestrator.session.tools.schemas import Arguments
from orchestrator.session.tools.staging import OneTime, described_quote


class PreviewDecision(Arguments):
    pass


class ResetDecision(Arguments):
    pass


class SealDecision(Arguments):
    pass


def _preview(context: ToolContext, arguments: PreviewDecision) -> ToolOutcome:
    del arguments
    decision = _decision(context)
    problems = _problems(context, decision)
    now = _recurring(context._replace(draft=EMPTY))
    after = _recurring(context)
    return answer(
        context,
        {
            "status": "preview",
            "hold": context.draft.is_hold,
            "staged": _changes(decision),
            "one_time": {
                "commitments": [
                    {"item": commitment.item, **described_quote(commitment.quote)}
                    for commitment in context.draft.commitments()
                ],
                **OneTime.of(context.draft, context.firm.cash_cents).described(),
            },
            "recurring_per_day": {
                "now": now,
                "after": after,
                "change_cents": after["total_cents"] - now["total_cents"],
            },
            "can_be_sealed": not problems,
            "problems": problems,
            "note": (
                "Not a forecast: revenue, procurement, holding costs, failures and penalties are "
                "not in it. Overhead is that of the installed tier; a staged capacity change "
                "alters it from its effective day."
            ),
        },
    )


def _reset(context: ToolContext, arguments: ResetDecision) -> ToolOutcome:
    del arguments
    payload = {
        "status": "reset",
        "dropped": _changes(_decision(context)),
        "note": "The draft is empty. Standing policies, files and used allowance are as before.",
    }
    return answer(context, payload, draft_change=DraftReset())


def _seal(context: ToolContext, arguments: SealDecision) -> ToolOutcome:
    del arguments
    decision = _decision(context)
    problems = _problems(context, decision)
    one_time = OneTime.of(context.draft, context.firm.cash_cents).described()
    if problems:
        refused = {
            "status": "refused",
            "problems": problems,
            "one_time": one_time,
            "note": (
                "Nothing was sealed. The draft is as it was and can still be changed. To take back "
                "a staged project, capacity action, bid or report, call reset_decision and stage "
                "again what you keep."
            ),
        }
        return ToolOutcome(encoded(refused), False, context.draft, context.files)
    sealed = {
        "status": "sealed",
        "hold": context.draft.is_hold,
        "world_version": decision.world_version,
        "decision": _changes(decision),
        "one_time": one_time,
        "note": "The decision is carried out when all companies have closed this window.",
    }
    return answer(context, sealed)._replace(decision=decision)


def _decision(context: ToolContext) -> CompanyDecision:
    return context.draft.to_decision(context.company_id, context.state.version)


def _problems(context: ToolContext, decision: CompanyDecision) -> list[str]:
    return [
        *decision_problems(context.scenario, context.state, context.seat, decision),
        *outdated_quotes(context, context.draft),
    ]


def _changes(decision: CompanyDecision) -> dict[str, Any]:
    """What a decision changes; nothing for a hold."""
    changes: dict[str, Any] = decision.model_dump(
        mode="json", exclude={"company_id", "world_version"}, exclude_none=True
    )
    return {field: value for field, value in changes.items() if value not in ({}, [])}


def _recurring(context: ToolContext) -> dict[str, int]:
    """Budgets and overhead charged every day, in cents, as the context's draft would leave them."""
    scenario, operations = context.scenario, operations_budgets(context)
    development = marketing = 0
    for product_id in scenario.product_ids:
        development += product_settings(context, product_id)["daily_development_budget_cents"]
    for budgets in marketing_budgets(context).values():
        for budget in budgets.values():
            marketing += budget
    costs = {
        "development_cents": development,
        "marketing_cents": marketing,
        "reliability_cents": operations["reliability_budget_cents"],
        "support_cents": operations["support_budget_cents"],
        "overhead_cents": scenario.capacity.tiers[context.firm.tier].overhead_cents,
    }
    total = 0
    for cost in costs.values():
        total += cost
    return {**costs, "total_cents": total}


PREVIEW_DECISION = Tool(
    name="preview_decision",
    description=(
        "Show what the draft comes to: all one-time charges and refunds together against "
        "available cash, the recurring cost per day now and with the draft, in US cents, and "
        "whether it could be sealed as it is. It changes nothing and is not a forecast."
    ),
    arguments=PreviewDecision,
    run=_preview,
)

RESET_DECISION = Tool(
    name="reset_decision",
    description=(
        "Drop everything staged in this window. Standing policies, files and used allowance stay "
        "as they are."
    ),
    arguments=ResetDecision,
    run=_reset,
)

SEAL_DECISION = Tool(
    name="seal_decision",
    description=(
        "Check the whole draft and commit it as your decision for this window. It must be the "
        "only tool call of its reply. If something is wrong, for example when all one-time "
        "charges exceed cash plus the quoted refund, nothing is sealed, the reasons and the "
        "shortfall are returned, and the draft stays editable. An empty draft is a valid decision "
        "to hold everything. After a seal the window is closed for you."
    ),
    arguments=SealDecision,
    run=_seal,
)
