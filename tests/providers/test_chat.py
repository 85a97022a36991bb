"""Chat Completions over HTTP: what becomes of a reply (providers.md sections 1 to 3)."""

import asyncio
import json

import msgspec
import pytest

from providers.chat import ChatProvider
from providers.contract import (
    ToolCall,
    Usage,
)
from tests.providers.asking import (
    ENVIRONMENT,
    HELLO,
    faulted,
    replied,
    route,
)
from tests.providers.chat_service import (
    HELLO_REPLY,
    MODEL,
    ChatService,
    Received,
    Wire,
    begin,
    call_delta,
    chunk,
    event,
    reply,
    stream,
    usage_chunk,
)


def test_a_reply_of_text() -> None:
    answer = replied(HELLO_REPLY)
    assert answer.native == '{"role":"assistant","content":"Hello."}'
    assert answer.text == "Hello."
    assert answer.tool_calls == ()
    assert (answer.stop, answer.stop_reason) == ("finished", "stop")
    assert answer.usage == Usage(120, 0, 30, 0)
    assert (answer.requested_model, answer.returned_model) == (MODEL, MODEL)
    assert answer.request_id == "chatcmpl-7"
    assert answer.fingerprint is None
    assert not answer.has_reasoning
    assert not answer.is_only_reasoning
    assert 0 < (answer.first_token_seconds or 0) <= answer.latency_seconds


def test_the_header_names_the_request_before_the_body_does() -> None:
    answer = replied(stream(chunk({"content": "x"}, "stop"), usage_chunk(), x_request_id="req-9"))
    assert answer.request_id == "req-9"


def test_the_served_build_is_told() -> None:
    assert replied(reply({"content": "x"}, system_fingerprint="fp-1")).fingerprint == "fp-1"


def test_reasoning_and_calls_are_kept_and_told_apart() -> None:
    answer = replied(
        reply(
            {"role": "assistant", "content": None, "reasoning_content": ""},
            {"reasoning_content": "Stock is "},
            {"reasoning_content": "low."},
            call_delta(0, "", id="call-1", type="function", name="look"),
            call_delta(0, '{"sql":'),
            call_delta(0, '"select 1"}'),
            call_delta(1, "{}", id="call-2", type="function", name="seal"),
            finish="tool_calls",
        )
    )
    assert answer.stop == "tool_calls"
    assert answer.tool_calls == (
        ToolCall("call-1", "look", '{"sql":"select 1"}'),
        ToolCall("call-2", "seal", "{}"),
    )
    assert answer.has_reasoning
    assert not answer.is_only_reasoning
    assert json.loads(answer.native) == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Stock is low.",
        "tool_calls": [
            {
                "id": "call-1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"sql":"select 1"}'},
            },
            {"id": "call-2", "type": "function", "function": {"name": "seal", "arguments": "{}"}},
        ],
    }


def test_interleaved_fragments_go_by_their_index() -> None:
    answer = replied(
        reply(
            call_delta(1, '{"b"', id="two", name="seal"),
            call_delta(0, '{"a"', id="one", name="look"),
            call_delta(1, ":2}"),
            call_delta(0, ":1}"),
            finish="tool_calls",
        )
    )
    assert [(call.call_id, call.arguments) for call in answer.tool_calls] == [
        ("one", '{"a":1}'),
        ("two", '{"b":2}'),
    ]


def test_reasoning_alone_is_told() -> None:
    answer = replied(reply({"role": "assistant", "reasoning_content": "Hmm"}, finish="length"))
    assert (answer.has_reasoning, answer.is_only_reasoning) == (True, True)
    assert (answer.text, answer.stop) == ("", "length")


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("stop", "finished"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("something_new", "other"),
    ],
)
def test_reasons_to_stop_known_and_unknown(word: str, stop: str) -> None:
    answer = replied(reply({"content": "x"}, finish=word))
    assert (answer.stop, answer.stop_reason) == (stop, word)


def test_a_vendor_that_calls_tools_and_says_stop() -> None:
    answer = replied(reply(call_delta(0, "{}", id="c", name="seal"), finish="stop"))
    assert (answer.stop, answer.stop_reason) == ("tool_calls", "stop")


