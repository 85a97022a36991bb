"""Requests and routes for tests of the providers, and one way to ask."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import pytest

from providers.chat import ChatProvider
from providers.contract import (
    Fault,
    ProviderFault,
    Reply,
    Request,
    ToolDefinition,
    UserMessage,
)
from providers.messages import MessagesProvider
from providers.responses import ResponsesProvider
from providers.routes import Route, parse_route
from providers.transport import Deadlines
from tests.providers.chat_service import MODEL, Answer, ChatService

KEY_VARIABLE = "ANALYST_KEY"
KEY = "canary-key-0123456789"
ENVIRONMENT: Mapping[str, str] = {KEY_VARIABLE: KEY}

AnyProvider: TypeAlias = ChatProvider | ResponsesProvider | MessagesProvider
PROVIDERS: Mapping[str, type[AnyProvider]] = {
    "chat": ChatProvider,
    "responses": ResponsesProvider,
    "messages": MessagesProvider,
}

TOOLS = (
    ToolDefinition("look", "Look at a table.", {"type": "object", "properties": {}}),
    ToolDefinition("seal", "Seal.", {"type": "object", "properties": {}}),
)
HELLO = Request("You are the CEO.", (UserMessage("Day 7."),), TOOLS, 2_048)


def route(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> Route:
    """A route to a service on loopback, for Chat unless `protocol` says otherwise."""
    data = {
        "protocol": "chat",
        "model": MODEL,
        "native_ceiling": 65_536,
        "endpoint": base_url,
        "credentials": [KEY_VARIABLE],
    }
    return parse_route({**data, **changes}, "route")


def provider_of(
    route: Route,
    *,
    environment: Mapping[str, str] = ENVIRONMENT,
    deadlines: Deadlines | None = None,
) -> AnyProvider:
    """The provider of the route's protocol, in an environment of the test's own."""
    return PROVIDERS[route.protocol](route, deadlines=deadlines, environment=environment)


async def ask_at(
    base_url: str,
    request: Request = HELLO,
    *,
    environment: Mapping[str, str] = ENVIRONMENT,
    deadlines: Deadlines | None = None,
    within_seconds: float | None = None,
    **changes: Any,
) -> Reply:
    """Ask once over a provider of its own."""
    provider = provider_of(route(base_url, **changes), environment=environment, deadlines=deadlines)
    try:
        return await provider.ask(request, within_seconds=within_seconds)
    finally:
        await provider.close()


def replied(*answers: Answer, request: Request = HELLO, **changes: Any) -> Reply:
    """The reply to one request that a service with these answers gets."""

    async def run() -> Reply:
        async with ChatService(answers) as service:
            return await ask_at(service.base_url, request, **changes)

    return asyncio.run(run())


def faulted(*answers: Answer, request: Request = HELLO, **changes: Any) -> Fault:
    """The fault that one request to a service with these answers ends in."""
    with pytest.raises(ProviderFault) as caught:
        replied(*answers, request=request, **changes)
    return caught.value.fault


def sent(request: Request, **changes: Any) -> Any:
    """The body that a provider of such a route would send."""
    return json.loads(provider_of(route(**changes)).wire(request))
