"""Is this a request that the service would answer, and how is it to be answered?"""

from collections.abc import Container
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import UNSET

from providers.rehearsal.chat.messages import read_messages
from providers.rehearsal.chat.request import NOT_TAKEN, ChatRequest, Tool
from providers.rehearsal.decoding import decoded, refuse_unsupported
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import NO_TOOLS, Offer, Question
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.schemas import OfferedFunction, checked_names
from providers.rehearsal.seals import Sealer

_REQUEST: Final = msgspec.json.Decoder(ChatRequest)
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
        raise Refusal(
            404,
            f"The model `{request.model}` does not exist or you do not have access to it.",
            code="model_not_found",
        )
    thinks = not (
        request.reasoning_effort == "none"
        or (request.thinking is not UNSET and request.thinking.type == "disabled")
    )
    _check_tool_choice(request, thinks=thinks)
    offer = NO_TOOLS if request.tools is UNSET else offered(bytes(request.tools))
    return Question(
        conversation=read_messages(
            request.model,
            request.messages,
            frozenset() if request.tool_choice == "none" else offer.names,
            sealer,
            thinks=thinks,
        ),
        offer=offer,
        ceiling=_ceiling(request, options.ceiling(request.model)),
        thinks=thinks,
        one_call_at_a_time=request.parallel_tool_calls is False,
        streams=request.stream is True,
        reports_usage=_reports_usage(request),
    )


# Every request of a campaign repeats the same few tool lists; what was refused is not kept.
@lru_cache(maxsize=64)
def offered(raw: bytes) -> Offer:
    """The offer that a request makes; raises Refusal."""
    functions = [tool.function for tool in decoded(_TOOLS, raw, "tools")]
    names = checked_names(
        [
            OfferedFunction(
                function.name,
                None if function.parameters is UNSET else function.parameters,
                function.strict is True,
                f"tools[{position}].function",
                "parameters",
            )
            for position, function in enumerate(functions)
        ]
    )
    return Offer(names, raw.decode())


def _check_tool_choice(request: ChatRequest, *, thinks: bool) -> None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if request.tools is UNSET and getattr(request, name) is not UNSET:
            raise bad_request(
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
                name,
                "invalid_value",
            )
    if thinks and request.tool_choice not in (UNSET, "none", "auto"):
        raise bad_request(
            "The thinking mode does not support this 'tool_choice'; it takes 'auto' and 'none'.",
            "tool_choice",
            "invalid_value",
        )


def _reports_usage(request: ChatRequest) -> bool:
    """Whether the reply carries usage: a stream does when it is asked to, a whole reply always."""
    if request.stream is not True:
        if request.stream_options not in (UNSET, None):
            raise bad_request(
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                "stream_options",
                "invalid_value",
            )
        return True
    options = request.stream_options
    return options is not UNSET and options is not None and options.include_usage is True


def _ceiling(request: ChatRequest, highest: int) -> int:
    """The most tokens of the reply: what was asked for, within the ceiling of the model."""
    given = [
        (name, value)
        for name in ("max_tokens", "max_completion_tokens")
        if isinstance(value := getattr(request, name), int)
    ]
    if len(given) > 1:
        raise bad_request(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_parameter_combination",
        )
    for name, value in given:
        if value > highest:
            raise bad_request(
                f"{name} is too large: {value}. This model supports at most {highest} completion "
                f"tokens, whereas you provided {value}.",
                name,
                "invalid_value",
            )
    return given[0][1] if given else highest
