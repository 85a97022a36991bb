"""Windows played over any protocol by our own providers, as the harness plays them."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from providers.contract import (
    AssistantMessage,
    Message,
    Reply,
    Request,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from tests.providers.asking import provider_of, route
from tests.providers.rehearsal.client import BRIEFING, MOST_REPLIES, SYSTEM
from tests.providers.rehearsal.company import Company, definitions

# By protocol, how its routes switch thinking on.
THINKING: Final[dict[str, dict[str, Any]]] = {
    "chat": {},
    "responses": {"reasoning": {"effort": "max"}},
    "messages": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
}
PROTOCOLS: Final = tuple(THINKING)
TOOLS: Final = tuple(
    ToolDefinition(one["function"]["name"], one["function"]["description"], parameters)
    for one in definitions()
    for parameters in [one["function"]["parameters"]]
)


@dataclass
class Played:
    """A window at its end: its replies, what was sent last, and the company."""

    company: Company
    replies: list[Reply] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    last_wire: bytes = b""

    @property
    def said(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """What was said and called, identifiers apart."""
        return [
            (reply.text, [(call.name, call.arguments) for call in reply.tool_calls])
            for reply in self.replies
        ]

    @property
    def heard(self) -> list[str]:
        """Everything that was told to the model."""
        return [
            message.text
            for message in self.messages
            if isinstance(message, UserMessage | ToolResult)
        ]


def played(
    base_url: str, protocol: str, model: str, *, ceiling: int = 32_768, **changes: Any
) -> Played:
    """A window of an agent over a protocol."""
    return asyncio.run(_play(base_url, protocol, model, ceiling, changes))


async def _play(
    base_url: str, protocol: str, model: str, ceiling: int, changes: dict[str, Any]
) -> Played:
    options = {"options": THINKING[protocol], **changes}
    provider = provider_of(route(base_url, protocol=protocol, model=model, **options))
    window = Played(Company())
    window.messages.append(UserMessage(BRIEFING))
    try:
        while window.company.sealed is None:
            assert len(window.replies) < MOST_REPLIES
            request = Request(SYSTEM, tuple(window.messages), TOOLS, ceiling)
            window.last_wire = provider.wire(request)
            reply = await provider.ask(request)
            window.replies.append(reply)
            _hear(window, reply)
    finally:
        await provider.close()
        window.company.close()
    return window


def _hear(window: Played, reply: Reply) -> None:
    """The rules of the harness for a reply (interface.md sections 2 and 7)."""
    is_cut = reply.stop == "length"
    if not (is_cut and reply.is_only_reasoning):
        window.messages.append(AssistantMessage(reply.native))
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    texts = ["Not run: the reply was cut off."] * len(calls) if is_cut else None
    for call, text in zip(reply.tool_calls, texts or window.company.reply(calls), strict=True):
        window.messages.append(ToolResult(call.call_id, text))
    if is_cut:
        window.messages.append(UserMessage("Your reply was cut off by its length."))
    elif not calls:
        window.messages.append(UserMessage("A reply without a call seals nothing."))
