"""Which variables routes need, and which key a reply came under."""

import asyncio
import json

import pytest

from providers.access import Access, missing_variables
from tests.providers.asking import KEY, ask_at, replied, route
from tests.providers.chat_service import HELLO_REPLY, ChatService, Received
from tests.providers.recorded import recorded


def test_every_variable_that_holds_nothing_is_named_once() -> None:
    routes = [
        route(endpoint=None, endpoint_env="A_URL", credentials=["A_KEY"]),
        route(endpoint=None, endpoint_env="A_URL", credentials=["B_KEY"]),
        route(endpoint=None, endpoint_env="C_URL", credentials=["C_KEY"]),
        route(credentials="no key"),
    ]
    assert missing_variables(routes, {}) == ["A_URL", "A_KEY", "B_KEY", "C_URL", "C_KEY"]
    some = {"A_URL": "http://x", "A_KEY": "  ", "B_KEY_FILE": "/a/file", "C_KEY": "k"}
    assert missing_variables(routes, some) == ["A_KEY", "C_URL"]


def test_a_mark_tells_keys_apart_and_nothing_else() -> None:
    marks = {Access("http://x", key).key_mark for key in ("one", "two", KEY)}
    assert len(marks) == 3
    assert {len(mark or "") for mark in marks} == {6}
    assert Access("http://x", KEY).key_mark == Access("http://y", KEY).key_mark
    assert Access("http://x", None).key_mark is None
    assert replied(HELLO_REPLY).key_mark == Access("http://x", KEY).key_mark


def test_settings_for_the_library_of_messages_do_not_reach_a_vendor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "PROFILE", "WEBHOOK_SIGNING_KEY", "ORGANIZATION_ID"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "stray")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/stray")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Stray: stray\nAuthorization: Bearer stray")

    async def run() -> tuple[Received, Received]:
        async with ChatService((recorded("messages_tool_use"),)) as service:
            await ask_at(service.base_url, protocol="messages")
            root = service.base_url.removesuffix("/v1")
            await ask_at(root, protocol="messages", credentials="no key", environment={})
            return service.requests[0], service.requests[1]

    keyed, keyless = asyncio.run(run())
    assert "stray" not in json.dumps([keyed.headers, keyless.headers]).lower()
    assert keyed.headers["authorization"] == f"Bearer {KEY}"
    assert keyed.headers["anthropic-version"] == "2023-06-01"
    assert not {"authorization", "x-api-key"} & keyless.headers.keys()
    # With the version in the base URL or without it, the address is the same.
    assert keyed.target == keyless.target == "/v1/messages"
