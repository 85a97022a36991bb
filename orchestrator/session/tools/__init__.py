"""The 18 tools of a CEO: typed arguments, JSON schemas made from them, and what they do to a draft
and to private files (interface.md section 2).
"""

from orchestrator.session.tools.context import Query, ToolContext, ToolOutcome
from orchestrator.session.tools.registry import run_tool, tool_definitions, tool_hashes, tools_hash

__all__ = [
    "Query",
    "ToolContext",
    "ToolOutcome",
    "run_tool",
    "tool_definitions",
    "tool_hashes",
    "tools_hash",
]
