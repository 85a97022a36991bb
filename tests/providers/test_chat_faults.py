"""Every row of providers.md section 4 that one request can meet, over HTTP."""

import asyncio
import socket
from typing import Any

import pytest

from providers.contract import Fault, ProviderFault, Request, UserMessage
from tests.providers.asking import HELLO, KEY_VARIABLE, TOOLS, ask_at, faulted, replied
from tests.providers.chat_service import (
    MODEL,
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


def error_body(message: str, code: str | int | None = None, kind: str = "error_type") -> Any:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "maybe_billed"),
    [
        (302, "refused", False),
        (400, "bad_request", False),
        (401, "refused", False),
        (402, "refused", False),
        (403, "refused", False),
        (404, "refused", False),
        (408, "transient", False),
        (409, "transient", False),
        (413, "too_long", False),
        (422, "bad_request", False),
        (425, "transient", False),
        (429, "transient", False),
        (500, "transient", True),
        (502, "transient", True),
        (503, "transient", False),
        (504, "transient", True),
        (529, "transient", False),
        (599, "transient", True),
    ],
)
def test_a_status_without_a_telling_code(status: int, kind: str, maybe_billed: bool) -> None:
    fault = faulted(refusal(status, error_body("No.")))
    assert (fault.kind, fault.status, fault.maybe_billed) == (kind, status, maybe_billed)
    assert fault.message.startswith(f"HTTP {status}")
    assert "No." in fault.message


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "context_length_exceeded", "too_long"),
        (429, "insufficient_quota", "refused"),
        (400, "Arrearage", "refused"),
        (400, "rate_limit_exceeded", "transient"),
        (429, "RateLimitExceeded.EndpointRPMExceeded", "transient"),
        (404, "model_not_found", "refused"),
        (403, "AccountOverdueError", "refused"),
    ],
)
def test_a_telling_code_outranks_the_status(status: int, code: str, kind: str) -> None:
    fault = faulted(refusal(status, error_body("No.", code)))
    assert (fault.kind, fault.status, fault.code) == (kind, status, code)


def test_a_conversation_that_is_too_long_is_told_with_its_sizes() -> None:
    body = error_body("This model's maximum context length is 131072 tokens.", "bad")
    long = Request("s", (UserMessage("x" * 100_000),) * 3, TOOLS, 2_048)
    fault = faulted(refusal(400, body), request=long)
    assert fault.kind == "too_long"
    assert "131072 tokens" in fault.message
    assert "the request: 300,478 bytes" in fault.message
    assert "3 messages and 2 tools; up to 2,048 output tokens" in fault.message


def test_a_page_of_html() -> None:
    page = "<html><head><title>503</title></head><body><h1>Back soon</h1></body></html>"
    fault = faulted(refusal(503, page, content_type="text/html"))
    assert fault.kind == "transient"
    assert fault.message == "HTTP 503: 503 Back soon"


def test_waits_that_the_service_asks_for() -> None:
    busy = error_body("Slow down.")
    assert faulted(refusal(429, busy)).retry_after_seconds is None
    assert faulted(refusal(429, busy, retry_after="90")).retry_after_seconds == 90
    assert faulted(refusal(429, busy, retry_after_ms="1500")).retry_after_seconds == 1.5
    dated = refusal(
        503,
        busy,
        retry_after="Wed, 21 Oct 2026 07:30:00 GMT",
        date="Wed, 21 Oct 2026 07:28:00 GMT",
    )
    assert faulted(dated).retry_after_seconds == 120


def test_a_refusal_names_the_request() -> None:
    fault = faulted(refusal(500, error_body("No."), x_request_id="req-3"))
    assert fault.request_id == "req-3"


def test_a_refusal_is_not_tried_again() -> None:
    async def run() -> int:
        async with ChatService((refusal(500, error_body("No.")),)) as service:
            with pytest.raises(Exception, match="HTTP 500"):
                await ask_at(service.base_url)
            return len(service.requests)

    assert asyncio.run(run()) == 1


