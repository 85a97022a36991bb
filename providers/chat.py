"""Chat Completions: one route's provider on the official `openai` client.

What differs between vendors is data on the route, its `ChatDialect`.
"""

from functools import cached_property
from typing import Any, Final

import msgspec

from providers.chat_message import returned
from providers.chat_stream import ChatStream
from providers.contract import AssistantMessage, Message, Request, ToolDefinition, ToolResult
from providers.faults import Scrub
from providers.openai_sdk import OPENAI
from providers.provider import RouteProvider, Written
from providers.routes import ChatDialect

_FILLED: Final = frozenset({"messages", "model", "n", "stream", "stream_options", "tools"})
_BREAKPOINT: Final = {"cache_control": {"type": "ephemeral"}}


class ChatProvider(RouteProvider):
    """A `Provider` for a route of protocol "chat"; see `RouteProvider`."""

    VENDOR = OPENAI
    PATH = "/chat/completions"

    @cached_property
    def _dialect(self) -> ChatDialect:
        return self._route.chat or ChatDialect()

    def _filled(self) -> frozenset[str]:
        return _FILLED | {self._dialect.output_limit_field}

    def _body(self, request: Request, written: Written) -> dict[str, Any]:
        system = {"role": "system", "content": written(request.system)}
        messages = [system, *(self._message(item, written) for item in request.messages)]
        if self._dialect.cache_breakpoints:
            _mark(messages)
        body: dict[str, Any] = {"model": self._route.model, "messages": messages}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        body.update(self._route.options)
        body[self._dialect.output_limit_field] = request.max_output_tokens
        body["stream"] = True
        if self._dialect.ask_usage:
            body["stream_options"] = {"include_usage": True}
        return body

    def _stream(self, scrub: Scrub) -> ChatStream:
        return ChatStream(self._route, scrub)

    def _message(self, message: Message, written: Written) -> Any:
        match message:
            case AssistantMessage(native=native):
                return msgspec.Raw(returned(native, self._dialect))
            case ToolResult(call_id=call_id, text=text):
                content = written(text)
                return {"role": "tool", "tool_call_id": written(call_id), "content": content}
            case _:
                return {"role": "user", "content": written(message.text)}


def _mark(messages: list[Any]) -> None:
    """Mark the ends of what the next requests repeat: the system prompt, and the newest message."""
    for message in (messages[0], messages[-1]):
        if isinstance(message, dict) and message["content"]:
            part = {"type": "text", "text": message["content"], **_BREAKPOINT}
            message["content"] = [part]


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
