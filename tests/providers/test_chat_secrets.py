"""A key is read when it is used and shows up nowhere else (providers.md section 4)."""

import asyncio
import json
import logging
import pickle
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from providers.access import Access
from providers.chat import ChatProvider
from providers.contract import ProviderFault
from providers.transport import Deadlines
from tests.providers.asking import (
    HELLO,
    KEY,
    KEY_VARIABLE,
    ask_at,
    faulted,
    provider_of,
    replied,
    route,
)
from tests.providers.chat_service import (
    Answer,
    ChatService,
    Received,
    Wire,
    begin,
    chunk,
    event,
    refusal,
    reply,
    stream,
    usage_chunk,
)
from tests.providers.recorded import recorded

TELLTALE = {
    "error": {
        "message": f"Incorrect API key provided: {KEY}. You sent Bearer {KEY}.",
        "code": f"bad_{KEY}",
        "type": KEY,
    }
}


async def _cut(_: Received, wire: Wire) -> None:
    await begin(wire)
    await wire.piece(event(chunk({"content": "x"})))
    wire.cut()


async def _stall(_: Received, wire: Wire) -> None:
    await wire.hung_up()


FAULTY: dict[str, Answer] = {
    "401": refusal(401, TELLTALE, x_request_id=f"req-{KEY}", www_authenticate=KEY),
    "500 html": refusal(500, f"<html>{KEY}</html>", content_type="text/html"),
    "302": refusal(302, "", location=f"http://127.0.0.1:9/?key={KEY}"),
    "in the stream": stream(TELLTALE),
    "no stream": refusal(200, {"choices": [], "note": KEY}),
    "no chunk": stream(f"not json {KEY}"),
    "identity": reply({"content": "x"}, model=KEY),
    "finish": reply({"content": "x"}, finish="error", id=KEY),
    "cut": _cut,
    "stalled": _stall,
}
# What each of the other protocols says in words of its own.
RESPONSES = {
    "identity": recorded("responses_tool_calls", ("analyst-1", KEY)),
    "failed": recorded("responses_failed", ("failed to generate", KEY), ("server_error", KEY)),
    "error": recorded("responses_error", ("Rate limit", KEY)),
    "finish": recorded("responses_failed", ('"error":{"code":"server_error",', '"x":{')),
}
MESSAGES = {
    "identity": recorded("messages_tool_use", ("analyst-1", KEY)),
    "error": recorded("messages_overloaded", ("Overloaded", KEY), ("overloaded_error", KEY)),
    "cut": recorded("messages_tool_use", ("msg_01XyZ", KEY), cut_after="message_start"),
}
ANSWERS = [
    *(("chat", name, answer) for name, answer in FAULTY.items()),
    *(("responses", name, answer) for name, answer in (FAULTY | RESPONSES).items()),
    *(("messages", name, answer) for name, answer in (FAULTY | MESSAGES).items()),
]


