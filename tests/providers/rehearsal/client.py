"""Clients of the gateway that share no code with it: the vendor's SDK, and plain HTTP."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx2
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion

from tests.providers.rehearsal.company import Company, definitions

SYSTEM: Final = "You are the chief executive of one company."
BRIEFING: Final = "World version 10, day 70. Finalization begins after 28 replies."
MOST_REPLIES: Final = 32

Message = dict[str, Any]


def opening(briefing: str = BRIEFING) -> list[Message]:
    """The messages of a window before its first reply."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": briefing}]


def body(model: str = "rehearsal-analyst", **changes: Any) -> dict[str, Any]:
    """A request that the gateway answers; a change to `...` leaves a member out."""
    request = {"model": model, "messages": opening(), "tools": definitions(), **changes}
    return {key: value for key, value in request.items() if value is not ...}


@contextmanager
def sdk(base_url: str, key: str = "rehearsal") -> Iterator[OpenAI]:
    """The vendor's client, which retries nothing."""
    with OpenAI(base_url=base_url, api_key=key, max_retries=0) as client:
        yield client


def post(base_url: str, content: Any, **headers: str) -> httpx2.Response:
    """A plain request; `content` is sent as JSON unless it is bytes."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx2.post(
        f"{base_url}/chat/completions",
        content=raw,
        headers={
            "authorization": "Bearer rehearsal",
            "content-type": "application/json",
            **headers,
        },
        timeout=60,
    )


def streamed(client: OpenAI, **request: Any) -> ChatCompletion:
    """A streamed reply, put together by the vendor's own code."""
    state = ChatCompletionStreamState()
    stream = client.chat.completions.create(
        **request, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        state.handle_chunk(chunk)
    return state.current_completion_snapshot


def sent_back(reply: ChatCompletion) -> Message:
    """The assistant message as it goes into the next request: without what the SDK adds."""
    message = reply.choices[0].message.to_dict()
    kept = {
        key: value
        for key, value in message.items()
        if value is not None or key in ("role", "content")
    }
    for call in kept.get("tool_calls", []):  # type: ignore[attr-defined]
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    return kept


def results_of(reply: Message, texts: list[str]) -> list[Message]:
    """The tool messages that answer the calls of an assistant message."""
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": text}
        for call, text in zip(reply["tool_calls"], texts, strict=True)
    ]


def calls_of(reply: Message) -> list[tuple[str, str]]:
    """(tool, arguments) of each call of an assistant message."""
    return [
        (call["function"]["name"], call["function"]["arguments"])
        for call in reply.get("tool_calls", [])
    ]


def play_window(
    client: OpenAI,
    model: str,
    company: Company,
    *,
    briefing: str = BRIEFING,
    after_reply: Callable[[int, list[Message]], None] | None = None,
    **options: Any,
) -> list[Message]:
    """A whole window, as the harness plays it; the messages at its end.

    `after_reply` may say something more after each reply's results.
    """
    messages = opening(briefing)
    for number in range(1, MOST_REPLIES + 1):
        reply = sent_back(
            streamed(client, model=model, messages=messages, tools=definitions(), **options)
        )
        messages.append(reply)
        calls = calls_of(reply)
        if calls:
            messages += results_of(reply, company.reply(calls))
        else:
            messages.append({"role": "user", "content": "A reply without a call seals nothing."})
        if company.sealed is not None:
            return messages
        if after_reply is not None:
            after_reply(number, messages)
    raise AssertionError(f"{model} did not seal within {MOST_REPLIES} replies")


def replies_in(messages: list[Message]) -> list[Message]:
    """The assistant messages of a conversation."""
    return [message for message in messages if message["role"] == "assistant"]