def test_a_redirection_is_not_followed() -> None:
    async def run() -> tuple[Fault, int]:
        async with ChatService((reply({"content": "x"}),)) as elsewhere:
            away = refusal(307, "", location=f"{elsewhere.base_url}/chat/completions")
            async with ChatService((away,)) as service:
                with pytest.raises(ProviderFault) as caught:
                    await ask_at(service.base_url)
            return caught.value.fault, len(elsewhere.requests)

    fault, requests_elsewhere = asyncio.run(run())
    assert (fault.kind, fault.status, requests_elsewhere) == ("refused", 307, 0)


def test_the_body_of_a_refusal_is_bounded() -> None:
    async def endless(_: Received, wire: Wire) -> None:
        await wire.head(500, {"content-type": "text/plain", "transfer-encoding": "chunked"})
        while True:
            await wire.piece(b"x" * 65_536)

    fault = faulted(endless)
    assert fault.kind == "transient"
    assert len(fault.message) <= 600


# --- connections --------------------------------------------------------------------------------


def test_a_port_that_nobody_listens_on() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        fault = faulted(endpoint=url)
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "no_connection", False)


def test_a_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    fault = faulted(endpoint="http://models.example/v1")
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "no_connection", False)
    assert "Name or service not known" in fault.message


def test_a_port_that_speaks_no_tls() -> None:
    def speak_first(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ready\r\n")
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(speak_first, "127.0.0.1", 0)
        async with server:
            await ask_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")

    with pytest.raises(ProviderFault) as caught:
        asyncio.run(run())
    fault = caught.value.fault
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "no_connection", False)
    assert "SSL" in fault.message


def test_a_connection_that_closes_before_the_answer() -> None:
    async def silent(_: Received, wire: Wire) -> None:
        wire.cut()

    fault = faulted(silent)
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "connection_broken", True)


# --- streams ------------------------------------------------------------------------------------


def test_a_stream_cut_in_the_middle() -> None:
    async def cut(_: Received, wire: Wire) -> None:
        await begin(wire)
        await wire.piece(event(chunk({"content": "Hel"})))
        wire.cut()

    fault = faulted(cut)
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "connection_broken", True)


def test_a_stream_cut_after_its_last_word_is_still_cut() -> None:
    async def cut(_: Received, wire: Wire) -> None:
        await begin(wire)
        await wire.piece(event(chunk({"content": "Hello."}, "stop")))
        wire.cut()

    assert faulted(cut).kind == "transient"


@pytest.mark.parametrize("done", [True, False])
def test_a_stream_that_ends_without_a_reason_to_stop(done: bool) -> None:
    fault = faulted(stream(chunk({"content": "Hel"}), done=done))
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "stream_cut", True)


def test_an_empty_stream() -> None:
    assert faulted(stream(done=False)).code == "stream_cut"


@pytest.mark.parametrize("word", ["error", "insufficient_system_resource", "network_error"])
def test_a_service_that_gives_up_inside_its_reply(word: str) -> None:
    fault = faulted(reply({"content": "Hel"}, finish=word))
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", word, True)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (error_body("Overloaded.", "server_error"), "transient", "server_error"),
        (error_body("Broke.", 502), "transient", "502"),
        (error_body("Slow down.", 429), "transient", "429"),
        (error_body("No credit.", "insufficient_quota"), "refused", "insufficient_quota"),
        (error_body("No credit.", 402), "refused", "402"),
        (error_body("Too long.", "context_length_exceeded"), "too_long", "context_length_exceeded"),
        (error_body("Bad.", None, "invalid_request_error"), "bad_request", "invalid_request_error"),
        (error_body("What?", "brand_new"), "transient", "brand_new"),
        ({"error": "plain words"}, "transient", None),
        ({"object": "error", "message": "x", "code": 400}, "bad_request", "400"),
        ({"code": "Throttling", "message": "x", "request_id": "r"}, "transient", "Throttling"),
        (
            event({"message": "x", "type": "overloaded_error"}, "error"),
            "transient",
            "overloaded_error",
        ),
        (
            chunk(choices=[{"index": 0, "error": {"code": 502, "message": "x"}, "delta": {}}]),
            "transient",
            "502",
        ),
    ],
)
def test_an_error_inside_the_stream_is_what_its_code_says(
    error: Any, kind: str, code: str | None
) -> None:
    fault = faulted(stream(chunk({"content": "Hel"}), error))
    assert (fault.kind, fault.code, fault.status) == (kind, code, None)
    assert fault.maybe_billed
    assert "inside the stream" in fault.message


