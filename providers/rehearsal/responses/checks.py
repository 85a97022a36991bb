"""Is this a request that the service would answer, and how is it to be answered?"""

from collections.abc import Container
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import UNSET

from providers.rehearsal.decoding import decoded, refuse_unsupported
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import NO_TOOLS, Offer, Question
from providers.rehearsal.refusals import bad_request
from providers.rehearsal.responses.items import read_items
from providers.rehearsal.responses.request import NOT_TAKEN, FunctionTool, ResponsesRequest
from providers.rehearsal.schemas import OfferedFunction, checked_names
from providers.rehearsal.seals import Sealer

_REQUEST: Final = msgspec.json.Decoder(ResponsesRequest)
_TOOLS: Final = msgspec.json.Decoder(list[FunctionTool])


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
        raise bad_request(
            f"The requested model '{request.model}' does not exist.", "model", "model_not_found"
        )
    if request.store is not False:
        raise bad_request(
            "This organization retains nothing: 'store' must be false.", "store", "invalid_value"
        )
    effort = request.reasoning.effort if request.reasoning else UNSET
    thinks = effort != "none"
    if thinks and request.tool_choice not in (UNSET, "none", "auto"):
        raise bad_request(
            "This model does not support forcing a tool while it reasons.",
            "tool_choice",
            "invalid_value",
        )
    offer = NO_TOOLS if request.tools is UNSET else offered(bytes(request.tools))
    return Question(
        conversation=read_items(
            request.model,
            request.instructions or "",
            bytes(request.input),
            frozenset() if request.tool_choice == "none" else offer.names,
            sealer,
            thinks=thinks,
        ),
        offer=offer,
        ceiling=_ceiling(request, options.ceiling(request.model)),
        thinks=thinks,
        one_call_at_a_time=request.parallel_tool_calls is False,
        streams=request.stream is True,
        told=request,
    )


# Every request of a campaign repeats the same few tool lists; what was refused is not kept.
@lru_cache(maxsize=64)
def offered(raw: bytes) -> Offer:
    """The offer that a request makes; raises Refusal."""
    tools: list[FunctionTool] = decoded(_TOOLS, raw, "tools")
    names = checked_names(
        [
            OfferedFunction(
                tool.name,
                tool.parameters,
                # Unlike elsewhere, null asks for the strict kind too.
                tool.strict is not False,
                f"tools[{position}]",
                "parameters",
            )
            for position, tool in enumerate(tools)
        ]
    )
    return Offer(names, raw.decode())


def _ceiling(request: ResponsesRequest, highest: int) -> int:
    given = request.max_output_tokens
    if not isinstance(given, int):
        return highest
    if given > highest:
        raise bad_request(
            f"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= "
            f"{highest}, but got {given} instead.",
            "max_output_tokens",
            "integer_above_max_value",
        )
    return given