def test_a_cut_reply_keeps_its_calls_without_promising_them() -> None:
    answer = replied(reply(call_delta(0, '{"sql', id="c", name="look"), finish="length"))
    assert answer.stop == "length"
    assert answer.tool_calls == (ToolCall("c", "look", '{"sql'),)


def test_usage_that_is_not_sent_is_missing_and_not_zero() -> None:
    assert replied(stream(chunk({"content": "x"}, "stop"))).usage is None
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert replied(stream(chunk({"content": "x"}, "stop"), usage_chunk(usage=zero))).usage is None


def test_a_stream_without_its_closing_mark_is_whole_when_it_ended_properly() -> None:
    assert replied(stream(chunk({"content": "x"}, "stop"), usage_chunk(), done=False)).text == "x"


def test_an_accepted_alias_answers() -> None:
    answer = replied(
        reply({"content": "x"}, model="analyst-1-0601"), accepted_aliases=["analyst-1-0601"]
    )
    assert (answer.requested_model, answer.returned_model) == (MODEL, "analyst-1-0601")


def test_comments_unknown_events_and_unknown_chunks_are_passed_over() -> None:
    answer = replied(
        stream(
            b": keep-alive\n\n",
            event("pong", "ping"),
            event({"hello": 1}, "metadata"),
            chunk(choices=[], model="", prompt_filter_results=[{"a": 1}]),
            chunk({"content": "x"}, None, obfuscation="zzz", new_thing={"deep": [1]}),
            chunk({"content": "y"}, "stop"),
            chunk(choices=[{"index": 1, "delta": {"content": "other choice"}}]),
            usage_chunk(),
        )
    )
    assert answer.text == "xy"


def test_the_stream_may_come_byte_by_byte() -> None:
    text = b"".join(
        event(part)
        for part in (
            chunk({"content": "Häl"}),
            chunk({"content": "l\u00f6 \U0001f600"}, "stop"),
            usage_chunk(),
            "[DONE]",
        )
    ).replace(b"\n", b"\r\n")

    async def answer(_: Received, wire: Wire) -> None:
        await begin(wire)
        for place in range(len(text)):
            await wire.piece(text[place : place + 1])
        await wire.end()

    assert replied(answer).text == "Hällö \U0001f600"


def test_reasons_to_stop_that_are_empty_until_the_last() -> None:
    chunks = [chunk({"content": "x"}, ""), chunk({"content": "y"}, "")]
    assert faulted(stream(*chunks, usage_chunk())).code == "stream_cut"
    answer = replied(stream(*chunks, chunk(finish="stop"), chunk(finish=""), usage_chunk()))
    assert (answer.text, answer.stop_reason) == ("xy", "stop")


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert replied(HELLO_REPLY).text == "Hello."


def test_a_connection_serves_again_and_two_providers_share_it() -> None:
    async def run() -> list[int]:
        async with ChatService((HELLO_REPLY,)) as service:
            first, second = (
                ChatProvider(route(service.base_url), environment=ENVIRONMENT) for _ in range(2)
            )
            for provider in (first, first, second):
                await provider.ask(HELLO)
            await first.close()
            await second.ask(HELLO)
            await second.close()
            return [request.connection for request in service.requests]

    assert asyncio.run(run()) == [1, 1, 1, 1]


def test_conversations_find_their_connections_again_in_several_pools() -> None:
    conversations = [f"company-{number}" for number in range(8)]

    async def run() -> list[int]:
        async with ChatService((HELLO_REPLY,)) as service:
            provider = ChatProvider(route(service.base_url), environment=ENVIRONMENT)
            for ordinal in (1, 2):
                for conversation in conversations:
                    name = f"{conversation}/request-{ordinal}"
                    await provider.ask(msgspec.structs.replace(HELLO, name=name))
            await provider.close()
            return [request.connection for request in service.requests]

    used = asyncio.run(run())
    assert used[:8] == used[8:], "no second request opened a connection"
    assert 1 < len(set(used)) <= 8


def test_a_service_that_never_ends_its_stream_after_the_mark() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await begin(wire)
        for item in (chunk({"content": "x"}, "stop"), usage_chunk(), "[DONE]"):
            await wire.piece(event(item))
        await wire.hung_up()

    assert replied(answer).text == "x"
