"""All tools, in the order of interface.md section 2, and the one way to call them."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from manifests.canonical import digest
from orchestrator.session.tools.arguments import Rejected, shown
from orchestrator.session.tools.capacity import (
    CANCEL_CAPACITY_PROJECT,
    DOWNSIZE_CAPACITY,
    EXPAND_CAPACITY,
)
from orchestrator.session.tools.context import Tool, ToolContext, ToolOutcome, rejection
from orchestrator.session.tools.decision import (
    PREVIEW_DECISION,
    RESET_DECISION,
    SEAL_DECISION,
)
from orchestrator.session.tools.files import (
    EDIT_FILE,
    GLOB_FILES,
    READ_FILE,
    SEARCH_FILES,
    WRITE_FILE,
)
from orchestrator.session.tools.innovation import START_RESEARCH_PROJECT
from orchestrator.session.tools.marketing import SET_MARKETING
from orchestrator.session.tools.operations import SET_OPERATIONS
from orchestrator.session.tools.products import SET_PRODUCT
from orchestrator.session.tools.research import REQUEST_MARKET_RESEARCH
from orchestrator.session.tools.sql import QUERY_COMPANY
from orchestrator.session.tools.tenders import SUBMIT_ENTERPRISE_BID
from providers.contract import ToolDefinition

TOOLS: Final[tuple[Tool[Any], ...]] = (
    QUERY_COMPANY,
    SET_PRODUCT,
    SET_MARKETING,
    SET_OPERATIONS,
    START_RESEARCH_PROJECT,
    EXPAND_CAPACITY,
    DOWNSIZE_CAPACITY,
    CANCEL_CAPACITY_PROJECT,
    SUBMIT_ENTERPRISE_BID,
    REQUEST_MARKET_RESEARCH,
    READ_FILE,
    WRITE_FILE,
    EDIT_FILE,
    SEARCH_FILES,
    GLOB_FILES,
    PREVIEW_DECISION,
    RESET_DECISION,
    SEAL_DECISION,
)

_BY_NAME: Final = {tool.name: tool for tool in TOOLS}


def run_tool(context: ToolContext, name: str, arguments_text: str) -> ToolOutcome:
    """Carry out one call of a model: a pure function, but for the query that the context brings.

    Nothing that a model writes raises; an unknown tool or bad arguments give an outcome that is
    not ok and says what to do. Errors of the query function pass through.
    """
    tool = _BY_NAME.get(name)
    if tool is None:
        known = ", ".join(_BY_NAME)
        return rejection(context, Rejected(f"tool: must be one of {known}; received {shown(name)}"))
    return tool.call(context, arguments_text)


@cache
def tool_definitions() -> tuple[ToolDefinition, ...]:
    """What every model is told of the tools, the same on every route and in every phase. All
    callers share these values and leave them as they are.
    """
    return tuple(tool.definition for tool in TOOLS)


@cache
def tool_hashes() -> dict[str, str]:
    """``sha256:<hex>`` over the canonical JSON of each definition, by the tool's name."""
    return {
        definition.name: digest(msgspec.to_builtins(definition))
        for definition in tool_definitions()
    }


@cache
def tools_hash() -> str:
    """``sha256:<hex>`` over the canonical JSON of all definitions."""
    return digest([msgspec.to_builtins(definition) for definition in tool_definitions()])
