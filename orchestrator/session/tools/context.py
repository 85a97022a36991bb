"""What a tool is given, and what a call comes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from engine.decision import CompanyDecision, company_name
from engine.scenario import Scenario
from engine.state import FirmState, Tender, WorldState
from orchestrator.session import draft as drafts
from orchestrator.session import files as private_files
from orchestrator.session.draft import Draft, DraftChange
from orchestrator.session.files import FileChange, PrivateFiles
from orchestrator.session.sql import Parameters, QueryRefused, QueryResult
from orchestrator.session.tools.arguments import Rejected, parsed
from orchestrator.session.tools.schemas import Arguments, schema_of
from providers.contract import ToolDefinition

Query: TypeAlias = Callable[[str, Parameters | None, int | None], QueryResult | QueryRefused]
"""Runs one statement over the company's books: (sql, parameters, row limit)."""


class ToolContext(NamedTuple):
    """One company at one boundary, as its tools find it.

    Of ``state`` a tool reads the company in ``seat`` and what is public, nothing else; of its own
    company not what is hidden (interface.md section 1). ``finalizing`` is set near the end of the
    allowance, when no more queries are run.
    """

    scenario: Scenario
    state: WorldState
    seat: int
    draft: Draft
    files: PrivateFiles
    query: Query
    finalizing: bool = False

    @property
    def firm(self) -> FirmState:
        return self.state.firms[self.seat - 1]

    @property
    def company_id(self) -> str:
        return company_name(self.seat)

    @property
    def day(self) -> int:
        """The boundary day."""
        return self.state.day

    def tender(self, tender_id: str) -> Tender | None:
        """The open tender of that id."""
        return next((open_ for open_ in self.state.tenders if open_.tender_id == tender_id), None)


class ToolOutcome(NamedTuple):
    """What a call came to. ``text`` is the JSON that the model is shown.

    ``draft`` and ``files`` are those after the call; ``draft_change`` and ``file_change`` are what
    the call changed, to be journaled: folding them gives the same draft and files. A call that is
    not ``ok`` changed nothing. ``decision`` is there when the draft was sealed. ``interrupted``
    names the limit that ended a query.
    """

    text: str
    ok: bool
    draft: Draft
    files: PrivateFiles
    draft_change: DraftChange | None = None
    file_change: FileChange | None = None
    decision: CompanyDecision | None = None
    interrupted: str = ""


_Arguments = TypeVar("_Arguments", bound=Arguments)


@dataclass(frozen=True)
class Tool(Generic[_Arguments]):
    """One tool: what a model is told of it, its typed arguments, and what it does.

    ``run`` raises Rejected when the call cannot be carried out.
    """

    name: str
    description: str
    arguments: type[_Arguments]
    run: Callable[[ToolContext, _Arguments], ToolOutcome]

    @property
    def definition(self) -> ToolDefinition:
        """The tool as every model is offered it."""
        return ToolDefinition(self.name, self.description, schema_of(self.arguments))

    def call(self, context: ToolContext, arguments_text: str) -> ToolOutcome:
        """Carry out a call, or say what is wrong with it."""
        try:
            return self.run(context, parsed(self.arguments, arguments_text))
        except Rejected as rejected:
            return rejection(context, rejected)


def encoded(payload: Mapping[str, Any]) -> str:
    """A result as the model is shown it."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def answer(
    context: ToolContext,
    payload: Mapping[str, Any],
    *,
    draft_change: DraftChange | None = None,
    file_change: FileChange | None = None,
) -> ToolOutcome:
    """The outcome of a call that was carried out."""
    draft, files = context.draft, context.files
    return ToolOutcome(
        text=encoded(payload),
        ok=True,
        draft=draft if draft_change is None else drafts.apply(draft, draft_change),
        files=files if file_change is None else private_files.apply(files, file_change),
        draft_change=draft_change,
        file_change=file_change,
    )


def rejection(context: ToolContext, rejected: Rejected, *, interrupted: str = "") -> ToolOutcome:
    """The outcome of a call that changed nothing."""
    payload = {
        "status": "rejected",
        "problems": list(rejected.problems),
        "note": "This call changed nothing; what was staged before it stays.",
    }
    return ToolOutcome(
        encoded(payload), False, context.draft, context.files, interrupted=interrupted
    )
