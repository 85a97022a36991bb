"""Addresses and keys."""

from pathlib import Path

import httpx2
import pytest
from openai import AuthenticationError, NotFoundError, OpenAI
from pydantic import SecretStr

from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from tests.providers.rehearsal.client import body, post, sdk

KEY = "canary-key-5f1c"


@pytest.mark.parametrize("authorization", ["", "Bearer", "Basic abc", "Bearer a b"])
def test_a_request_needs_a_key(gateway: RunningGateway, authorization: str) -> None:
    response = post(gateway.base_url, body(), authorization=authorization)
    assert response.status_code == 401
    assert "API key" in response.json()["error"]["message"]
    listed = httpx2.get(f"{gateway.base_url}/models", headers={"authorization": authorization})
    assert listed.status_code == 401


def test_any_key_will_do_unless_one_is_set(gateway: RunningGateway) -> None:
    for key in ("a", "sk-other", "b" * 300):
        assert post(gateway.base_url, body(), authorization=f"bearer {key}").status_code == 200


def test_a_gateway_may_do_without_keys() -> None:
    with start_gateway(GatewayOptions(needs_key=False)) as gateway:
        assert post(gateway.base_url, body(), authorization="").status_code == 200
    keyed = GatewayOptions(needs_key=False, api_key=SecretStr(KEY))
    with start_gateway(keyed) as gateway:
        assert post(gateway.base_url, body(), authorization="").status_code == 401


def test_a_set_key_is_asked_for_and_never_shown() -> None:
    with start_gateway(GatewayOptions(api_key=SecretStr(KEY))) as gateway:
        with sdk(gateway.base_url, KEY) as client:
            assert client.chat.completions.create(**body()).choices
        for wrong in ("wrong", KEY + "x"):
            response = post(gateway.base_url, body(), authorization=f"Bearer {wrong}")
            assert response.status_code == 401
            assert response.json()["error"]["code"] == "invalid_api_key"
            assert KEY not in response.text
        with sdk(gateway.base_url, "wrong") as client, pytest.raises(AuthenticationError):
            client.models.list()
        process = Path(f"/proc/{gateway.process.pid}")
        if process.exists():
            shown = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            assert KEY.encode() not in shown


def test_an_unknown_address_is_said_to_be_one(gateway: RunningGateway, client: OpenAI) -> None:
    root = gateway.base_url.removesuffix("/v1")
    for address in ("/v1/chat", "/v1/completions", "/", "/chat/completions"):
        response = httpx2.post(root + address, json={})
        assert response.status_code == 404
        assert response.json()["error"]["message"] == f"Invalid URL (POST {address})"
    assert httpx2.get(f"{gateway.base_url}/chat/completions").status_code == 405
    with pytest.raises(NotFoundError):
        client.models.retrieve("gpt-6-astra")
