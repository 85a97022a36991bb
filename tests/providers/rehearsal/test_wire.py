"""Replies on the wire, read with the vendor's types, and by hand where these are lenient."""

import json
from typing import Any, Required, get_origin, get_type_hints

import msgspec
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk, completion_create_params
from openai.types.chat.chat_completion_assistant_message_param import (
    ChatCompletionAssistantMessageParam,
)
from openai.types.chat.chat_completion_content_part_text_param import (
    ChatCompletionContentPartTextParam,
)
from openai.types.chat.chat_completion_developer_message_param import (
    ChatCompletionDeveloperMessageParam,
)
from openai.types.chat.chat_completion_message_function_tool_call_param import (
    ChatCompletionMessageFunctionToolCallParam,
)
from openai.types.chat.chat_completion_stream_options_param import (
    ChatCompletionStreamOptionsParam,
)
from openai.types.chat.chat_completion_system_message_param import (
    ChatCompletionSystemMessageParam,
)
from openai.types.chat.chat_completion_tool_message_param import ChatCompletionToolMessageParam
from openai.types.chat.chat_completion_user_message_param import ChatCompletionUserMessageParam
from openai.types.shared_params.function_definition import FunctionDefinition
from pydantic import ConfigDict

from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from providers.rehearsal.chat import request as wire
from tests.providers.rehearsal.client import body, calls_of, post, sent_back, streamed

# Beside the vendor's own fields, what services with thinking add.
EXTRAS = {"reasoning_content", "reasoning_signature", "extra_content"}


class StrictCompletion(ChatCompletion):
    model_config = ConfigDict(strict=True)


class StrictChunk(ChatCompletionChunk):
    model_config = ConfigDict(strict=True)


def extras(model: Any) -> set[str]:
    """The fields, at any depth, that the vendor's type does not have."""
    found: set[str] = set(model.model_extra or ())
    for name in type(model).model_fields:
        value = getattr(model, name)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "model_extra"):
                found |= extras(item)
    return found


def events(base_url: str, **changes: Any) -> list[bytes]:
    """The events of a streamed reply, each without its `data: `."""
    content = post(base_url, body(stream=True, **changes)).content
    assert content.endswith(b"\n\n")
    lines = content.removesuffix(b"\n\n").split(b"\n\n")
    assert all(line.startswith(b"data: ") for line in lines)
    return [line.removeprefix(b"data: ") for line in lines]


def chunks(base_url: str, **changes: Any) -> list[dict[str, Any]]:
    lines = events(base_url, **changes)
    assert lines[-1] == b"[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def deltas(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for part in parts for choice in part["choices"]]


@pytest.mark.parametrize(
    ("ours", "theirs", "added"),
    [
        (
            wire.ChatRequest,
            completion_create_params.CompletionCreateParamsStreaming,
            {"thinking"},
        ),
        (
            wire.AssistantMessage,
            ChatCompletionAssistantMessageParam,
            {"reasoning_content", "reasoning_signature"},
        ),
        (wire.SystemMessage, ChatCompletionSystemMessageParam, set()),
        (wire.DeveloperMessage, ChatCompletionDeveloperMessageParam, set()),
        (wire.UserMessage, ChatCompletionUserMessageParam, set()),
        (wire.ToolMessage, ChatCompletionToolMessageParam, set()),
        (wire.ToolCall, ChatCompletionMessageFunctionToolCallParam, {"extra_content"}),
        (wire.TextPart, ChatCompletionContentPartTextParam, {"cache_control"}),
        (wire.FunctionDefinition, FunctionDefinition, set()),
        (wire.StreamOptions, ChatCompletionStreamOptionsParam, set()),
    ],
)
def test_the_request_has_the_fields_of_the_vendors_types(
    ours: type[msgspec.Struct], theirs: type, added: set[str]
) -> None:
    tag = {ours.__struct_config__.tag_field} - {None}
    known = {field.encode_name for field in msgspec.structs.fields(ours)} | tag
    required = {field.encode_name for field in msgspec.structs.fields(ours) if field.required}
    hints = get_type_hints(theirs, include_extras=True)
    assert known == set(hints) | added
    required_there = {name for name, hint in hints.items() if get_origin(hint) is Required}
    assert required | tag == required_there - {"stream"}


