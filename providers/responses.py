"""Responses: one route's provider on the official `openai` client.

The service stores nothing: every request carries the whole conversation, and the items of earlier
replies, encrypted reasoning among them, go back as they came, in their places.
"""

from functools import cached_property
from typing import Any, Final

import msgspec

from providers.contract import (
    AssistantMessage,
    Message,
    Request,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from providers.faults import Scrub
from providers.openai_sdk import OPENAI
from providers.provider import RouteProvider, Written
from providers.rawjson import elements
from providers.responses_stream import ResponsesStream
from providers.routes import ResponsesDialect

_FILLED: Final = frozenset(
    {
        "background",
        "conversation",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "model",
        "previous_response_id",
        "prompt",
        "store",
        "stream",
        "tools",
    }
)


class ResponsesProvider(RouteProvider):
    """A `Provider` for a route of protocol "responses"; see `RouteProvider`."""

    VENDOR = OPENAI
    PATH = "/responses"

    @cached_property
    def _dialect(self) -> ResponsesDialect:
        return self._route.responses or ResponsesDialect()

    def _filled(self) -> frozenset[str]:
        return _FILLED

    def _body(self, request: Request, written: Written) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._route.model}
        if request.system:
            body["instructions"] = written(request.system)
        body["input"] = [item for one in request.messages for item in _items(one, written)]
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        body.update(self._route.options)
        body["max_output_tokens"] = request.max_output_tokens
        body["store"] = False
        if self._dialect.encrypted_reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        body["stream"] = True
        return body

    def _stream(self, scrub: Scrub) -> ResponsesStream:
        return ResponsesStream(self._route, scrub)


def _items(message: Message, written: Written) -> list[Any]:
    match message:
        case AssistantMessage(native=native):
            return [msgspec.Raw(item) for item in elements(native.encode())]
        case ToolResult(call_id=call_id, text=text):
            answered, output = written(call_id), written(text)
            return [{"type": "function_call_output", "call_id": answered, "output": output}]
        case UserMessage(text=text):
            return [{"type": "message", "role": "user", "content": written(text)}]


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        # The service's own default is a stricter kind of schema, without optional fields.
        "strict": False,
    }