def test_an_error_object_instead_of_a_stream() -> None:
    fault = faulted(refusal(200, error_body("No credit.", "insufficient_quota")))
    assert fault.kind == "refused"


def test_a_document_instead_of_a_stream() -> None:
    body = {"object": "chat.completion", "choices": []}
    fault = faulted(refusal(200, body, content_type="application/json"))
    assert (fault.kind, fault.maybe_billed) == ("protocol", True)
    assert "not a stream" in fault.message


@pytest.mark.parametrize(
    "content_type", ["text/html; charset=utf-8", "TEXT/HTML", "application/xhtml+xml"]
)
def test_a_page_instead_of_a_stream_is_a_wrong_address(content_type: str) -> None:
    body = "<html>Sign in to the network</html>"
    fault = faulted(refusal(200, body, content_type=content_type))
    assert (fault.kind, fault.code, fault.maybe_billed) == ("refused", "web_page", True)
    assert "not a stream: Sign in to the network" in fault.message
    assert "Look at the base URL" in fault.message


@pytest.mark.parametrize(
    "item", ["{broken", "[1]", '"text"', {"model": MODEL, "choices": {}}, b"data: \xff\n\n"]
)
def test_what_is_no_chunk(item: Any) -> None:
    fault = faulted(stream(item))
    assert (fault.kind, fault.maybe_billed) == ("protocol", True)


# --- identity -----------------------------------------------------------------------------------


def test_another_model_is_refused_before_the_reply_goes_on() -> None:
    async def endless(_: Received, wire: Wire) -> None:
        await begin(wire)
        await wire.piece(event(chunk({"content": "x"}, model="analyst-mini")))
        await wire.hung_up()

    fault = faulted(endless, accepted_aliases=["analyst-1-0601"])
    assert (fault.kind, fault.maybe_billed) == ("identity", True)
    assert f'"{MODEL}"' in fault.message
    assert '"analyst-1-0601"' in fault.message
    assert '"analyst-mini"' in fault.message


def test_a_model_that_changes_inside_the_stream() -> None:
    fault = faulted(stream(chunk({"content": "x"}), chunk({}, "stop", model="other")))
    assert fault.kind == "identity"


@pytest.mark.parametrize("model", [None, "", 7])
def test_a_model_that_does_not_say_who_it_is(model: Any) -> None:
    fault = faulted(reply({"content": "x"}, model=model))
    assert (fault.kind, fault.code) == ("identity", "model_missing")


# --- access -------------------------------------------------------------------------------------


def test_a_missing_key_is_refused_before_anything_is_sent() -> None:
    async def run() -> int:
        async with ChatService((reply({"content": "x"}),)) as service:
            with pytest.raises(Exception, match=f"refused: Neither the variable {KEY_VARIABLE}"):
                await ask_at(service.base_url, HELLO, environment={})
            return len(service.requests)

    assert asyncio.run(run()) == 0


def test_usage_may_come_with_the_last_words() -> None:
    answer = replied(stream(chunk({"content": "x"}, "stop", usage=usage_chunk()["usage"])))
    assert answer.usage is not None