def test_a_whole_reply_is_of_the_vendors_type(gateway: RunningGateway) -> None:
    response = post(gateway.base_url, body())
    reply = StrictCompletion.model_validate_json(response.content)
    assert extras(reply) == {"reasoning_content", "reasoning_signature", "extra_content"}
    assert reply.model == "rehearsal-analyst"
    assert reply.choices[0].finish_reason == "tool_calls"
    assert response.headers["x-request-id"].startswith("req_")
    assert "scripted" in response.headers["x-rehearsal"]


def test_every_chunk_is_of_the_vendors_type(gateway: RunningGateway) -> None:
    lines = events(gateway.base_url, stream_options={"include_usage": True})
    parsed = [StrictChunk.model_validate_json(line) for line in lines[:-1]]
    assert set().union(*(extras(chunk) for chunk in parsed)) == EXTRAS
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in parsed}) == 1


def test_a_stream_begins_with_the_role_and_ends_with_its_reason(gateway: RunningGateway) -> None:
    parts = chunks(gateway.base_url)
    assert deltas(parts)[0]["role"] == "assistant"
    assert all("role" not in delta for delta in deltas(parts)[1:])
    reasons = [choice["finish_reason"] for part in parts for choice in part["choices"]]
    assert reasons == [None] * (len(reasons) - 1) + ["tool_calls"]
    assert deltas(parts)[-1] == {}
    assert all("usage" not in part for part in parts)


def test_reasoning_comes_before_its_seal_before_text_before_calls(
    gateway: RunningGateway,
) -> None:
    kinds = [next(iter(set(delta) - {"role"}), "") for delta in deltas(chunks(gateway.base_url))]
    order = list(dict.fromkeys(kinds[1:-1]))
    assert order == ["reasoning_content", "reasoning_signature", "tool_calls"]


def test_arguments_of_calls_come_in_fragments_by_index(gateway: RunningGateway) -> None:
    fragments = [
        call for delta in deltas(chunks(gateway.base_url)) for call in delta.get("tool_calls", [])
    ]
    starts = [call for call in fragments if "id" in call]
    assert [call["index"] for call in starts] == list(range(len(starts)))
    assert all(call["function"]["arguments"] == "" for call in starts)
    assert len(fragments) > 2 * len(starts)
    assert [call["index"] for call in fragments] == sorted(call["index"] for call in fragments)


def test_usage_comes_last_when_asked_for(gateway: RunningGateway) -> None:
    parts = chunks(gateway.base_url, stream_options={"include_usage": True})
    assert parts[-1]["choices"] == []
    assert all(part["usage"] is None for part in parts[:-1])
    assert parts[-1]["usage"] == post(gateway.base_url, body()).json()["usage"]


def test_a_stream_holds_what_the_whole_reply_holds(client: OpenAI) -> None:
    whole = client.chat.completions.create(**body())
    from_stream = streamed(client, **body())
    assert sent_back(from_stream) == sent_back(whole)
    assert from_stream.usage == whole.usage


@pytest.mark.parametrize("pieces", [1, 7, 500, 5_000])
def test_a_reply_comes_in_as_many_pieces_as_it_is_told_to(pieces: int) -> None:
    with start_gateway(GatewayOptions(chunks_per_reply=pieces)) as gateway:
        found = deltas(chunks(gateway.base_url, tools=...))[1:-1]
        texts = [delta for delta in found if "reasoning_signature" not in delta]
        # A text has its last piece of its own: here there are two texts, thought and word.
        assert pieces <= len(texts) <= pieces + 1


def test_without_tools_an_agent_only_talks(client: OpenAI) -> None:
    reply = client.chat.completions.create(**body(tools=...))
    assert reply.choices[0].finish_reason == "stop"
    assert reply.choices[0].message.content
    assert reply.choices[0].message.tool_calls is None


