"""What vendors' refusals mean (providers.md section 4), in the words the vendors use."""

from datetime import UTC, datetime
from typing import Any

import pytest

from providers.faults import (
    LONGEST_MESSAGE,
    Scrub,
    error_in,
    fault_of,
    request_id,
    retry_after,
    vendor_error,
)

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


def kind_of(status: int | None, error: Any) -> str:
    found = fault_of(error_in({"error": error}), status, headers={}, now=NOW, scrub=Scrub())
    return found.kind


# --- meaning ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        # OpenAI
        (400, {"code": "context_length_exceeded", "type": "invalid_request_error"}, "too_long"),
        (401, {"code": "invalid_api_key", "type": "invalid_request_error"}, "refused"),
        (404, {"code": "model_not_found", "type": "invalid_request_error"}, "refused"),
        (429, {"code": "rate_limit_exceeded", "type": "tokens"}, "transient"),
        (429, {"code": "insufficient_quota", "type": "insufficient_quota"}, "refused"),
        (400, {"code": "billing_hard_limit_reached"}, "refused"),
        (400, {"code": None, "type": "invalid_request_error", "param": "tools"}, "bad_request"),
        (500, {"code": None, "type": "server_error"}, "transient"),
        # DeepSeek
        (402, {"code": "invalid_request_error", "message": "Insufficient Balance"}, "refused"),
        (
            400,
            {
                "code": "invalid_request_error",
                "message": "This model's maximum context length is 131072 tokens. However, you"
                " requested 140000 tokens.",
            },
            "too_long",
        ),
        (422, {"code": "invalid_request_error"}, "bad_request"),
        # DashScope
        (400, {"code": "Arrearage", "message": "Access denied"}, "refused"),
        (429, {"code": "limit_requests", "type": "limit_requests"}, "transient"),
        (429, {"code": "Throttling.AllocationQuota"}, "transient"),
        (
            400,
            {
                "code": "invalid_parameter_error",
                "message": "<400> Range of input length should be [1, 129024]",
            },
            "too_long",
        ),
        (400, {"code": "data_inspection_failed"}, "bad_request"),
        # Volcengine
        (403, {"code": "AccountOverdueError", "type": "Forbidden"}, "refused"),
        (429, {"code": "RateLimitExceeded.EndpointTPMExceeded"}, "transient"),
        (429, {"code": "ServerOverloaded"}, "transient"),
        (429, {"code": "SetLimitExceeded"}, "refused"),
        # Gemini
        (429, {"code": 429, "status": "RESOURCE_EXHAUSTED"}, "transient"),
        (402, {"code": 402, "status": "RESOURCE_EXHAUSTED"}, "refused"),
        (
            400,
            {
                "code": 400,
                "status": "INVALID_ARGUMENT",
                "message": "The input token count (1048577) exceeds the maximum number of tokens"
                " allowed (1048576).",
            },
            "too_long",
        ),
        (403, {"code": 403, "status": "PERMISSION_DENIED"}, "refused"),
        # Moonshot
        (429, {"type": "exceeded_current_quota_error"}, "refused"),
        (429, {"type": "engine_overloaded_error"}, "transient"),
        # Anthropic
        (529, {"type": "overloaded_error"}, "transient"),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 1 > 0"},
            "too_long",
        ),
        (413, {"type": "request_too_large"}, "too_long"),
        # The wording alone never outranks a status that says something else.
        (500, {"message": "maximum context length"}, "transient"),
        (401, {"message": "maximum context length"}, "refused"),
        # Inside a stream
        (None, {"code": 429}, "transient"),
        (None, {"code": "503"}, "transient"),
        (None, {"code": 401}, "refused"),
        (None, {"type": "invalid_request_error"}, "bad_request"),
        (None, {"message": "maximum context length"}, "too_long"),
        (None, {}, "transient"),
    ],
)
def test_errors_as_vendors_word_them(status: int | None, error: Any, kind: str) -> None:
    assert kind_of(status, error) == kind


@pytest.mark.parametrize(
    ("body", "codes", "message"),
    [
        (b'{"error":{"message":"m","code":"c","type":"t"}}', ("c", "t"), "m"),
        (b'[{"error":{"message":"m","code":400,"status":"S"}}]', ("400", "S"), "m"),
        (b'{"error":"m","code":"c"}', ("c",), "m"),
        (b'{"object":"error","message":"m","code":40001}', ("40001",), "m"),
        (b'{"detail":"m"}', (), "m"),
        (b'{"detail":[{"loc":["body"]}]}', (), "[{'loc': ['body']}]"),
        (b'{"type":"error","error":{"type":"t","message":"m"}}', ("t",), "m"),
        (b'{"error":null,"message":"m"}', (), "m"),
        (b"<html>\n<h1>Bad  gateway</h1></html>", (), "Bad gateway"),
        (b"upstream \xff failed", (), "upstream \ufffd failed"),
        (b"", (), ""),
        (b"{}", (), ""),
        (b"[]", (), ""),
        (b'"m"', (), "m"),
        (b"null", (), ""),
        (b'{"error":[1]}', (), "[1]"),
    ],
)
def test_error_bodies_of_every_shape(body: bytes, codes: tuple[str, ...], message: str) -> None:
    error = vendor_error(body)
    assert (error.codes, error.message) == (codes, message)


def test_a_refusal_without_a_message_still_makes_a_sentence() -> None:
    found = fault_of(vendor_error(b""), 500, headers={}, now=NOW, scrub=Scrub())
    assert found.message == "HTTP 500, without a message."


# --- waits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "120"}, 120.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "86400"}, 86_400.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "2500", "retry-after": "1"}, 2.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:30:00 GMT"}, 120.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:00:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:30:00"}, 120.0),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 09:30:00 GMT",
                "date": "Wed, 21 Oct 2026 09:29:00 GMT",
            },
            60.0,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": ""}, None),
    ],
)
def test_waits_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_a_wait_inside_the_error_object() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    error = error_in({"error": {"code": 429, "details": [{"x": 1}, *details]}})
    found = fault_of(error, 429, headers={}, now=NOW, scrub=Scrub())
    assert found.retry_after_seconds == 34.5


def test_the_first_header_that_names_the_request() -> None:
    assert request_id({"x-request-id": "a", "request-id": "b"}, Scrub()) == "a"
    assert request_id({"request-id": "b"}, Scrub()) == "b"
    assert request_id({}, Scrub()) is None


# --- text ---------------------------------------------------------------------------------------


def test_secrets_are_taken_out_the_longest_first() -> None:
    scrub = Scrub(["abcd", "abcdefgh", ""])
    assert scrub("key abcdefgh or abcd") == "key [hidden] or [hidden]"


@pytest.mark.parametrize(
    "text", ["Bearer abc.def-ghi", "authorization: Basic QWxhZGRpbg==", "sk-proj-abcdef012345"]
)
def test_what_looks_like_a_credential_is_taken_out_unasked(text: str) -> None:
    assert "[hidden]" in Scrub()(text)
    assert text.rsplit(maxsplit=1)[-1] not in Scrub()(text)


def test_text_is_bounded_and_printable() -> None:
    text = Scrub()("a\x00b\x1b[31m\n c\ud83d" + "x" * 10_000)
    assert len(text) == LONGEST_MESSAGE
    assert text.isprintable()
    text.encode()
