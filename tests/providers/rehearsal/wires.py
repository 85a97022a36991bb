"""Plain requests over each protocol of the gateway, and how they are written."""

import json
from typing import Any

import httpx2

from providers.rehearsal import RunningGateway
from tests.providers.rehearsal.client import BRIEFING
from tests.providers.rehearsal.windows import TOOLS

ADDRESSES = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
ANALYST = "rehearsal-analyst"
Wire = dict[str, Any]


def post(gateway: RunningGateway, protocol: str, body: Any, **headers: str) -> httpx2.Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {
        "authorization": "Bearer rehearsal",
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
    }
    return httpx2.post(
        gateway.base_url + ADDRESSES[protocol], content=raw, headers=usual | headers, timeout=60
    )


def messages_body(**changes: Any) -> Wire:
    body = {
        "model": ANALYST,
        "max_tokens": 4_096,
        "messages": [{"role": "user", "content": BRIEFING}],
        **changes,
    }
    return {key: value for key, value in body.items() if value is not ...}


def responses_body(**changes: Any) -> Wire:
    body = {"model": ANALYST, "input": BRIEFING, "store": False, **changes}
    return {key: value for key, value in body.items() if value is not ...}


def responses_tools() -> list[Wire]:
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in TOOLS
    ]


def messages_tools() -> list[Wire]:
    return [{"name": tool.name, "input_schema": tool.parameters} for tool in TOOLS]
