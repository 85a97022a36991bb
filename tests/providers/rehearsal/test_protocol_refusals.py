"""What Responses and Messages refuse at the gateway, and in which words."""

import asyncio
from typing import Required, get_origin, get_type_hints

import msgspec
import pytest
from anthropic.types import (
    message_create_params,
    redacted_thinking_block_param,
    text_block_param,
    thinking_block_param,
    thinking_config_adaptive_param,
    tool_param,
    tool_result_block_param,
    tool_use_block_param,
)
from openai.types.responses import (
    easy_input_message_param,
    function_tool_param,
    response_create_params,
    response_function_tool_call_param,
    response_input_item_param,
    response_output_message_param,
    response_reasoning_item_param,
)

from providers.contract import ProviderFault, Request, UserMessage
from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from providers.rehearsal.messages import request as messages
from providers.rehearsal.responses import request as responses
from tests.providers.asking import ask_at
from tests.providers.rehearsal.client import SYSTEM
from tests.providers.rehearsal.windows import PROTOCOLS, THINKING, TOOLS
from tests.providers.rehearsal.wires import (
    ANALYST,
    Wire,
    messages_body,
    messages_tools,
    post,
    responses_body,
    responses_tools,
)

WRONG_MESSAGES: list[tuple[Wire, int, str]] = [
    ({"temperature": 1}, 400, "Unknown parameter: 'temperature'"),
    ({"metadata": {"name": "x"}}, 400, "Unknown parameter: 'metadata.name'"),
    ({"max_tokens": ...}, 400, "Missing required parameter: 'max_tokens'"),
    ({"max_tokens": 131_073}, 400, "131073 > 131072, which is the maximum allowed"),
    ({"model": "claude-x"}, 404, "model: claude-x"),
    ({"stop_sequences": ["x"]}, 400, "not supported with this model"),
    ({"messages": []}, 400, "length >= 1"),
    ({"messages": [{"role": "assistant", "content": "x"}]}, 400, "prefill"),
    ({"messages": [{"role": "user", "content": ""}]}, 400, "non-whitespace text"),
    (
        {
            "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": []},
                {"role": "user", "content": "y"},
            ]
        },
        400,
        "all messages must have non-empty content",
    ),
    (
        {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
        400,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        {"thinking": {"type": "enabled", "budget_tokens": 4_096}},
        400,
        "must be greater than `thinking.budget_tokens`",
    ),
    (
        {**THINKING["messages"], "tools": messages_tools(), "tool_choice": {"type": "any"}},
        400,
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    ({"tools": [{"name": "a b", "input_schema": {"type": "object"}}]}, 400, "tools[0].name"),
]


@pytest.mark.parametrize(("changes", "status", "words"), WRONG_MESSAGES)
def test_a_wrong_request_of_messages_is_refused(
    gateway: RunningGateway, changes: Wire, status: int, words: str
) -> None:
    response = post(gateway, "messages", messages_body(**changes))
    assert response.status_code == status
    answer = response.json()
    assert words in answer["error"]["message"]
    assert answer["error"]["type"] == (
        "not_found_error" if status == 404 else "invalid_request_error"
    )


WRONG_RESPONSES: list[tuple[Wire, str]] = [
    ({"temperature": 1}, "'temperature' is not supported with this model"),
    ({"top_k": 1}, "Unknown parameter: 'top_k'"),
    ({"previous_response_id": "resp_1"}, "not supported with this model"),
    ({"store": ...}, "'store' must be false"),
    ({"model": "gpt-x"}, "does not exist"),
    ({"max_output_tokens": 15}, ">= 16"),
    ({"max_output_tokens": 131_073}, "Expected a value <= 131072"),
    ({"reasoning": {"effort": "ultra"}}, "ultra"),
    ({"include": ["message.output_text.logprobs"]}, "include"),
    ({"input": [{"type": "brand_new"}]}, "Invalid value: 'brand_new'"),
    (
        {"input": [{"role": "user", "content": "x", "mood": 1}]},
        "Unknown parameter: 'input[0].mood'",
    ),
    ({"input": []}, "The last item must be of the user"),
    ({"tools": responses_tools(), "tool_choice": "required"}, "forcing a tool"),
    (
        {"tools": [{"type": "function", "name": "x", "parameters": None}]},
        "Missing required parameter: 'tools[0].strict'",
    ),
    (
        {
            "tools": [
                {
                    "type": "function",
                    "name": "x",
                    "strict": None,
                    "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
                }
            ]
        },
        "'additionalProperties' is required to be false",
    ),
]


@pytest.mark.parametrize(("changes", "words"), WRONG_RESPONSES)
def test_a_wrong_request_of_responses_is_refused(
    gateway: RunningGateway, changes: Wire, words: str
) -> None:
    response = post(gateway, "responses", responses_body(**changes))
    assert response.status_code == 400
    assert words in response.json()["error"]["message"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_conversation_may_not_outgrow_the_context(protocol: str) -> None:
    request = Request(SYSTEM, (UserMessage("word " * 1_000),), TOOLS, 4_096)
    with (
        start_gateway(GatewayOptions(context_tokens=4_000)) as small,
        pytest.raises(ProviderFault) as caught,
    ):
        asyncio.run(ask_at(small.base_url, request, protocol=protocol, model=ANALYST))
    assert caught.value.fault.kind == "too_long"
    assert "the request:" in caught.value.fault.message


def fields(ours: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(ours)} | tag_of(ours)


def tag_of(ours: type[msgspec.Struct]) -> set[str]:
    tag = ours.__struct_config__.tag_field
    return set() if tag is None else {tag}


# (ours, the vendor's, what of the vendor's no text model with tools takes)
SHAPES: list[tuple[type[msgspec.Struct], type, set[str]]] = [
    (
        responses.ResponsesRequest,
        response_create_params.ResponseCreateParamsStreaming,
        set(),
    ),
    (responses.OutputMessage, response_output_message_param.ResponseOutputMessageParam, set()),
    (responses.Reasoning, response_reasoning_item_param.ResponseReasoningItemParam, set()),
    (
        responses.FunctionCall,
        response_function_tool_call_param.ResponseFunctionToolCallParam,
        {"async", "caller", "namespace"},
    ),
    (
        responses.FunctionCallOutput,
        response_input_item_param.FunctionCallOutput,
        {"caller", "name", "namespace"},
    ),
    (responses.EasyMessage, easy_input_message_param.EasyInputMessageParam, set()),
    (
        responses.FunctionTool,
        function_tool_param.FunctionToolParam,
        {"allowed_callers", "async", "defer_loading", "output_schema"},
    ),
    (
        messages.MessagesRequest,
        message_create_params.MessageCreateParamsStreaming,
        set(),
    ),
    (messages.TextBlock, text_block_param.TextBlockParam, set()),
    (messages.ThinkingBlock, thinking_block_param.ThinkingBlockParam, set()),
    (
        messages.RedactedThinkingBlock,
        redacted_thinking_block_param.RedactedThinkingBlockParam,
        set(),
    ),
    (messages.ToolUseBlock, tool_use_block_param.ToolUseBlockParam, {"caller", "toolset_name"}),
    (messages.ToolResultBlock, tool_result_block_param.ToolResultBlockParam, {"toolset_name"}),
    (
        messages.Tool,
        tool_param.ToolParam,
        {"allowed_callers", "defer_loading", "eager_input_streaming", "input_examples"},
    ),
    (
        messages.AdaptiveThinking,
        thinking_config_adaptive_param.ThinkingConfigAdaptiveParam,
        set(),
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "apart"), SHAPES)
def test_requests_have_the_fields_of_the_vendors_types(
    ours: type[msgspec.Struct], theirs: type, apart: set[str]
) -> None:
    hints = get_type_hints(theirs, include_extras=True)
    assert fields(ours) == set(hints) - apart
    required = {field.encode_name for field in msgspec.structs.fields(ours) if field.required}
    tag = tag_of(ours)
    there = {name for name, hint in hints.items() if get_origin(hint) is Required}
    # The types let out what no request of this kind does without.
    needed = {"call_id", "input", "model"}
    assert (required | tag) - needed == there - needed - {"stream"}
