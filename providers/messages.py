"""Messages: one route's provider on the official `anthropic` client.

The content blocks of earlier replies, signed thinking among them, go back as they came, in their
places; the results of a reply's calls stand directly after it, at the head of one user message.
"""

from functools import cached_property
from typing import Any, Final

import msgspec

from providers.anthropic_sdk import ANTHROPIC
from providers.contract import (
    AssistantMessage,
    Message,
    Request,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from providers.faults import Scrub
from providers.messages_stream import MessagesStream, returned
from providers.provider import RouteProvider, Written
from providers.routes import MessagesDialect

_FILLED: Final = frozenset({"max_tokens", "messages", "model", "stream", "system", "tools"})
# The end of this request, and that of the one before it: a cache looks back a few blocks only.
_MARKED_TURNS: Final = 2


class MessagesProvider(RouteProvider):
    """A `Provider` for a route of protocol "messages"; see `RouteProvider`."""

    VENDOR = ANTHROPIC
    PATH = "/v1/messages"

    @cached_property
    def _dialect(self) -> MessagesDialect:
        return self._route.messages or MessagesDialect()

    def _filled(self) -> frozenset[str]:
        return _FILLED

    def _body(self, request: Request, written: Written) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._route.model,
            "max_tokens": request.max_output_tokens,
        }
        # Tools stand before the system prompt in what is cached: one mark is for both.
        marked: list[dict[str, Any]] = []
        if request.system:
            marked.append({"type": "text", "text": written(request.system)})
            body["system"] = marked[:1]
        turns = _turns(request.messages, written)
        spoken = [turn["content"] for turn in turns if turn["role"] == "user"]
        marked += [blocks[-1] for blocks in spoken[-_MARKED_TURNS:]]
        if self._dialect.cache_breakpoints != "none":
            for block in marked:
                ttl = self._dialect.cache_breakpoints
                block["cache_control"] = {"type": "ephemeral", "ttl": ttl}
        body["messages"] = turns
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        body.update(self._route.options)
        body["stream"] = True
        return body

    def _stream(self, scrub: Scrub) -> MessagesStream:
        return MessagesStream(self._route, scrub)


def _turns(messages: tuple[Message, ...], written: Written) -> list[dict[str, Any]]:
    """The messages of the request: those of the user between two replies are one."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            content = returned(message.native)
            if content is not None:
                turns.append({"role": "assistant", "content": msgspec.Raw(content)})
            continue
        if not turns or turns[-1]["role"] != "user":
            turns.append({"role": "user", "content": []})
        turns[-1]["content"].append(_block(message, written))
    return turns


def _block(message: UserMessage | ToolResult, written: Written) -> dict[str, Any]:
    text = written(message.text)
    if isinstance(message, UserMessage):
        return {"type": "text", "text": text}
    return {"type": "tool_result", "tool_use_id": written(message.call_id), "content": text}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }
