"""What the gateway refuses, and in which words: a status, and the service's error object."""

import json
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from providers.rehearsal import RunningGateway
from tests.providers.rehearsal.client import body, opening, post
from tests.providers.rehearsal.company import definitions


def tool(name: str = "look", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def messages(*further: dict[str, Any]) -> list[dict[str, Any]]:
    return [*opening(), *further]


def called(*ids: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for one in ids
        ],
    }


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "{}"}


USER: dict[str, Any] = {"role": "user", "content": "Go on."}
SAID: dict[str, Any] = {"role": "assistant", "content": "Well."}

# (what is wrong with the request, parameter, code, words of the message)
WRONG: dict[str, tuple[dict[str, Any], str | None, str | None, str]] = {
    "unknown parameter": ({"top_k": 5}, "top_k", "unknown_parameter", "Unknown parameter: 'top_k'"),
    "unknown parameter of a message": (
        {"messages": messages({**USER, "mood": "calm"})},
        "messages[2].mood",
        "unknown_parameter",
        "Unknown parameter",
    ),
    "unknown parameter of a call": (
        {"messages": messages({**called("a"), "tool_calls": [{"id": "a", "kind": 1}]})},
        "messages[2].tool_calls[0].kind",
        "unknown_parameter",
        "Unknown parameter",
    ),
    "sampling, which thinking does not take": (
        {"temperature": 0.2},
        "temperature",
        "unsupported_parameter",
        "not supported with this model",
    ),
    "sampling as null": ({"top_p": None}, "top_p", "unsupported_parameter", "not supported"),
    "wrong type": (
        {"max_tokens": "many"},
        "max_tokens",
        "invalid_type",
        "expected int | null, but got str",
    ),
    "fraction of a token": ({"max_tokens": 1.5}, "max_tokens", "invalid_type", "got float"),
    "no tokens at all": ({"max_tokens": 0}, "max_tokens", "invalid_value", ">= 1"),
    "more tokens than the model has": (
        {"max_completion_tokens": 131_073},
        "max_completion_tokens",
        "invalid_value",
        "This model supports at most 131072 completion tokens, whereas you provided 131073",
    ),
    "two ceilings": (
        {"max_tokens": 10, "max_completion_tokens": 10},
        "max_tokens",
        "invalid_parameter_combination",
        "at the same time",
    ),
    "content of a wrong type": (
        {"messages": messages({"role": "user", "content": 7})},
        "messages[2].content",
        "invalid_type",
        "expected str | array, but got int",
    ),
    "content that no text model reads": (
        {"messages": messages({"role": "user", "content": [{"type": "image_url"}]})},
        "messages[2].content[0].type",
        "invalid_value",
        "image_url",
    ),
    "unknown role": (
        {"messages": messages({"role": "robot", "content": "x"})},
        "messages[2].role",
        "invalid_value",
        "robot",
    ),
    "no role": ({"messages": [{"content": "x"}]}, "messages[0].role", None, "Missing required"),
    "no messages": ({"messages": []}, "messages", "invalid_value", "length >= 1"),
    "two replies": ({"n": 2}, "n", "invalid_value", "<= 1"),
    "unknown effort": (
        {"reasoning_effort": "ultra"},
        "reasoning_effort",
        "invalid_value",
        "ultra",
    ),
    "usage asked for outside a stream": (
        {"stream_options": {"include_usage": True}},
        "stream_options",
        "invalid_value",
        "only allowed when 'stream' is enabled",
    ),
    "a choice among no tools": (
        {"tools": ..., "tool_choice": "auto"},
        "tool_choice",
        "invalid_value",
        "only allowed when 'tools' are specified",
    ),
    "a forced call, which thinking does not take": (
        {"tool_choice": "required"},
        "tool_choice",
        "invalid_value",
        "thinking mode does not support",
    ),
    "tools of a wrong kind": (
        {"tools": [{"type": "custom", "custom": {}}]},
        "tools[0].type",
        "invalid_value",
        "custom",
    ),
    "no tool in the list": ({"tools": []}, "tools", "invalid_value", "1 to 128 tools"),
    "too many tools": (
        {"tools": [tool(f"t{number}") for number in range(129)]},
        "tools",
        "invalid_value",
        "1 to 128 tools, but got 129",
    ),
    "a tool twice": (
        {"tools": [tool(), tool()]},
        "tools[1].function.name",
        "invalid_value",
        "used twice",
    ),
    "a name that is none": (
        {"tools": [tool("look around")]},
        "tools[0].function.name",
        "invalid_value",
        "regex",
    ),
    "parameters that are no object": (
        {"tools": [tool(parameters={"type": "string"})]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
        'type: "object"',
    ),
    "a schema with an unknown type": (
        {"tools": [tool(parameters={"type": "object", "properties": {"a": {"type": "text"}}})]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
        "/properties/a/type: 'text' is not a type",
    ),
    "a schema whose required is none": (
        {"tools": [tool(parameters={"type": "object", "required": "a"})]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
        "/required",
    ),
    "a strict schema that leaves things open": (
        {"tools": [tool(strict=True, parameters={"type": "object", "properties": {}})]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
        "'additionalProperties' is required to be false",
    ),
    "a strict schema with an optional property": (
        {
            "tools": [
                tool(
                    strict=True,
                    parameters={
                        "type": "object",
                        "properties": {"a": {"type": "string"}},
                        "additionalProperties": False,
                    },
                )
            ]
        },
        "tools[0].function.parameters",
        "invalid_function_parameters",
        "'required' must name every key",
    ),
    "a late system message": (
        {"messages": messages({"role": "system", "content": "x"}, USER)},
        "messages.[2].role",
        None,
        "must be at the beginning",
    ),
    "an assistant message at the end": (
        {"messages": messages(SAID)},
        "messages.[2].role",
        None,
        "does not continue an assistant message",
    ),
    "an assistant message that says nothing": (
        {"messages": messages({"role": "assistant", "content": None}, USER)},
        "messages[2].content",
        "invalid_value",
        "must have content or 'tool_calls'",
    ),
    "calls that are null": (
        {"messages": messages({**SAID, "tool_calls": None}, USER)},
        "messages[2].tool_calls",
        "invalid_type",
        "got null",
    ),
    "calls that are none": (
        {"messages": messages({**SAID, "tool_calls": []}, USER)},
        "messages[2].tool_calls",
        "invalid_value",
        "length >= 1",
    ),
    "a call without its result": (
        {"messages": messages(called("a", "b"), result("a"), USER)},
        "messages.[4].role",
        None,
        "did not have response messages: b",
    ),
    "a call without its result at the end": (
        {"messages": messages(called("a"))},
        "messages.[3].role",
        None,
        "did not have response messages: a",
    ),
    "a result that comes late": (
        {"messages": messages(called("a"), USER, result("a"))},
        "messages.[3].role",
        None,
        "did not have response messages: a",
    ),
    "a result of no call": (
        {"messages": messages(called("a"), result("a"), result("c"))},
        "messages.[4].role",
        None,
        "must be a response to a preceding message",
    ),
    "a result without any call": (
        {"messages": messages(result("a"))},
        "messages.[2].role",
        None,
        "must be a response to a preceding message",
    ),
    "a second result of a call": (
        {"messages": messages(called("a"), result("a"), result("a"))},
        "messages.[4].tool_call_id",
        None,
        "has been answered already",
    ),
    "two calls of one id": (
        {"messages": messages(called("a", "a"), result("a"))},
        "messages.[2].tool_calls",
        None,
        "Duplicate value for 'tool_call_id'",
    ),
    "a cache mark that is none": (
        {
            "messages": messages(
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "x", "cache_control": {"type": "durable"}}
                    ],
                }
            )
        },
        "messages[2].content[0].cache_control.type",
        "invalid_value",
        "durable",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_request_is_refused_with_its_reason(gateway: RunningGateway, wrong: str) -> None:
    changes, param, code, words = WRONG[wrong]
    response = post(gateway.base_url, body(**changes))
    assert response.status_code == 400
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    if code is not None:
        assert error["code"] == code
    assert words in error["message"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tools": ...},
        {"stream": None},
        {"max_tokens": 131_072},
        {"max_completion_tokens": 1},
        {"tool_choice": "auto", "parallel_tool_calls": True},
        {"tool_choice": "none"},
        {"tool_choice": "required", "thinking": {"type": "disabled"}},
        {"reasoning_effort": "max", "thinking": {"type": "enabled"}},
        {"metadata": {"run": "1"}, "user": "me", "seed": 7, "store": False, "n": 1},
        {"prompt_cache_key": "k", "prompt_cache_options": {"mode": "explicit"}},
        {"response_format": {"type": "text"}, "modalities": ["text"], "verbosity": "low"},
        {"messages": [{"role": "developer", "content": "Be brief."}, USER]},
        {"messages": [USER, SAID, USER]},
        {"messages": messages({**SAID, "refusal": None}, USER)},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                        {
                            "type": "text",
                            "text": "b",
                            "prompt_cache_breakpoint": {"mode": "explicit"},
                        },
                    ],
                }
            ]
        },
        {"tools": [tool(parameters={"type": "object", "$defs": {"a": {"type": ["null"]}}})]},
        {"tools": [tool()]},
    ],
)
def test_a_proper_request_is_answered(gateway: RunningGateway, changes: dict[str, Any]) -> None:
    response = post(gateway.base_url, body(**changes))
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'"model"', b"\xff\xfe", b'{"model": "rehearsal-trader"}', b"[" * 100_000],
)
def test_what_is_no_request_is_refused(gateway: RunningGateway, content: bytes) -> None:
    response = post(gateway.base_url, content)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_a_form_is_no_json(gateway: RunningGateway) -> None:
    response = post(gateway.base_url, body(), **{"content-type": "text/plain"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "unsupported_content_type"


def test_an_unknown_model_is_not_found(gateway: RunningGateway) -> None:
    response = post(gateway.base_url, body("gpt-6-astra"))
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("name", "status"), [("", 400), ("x" * 513, 400), ("run-1/7/2/1", 200), ("x" * 512, 200)]
)
def test_a_request_name_has_a_form(gateway: RunningGateway, name: str, status: int) -> None:
    response = post(gateway.base_url, body(), **{"x-client-request-id": name})
    assert response.status_code == status


def test_the_sdk_sees_a_refusal_as_its_own_kind_of_error(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.chat.completions.create(
            model="rehearsal-analyst",
            messages=[{"role": "user", "content": "Hello."}],
            tools=definitions(),  # type: ignore[arg-type]
            temperature=1.0,
        )
    assert caught.value.code == "unsupported_parameter"
    assert caught.value.param == "temperature"
    assert caught.value.request_id is not None


def test_a_conversation_may_not_outgrow_the_context(gateway: RunningGateway) -> None:
    long = [{"role": "user", "content": "word " * 1_000_000}]
    response = post(gateway.base_url, body(messages=long))
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert "maximum context length is 1048576 tokens" in error["message"]


def test_bytes_beyond_all_measure_are_refused(gateway: RunningGateway) -> None:
    response = post(gateway.base_url, json.dumps(body()).encode() + b" " * (64 * 2**20))
    assert response.status_code == 413
