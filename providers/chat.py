"""Chat Completions: one route's provider on the official `openai` client.

What differs between vendors is data on the route, its `ChatDialect`.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

import httpx2
import msgspec

from providers.access import Access
from providers.chat_message import returned
from providers.chat_stream import ChatStream
from providers.contract import AssistantMessage, Message, Request, ToolDefinition, ToolResult
from providers.faults import Scrub
from providers.openai_sdk import OPENAI_URL, RouteClient, post_stream
from providers.provider import RouteProvider, Written
from providers.routes import ChatDialect, Route
from providers.transport import Deadlines

_FILLED: Final = frozenset({"messages", "model", "n", "stream", "stream_options", "tools"})
_BREAKPOINT: Final = {"cache_control": {"type": "ephemeral"}}


class ChatProvider(RouteProvider[RouteClient]):
    """A `Provider` for a route of protocol "chat"; see `RouteProvider`."""

    VENDOR_URL = OPENAI_URL

    def __init__(
        self,
        route: Route,
        *,
        deadlines: Deadlines | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._dialect = route.chat or ChatDialect()
        filled = _FILLED | {self._dialect.output_limit_field}
        super().__init__(route, filled, deadlines=deadlines, environment=environment)

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

    def _connect(self, http: httpx2.AsyncClient) -> RouteClient:
        return RouteClient(http)

    async def _post(
        self, client: RouteClient, access: Access, body: bytes, name: str
    ) -> httpx2.Response:
        return await post_stream(client, access, "/chat/completions", body, name, self._deadlines)

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