@pytest.mark.parametrize(
    ("protocol", "answer"),
    [(protocol, answer) for protocol, _, answer in ANSWERS],
    ids=[f"{protocol} {name}" for protocol, name, _ in ANSWERS],
)
def test_no_fault_tells_the_key_or_the_endpoint(
    protocol: str, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    places: list[str] = []

    async def run() -> None:
        async with ChatService((answer,)) as service:
            places.append(service.base_url.removeprefix("http://").removesuffix("/v1"))
            await ask_at(service.base_url, protocol=protocol, deadlines=Deadlines(idle=0.3))

    with pytest.raises(ProviderFault) as caught:
        asyncio.run(run())
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    fault = json.dumps(msgspec.to_builtins(error.fault))
    shown = [repr(error), str(error), "".join(traceback.format_exception(error)), fault]
    shown.append(repr(pickle.loads(pickle.dumps(error)).fault))
    shown.extend(record.getMessage() + repr(record.args) for record in caplog.records)
    assert KEY not in "\n".join(shown)
    assert KEY not in "".join(_variables(error))
    # The endpoint is nobody's business either; logs of the HTTP library may name it.
    assert places[0] not in str(error) + fault


def _variables(error: BaseException) -> Iterator[str]:
    """What a traceback that shows variables would show of this package."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_globals["__name__"].startswith("providers."):
            yield from map(repr, frame.f_locals.values())


def test_a_reply_that_names_the_key_in_its_frame_does_not_keep_it() -> None:
    answer = replied(
        stream(
            chunk({"content": "x"}, "stop", id=KEY, system_fingerprint=KEY),
            usage_chunk(),
            x_request_id=KEY,
        )
    )
    assert KEY not in repr(answer)


WHOLE = {
    "chat": reply({"content": "x"}),
    "responses": recorded("responses_tool_calls"),
    "messages": recorded("messages_tool_use"),
}


@pytest.mark.parametrize("protocol", WHOLE)
def test_nothing_that_lasts_shows_the_key(protocol: str) -> None:
    async def run() -> str:
        async with ChatService((WHOLE[protocol],)) as service:
            provider = provider_of(route(service.base_url, protocol=protocol))
            await provider.ask(HELLO)
            kept = {name: value for name, value in vars(provider).items() if name != "_environment"}
            shown = repr(provider) + repr(kept) + repr(vars(kept["_client"]))
            await provider.close()
            return shown

    assert KEY not in asyncio.run(run())
    access = Access("http://127.0.0.1/v1", KEY)
    assert KEY not in repr(access) + repr(access.scrub())


def test_the_key_is_read_with_every_request() -> None:
    keys = {KEY_VARIABLE: "first-key"}

    async def run() -> list[str]:
        async with ChatService((reply({"content": "x"}),)) as service:
            provider = ChatProvider(route(service.base_url), environment=keys)
            await provider.ask(HELLO)
            keys[KEY_VARIABLE] = "second-key"
            await provider.ask(HELLO)
            await provider.close()
            return [request.headers["authorization"] for request in service.requests]

    assert asyncio.run(run()) == ["Bearer first-key", "Bearer second-key"]


def test_a_key_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")

    async def run() -> str:
        async with ChatService((reply({"content": "x"}),)) as service:
            environment = {f"{KEY_VARIABLE}_FILE": str(tmp_path / "key")}
            await ask_at(service.base_url, environment=environment)
            return service.requests[0].headers["authorization"]

    assert asyncio.run(run()) == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, f"Neither the variable {KEY_VARIABLE} nor {KEY_VARIABLE}_FILE"),
        ({KEY_VARIABLE: "  "}, "Neither the variable"),
        ({KEY_VARIABLE: f"{KEY}\r\nX-Other: 1"}, f"The variable {KEY_VARIABLE} holds no usable"),
        ({KEY_VARIABLE: f"{KEY}é"}, f"The variable {KEY_VARIABLE} holds no usable"),
        ({f"{KEY_VARIABLE}_FILE": "/nowhere/key"}, "cannot be read: No such file"),
    ],
)
def test_an_unusable_key_is_named_and_not_shown(environment: dict[str, str], words: str) -> None:
    fault = faulted(reply({"content": "x"}), environment=environment)
    assert (fault.kind, fault.maybe_billed) == ("refused", False)
    assert words in fault.message
    assert KEY not in fault.message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "The variable ANALYST_URL, the route's base URL, is not set."),
        (f"https://user:{KEY}@models.example/v1", "holds no usable base URL"),
        (f"https://models.example/v1?key={KEY}", "holds no usable base URL"),
        ("models.example", "holds no usable base URL"),
    ],
)
def test_an_unusable_endpoint_is_named_and_not_shown(value: str, words: str) -> None:
    changes: dict[str, Any] = {"endpoint": None, "endpoint_env": "ANALYST_URL"}
    environment = {KEY_VARIABLE: KEY, "ANALYST_URL": value}
    fault = faulted(reply({"content": "x"}), environment=environment, **changes)
    assert fault.kind == "refused"
    assert words in fault.message
    assert KEY not in fault.message
    assert "models.example" not in fault.message


def test_an_endpoint_may_stand_in_the_environment() -> None:
    async def run() -> str:
        async with ChatService((reply({"content": "x"}),)) as service:
            environment = {KEY_VARIABLE: KEY, "ANALYST_URL": f"{service.base_url}/"}
            await ask_at(
                "unused", environment=environment, endpoint=None, endpoint_env="ANALYST_URL"
            )
            return service.requests[0].target

    assert asyncio.run(run()) == "/v1/chat/completions"
