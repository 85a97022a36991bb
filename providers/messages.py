"""Messages: one route's provider on the official `anthropic` client.

The content blocks of earlier replies, signed thinking among them, go back as they came, in their
places; the results of a reply's calls stand directly after it, at the head of one user message.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

import httpx2
import msgspec

from providers.access import Access
from providers.anthropic_sdk import ANTHROPIC_URL, MessagesClient, post_stream
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
from providers.routes import MessagesDialect, Route
from providers.transport import Deadlines

_FILLED: Final = frozenset({"max_tokens", "messages", "model", "stream", "system", "tools"})
# The end of this request, and that of the one before it: a cache looks back a few blocks only.
_MARKED_TURNS: Final = 2


class MessagesProvider(RouteProvider[MessagesClient]):
    """A `Provider` for a route of protocol "messages"; see `RouteProvider`."""

    VENDOR_URL = ANTHROPIC_URL

    def __init__(
        self,
        route: Route,
        *,
        deadlines: Deadlines | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._dialect = route.messages or MessagesDialect()
        super().__init__(route, _FILLED, deadlines=deadlines, environment=environment)

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

    def _connect(self, http: httpx2.AsyncClient) -> MessagesClient:
        return MessagesClient(http)

    async def _post(
        self, client: MessagesClient, access: Access, body: bytes, name: str
    ) -> httpx2.Response:
        # This vendor's base URLs are written without the version, others' with it.
        path = "/messages" if access.base_url.endswith("/v1") else "/v1/messages"
        return await post_stream(client, access, path, body, name, self._deadlines)


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
