"""Is this a request that the service would answer, and how is it to be answered?"""

from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import UNSET

from providers.rehearsal.decoding import decoded, refuse_unsupported
from providers.rehearsal.messages.blocks import read_messages
from providers.rehearsal.messages.request import (
    NOT_TAKEN,
    DisabledThinking,
    EnabledThinking,
    MessagesRequest,
    TextBlock,
    Tool,
    ToolResultBlock,
    ToolUseBlock,
)
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import NO_TOOLS, Offer, Question
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.schemas import OfferedFunction, checked_names
from providers.rehearsal.seals import Sealer

MOST_BREAKPOINTS: Final = 4
_REQUEST: Final = msgspec.json.Decoder(MessagesRequest)
_TOOLS: Final = msgspec.json.Decoder(list[Tool])


def read_question(
    body: bytes, models: Container[str], options: GatewayOptions, sealer: Sealer
) -> Question:
    """The question in the body of a request.

    Raises:
        Refusal: what the service would refuse, with its reason.
    """
    request = decoded(_REQUEST, body)
    refuse_unsupported(request, NOT_TAKEN)
    if request.model not in models:
        raise Refusal(404, f"model: {request.model}", kind="not_found_error")
    ceiling = _ceiling(request, options.ceiling(request.model))
    thinks = request.thinking is not UNSET and not isinstance(request.thinking, DisabledThinking)
    choice = request.tool_choice
    if choice is not UNSET and request.tools is UNSET:
        raise bad_request("tool_choice: only allowed when `tools` are specified")
    if thinks and choice is not UNSET and choice.type in ("any", "tool"):
        raise bad_request("Thinking may not be enabled when tool_choice forces tool use.")
    offer = NO_TOOLS if request.tools is UNSET else offered(bytes(request.tools))
    breakpoints = sum(1 for _ in _breakpoints(request, offer))
    if breakpoints > MOST_BREAKPOINTS:
        raise bad_request(
            f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found "
            f"{breakpoints}."
        )
    is_mute = choice is not UNSET and choice.type == "none"
    return Question(
        conversation=read_messages(
            request.model,
            _system(request),
            request.messages,
            frozenset() if is_mute else offer.names,
            sealer,
            thinks=thinks,
        ),
        offer=offer,
        ceiling=ceiling,
        thinks=thinks,
        one_call_at_a_time=choice is not UNSET and choice.disable_parallel_tool_use is True,
        streams=request.stream is True,
        told=(request, breakpoints > 0),
    )


# Every request of a campaign repeats the same few tool lists; what was refused is not kept.
@lru_cache(maxsize=64)
def offered(raw: bytes) -> Offer:
    """The offer that a request makes; raises Refusal."""
    tools: list[Tool] = decoded(_TOOLS, raw, "tools")
    names = checked_names(
        [
            OfferedFunction(
                tool.name,
                tool.input_schema,
                tool.strict is True,
                f"tools.{position}",
                "input_schema",
            )
            for position, tool in enumerate(tools)
        ]
    )
    return Offer(names, raw.decode())


def _ceiling(request: MessagesRequest, highest: int) -> int:
    if request.max_tokens > highest:
        raise bad_request(
            f"max_tokens: {request.max_tokens} > {highest}, which is the maximum allowed number of "
            f"output tokens for {request.model}"
        )
    thinking = request.thinking
    if isinstance(thinking, EnabledThinking) and thinking.budget_tokens >= request.max_tokens:
        raise bad_request("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return request.max_tokens


def _system(request: MessagesRequest) -> list[str]:
    if request.system is UNSET:
        return []
    if isinstance(request.system, str):
        return [request.system]
    return [block.text for block in request.system]


def _breakpoints(request: MessagesRequest, offer: Offer) -> Iterator[object]:
    marks: list[object] = [request.cache_control]
    if isinstance(request.system, list):
        marks += [block.cache_control for block in request.system]
    if offer.text:
        tools: list[Tool] = decoded(_TOOLS, offer.text.encode(), "tools")
        marks += [tool.cache_control for tool in tools]
    for message in request.messages:
        for block in message.content:
            if isinstance(block, TextBlock | ToolUseBlock | ToolResultBlock):
                marks.append(block.cache_control)
    yield from (mark for mark in marks if mark not in (UNSET, None))
