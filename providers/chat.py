"""Chat Completions: one route's provider on the official `openai` client.

The body of a request is written once, here, and sent as it is; the reply's event stream is read
once, by `ChatStream`. What differs between vendors is data on the route, its `ChatDialect`.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from manifests.errors import InputError
from providers.access import read_access
from providers.chat_message import returned
from providers.chat_stream import ChatStream
from providers.contract import (
    AssistantMessage,
    Message,
    ProviderFault,
    Reply,
    Request,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from providers.openai_sdk import OPENAI_URL, RouteClient, post_stream
from providers.rawjson import whole_characters
from providers.routes import ChatDialect, Route
from providers.transport import Deadlines, SharedClient, exchange

_PATH: Final = "/chat/completions"
_OWN_FIELDS: Final = frozenset({"messages", "model", "n", "stream", "stream_options", "tools"})
_encoder: Final = msgspec.json.Encoder()


class ChatProvider:
    """A `Provider` for a route of protocol "chat".

    `environment` is where the route's variables are looked up, with every request anew.

    Raises:
        InputError: an option of the route names a field that the protocol itself fills.
    """

    def __init__(
        self,
        route: Route,
        *,
        deadlines: Deadlines | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._route = route
        self._dialect = route.chat or ChatDialect()
        self._deadlines = deadlines or Deadlines()
        self._environment = environment
        self._shared: SharedClient | None = None
        self._client: RouteClient | None = None
        taken = sorted({*_OWN_FIELDS, self._dialect.output_limit_field} & route.options.keys())
        if taken:
            raise InputError(
                f"The route to {route.model}: the option {taken[0]} is filled by the protocol.",
                "Remove it from the route's options.",
            )

    def wire(self, request: Request) -> bytes:
        """The exact body that `ask` sends; a pure function of route and request."""
        try:
            return _encoder.encode(self._body(request, str))
        except UnicodeEncodeError:
            # Half a character in some text: it must not spoil the rest of the conversation.
            return _encoder.encode(self._body(request, whole_characters))

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        """Send one request, once, and read the whole reply; see `Provider.ask`."""
        sent = self.wire(request) if body is None else body
        access = read_access(self._route, self._environment, OPENAI_URL)
        client = self._connected()
        scrub = access.scrub()
        stream = ChatStream(self._route, scrub)
        try:
            exchanged = await exchange(
                lambda: post_stream(client, access, _PATH, sent, request.name, self._deadlines),
                stream,
                self._deadlines,
                within_seconds,
                scrub,
            )
            return stream.reply(exchanged)
        except ProviderFault as refusal:
            fault = refusal.fault
        if fault.kind == "too_long":
            sizes = (
                f" (the request: {len(sent):,} bytes, {len(request.messages)} messages and"
                f" {len(request.tools)} tools; up to {request.max_output_tokens:,} output tokens)"
            )
            fault = msgspec.structs.replace(fault, message=fault.message + sizes)
        raise ProviderFault(fault)

    async def close(self) -> None:
        """Give back the connections; the provider is not used again."""
        shared, self._shared, self._client = self._shared, None, None
        if shared is not None:
            await shared.release()

    def _connected(self) -> RouteClient:
        if self._shared is None or self._client is None:
            self._shared = SharedClient.hold()
            self._client = RouteClient(self._shared.http)
        return self._client

    def _body(self, request: Request, written: Callable[[str], str]) -> dict[str, Any]:
        system = {"role": "system", "content": written(request.system)}
        body: dict[str, Any] = {
            "model": self._route.model,
            "messages": [system, *(self._message(item, written) for item in request.messages)],
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        body.update(self._route.options)
        body[self._dialect.output_limit_field] = request.max_output_tokens
        body["stream"] = True
        if self._dialect.ask_usage:
            body["stream_options"] = {"include_usage": True}
        return body

    def _message(self, message: Message, written: Callable[[str], str]) -> Any:
        match message:
            case UserMessage(text=text):
                return {"role": "user", "content": written(text)}
            case ToolResult(call_id=call_id, text=text):
                content = written(text)
                return {"role": "tool", "tool_call_id": written(call_id), "content": content}
            case AssistantMessage(native=native):
                return msgspec.Raw(returned(native, self._dialect))


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