def test_without_thinking_there_is_no_reasoning_and_no_seal(client: OpenAI) -> None:
    for off in ({"extra_body": {"thinking": {"type": "disabled"}}}, {"reasoning_effort": "none"}):
        message = sent_back(streamed(client, **body(), **off))
        assert set(message) == {"role", "content", "tool_calls"}
        assert "extra_content" not in message["tool_calls"][0]


def test_usage_counts_reasoning_once_and_within_the_output(client: OpenAI) -> None:
    reply = client.chat.completions.create(**body())
    usage = reply.usage
    assert usage is not None
    assert usage.completion_tokens_details is not None
    message = sent_back(reply)
    reasoning = -(-len(message["reasoning_content"]) // 4)
    assert usage.completion_tokens_details.reasoning_tokens == reasoning
    called = sum(8 + -(-len(name) // 4) + -(-len(text) // 4) for name, text in calls_of(message))
    assert usage.completion_tokens == reasoning + called
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_what_the_last_request_brought_is_cached(client: OpenAI) -> None:
    request = body()
    request["messages"][0]["content"] = "You run a company. " * 400
    first = client.chat.completions.create(**request)
    reply = sent_back(first)
    texts = [
        {"role": "tool", "tool_call_id": call["id"], "content": "{}"}
        for call in reply["tool_calls"]
    ]
    request["messages"] += [reply, *texts]
    second = client.chat.completions.create(**request)
    usages = [first.usage, second.usage]
    assert usages[0] is not None
    assert usages[1] is not None
    assert usages[0].prompt_tokens_details is not None
    assert usages[1].prompt_tokens_details is not None
    assert usages[0].prompt_tokens_details.cached_tokens == 0
    cached = usages[1].prompt_tokens_details.cached_tokens
    assert cached == usages[0].prompt_tokens // 128 * 128
    assert usages[1].prompt_tokens > usages[0].prompt_tokens


@pytest.mark.parametrize("ceiling", [1, 10, 60, 100, 200])
def test_a_reply_longer_than_its_ceiling_is_cut(client: OpenAI, ceiling: int) -> None:
    full = sent_back(client.chat.completions.create(**body()))
    reply = streamed(client, **body(max_tokens=ceiling))
    cut = sent_back(reply)
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens == ceiling
    assert full["reasoning_content"].startswith(cut["reasoning_content"])
    whole_reasoning = full["reasoning_content"] == cut["reasoning_content"]
    assert ("reasoning_signature" in cut) == whole_reasoning
    for (name, arguments), (full_name, full_arguments) in zip(
        calls_of(cut), calls_of(full), strict=False
    ):
        assert name == full_name
        assert full_arguments.startswith(arguments)
    assert len(calls_of(cut)) < len(calls_of(full))


def test_a_reply_that_just_fits_is_not_cut(client: OpenAI) -> None:
    reply = client.chat.completions.create(**body())
    assert reply.usage is not None
    exact = client.chat.completions.create(**body(max_tokens=reply.usage.completion_tokens))
    assert exact.choices[0].finish_reason == "tool_calls"
    assert sent_back(exact) == sent_back(reply)


def test_ceilings_can_differ_by_model() -> None:
    options = GatewayOptions(output_tokens=90, output_tokens_by_model={"rehearsal-trader": 30})
    with start_gateway(options) as gateway:
        for model, ceiling in (("rehearsal-analyst", 90), ("rehearsal-trader", 30)):
            reply = post(gateway.base_url, body(model)).json()
            assert reply["usage"]["completion_tokens"] == ceiling
            refused = post(gateway.base_url, body(model, max_tokens=ceiling + 1))
            assert f"at most {ceiling} completion tokens" in refused.json()["error"]["message"]


def test_the_models_are_listed_and_labelled(client: OpenAI) -> None:
    models = client.models.list().data
    assert len(models) == 9
    assert all(model.id.startswith("rehearsal-") for model in models)
    assert {model.owned_by for model in models} == {"ceo-arena-rehearsal"}
    assert client.models.retrieve("rehearsal-diarist").id == "rehearsal-diarist"
