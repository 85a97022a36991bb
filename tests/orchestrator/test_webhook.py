"""A webhook against real HTTP servers: what arrives, how often it is tried, what never fails."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from tenacity import wait_none

from orchestrator.webhook import URL_VARIABLE, Rest, Webhook

REST = Rest(
    campaign="trial",
    run="trial-11-reference",
    status="stopped",
    reason="its host died",
    day=14,
    at="2026-01-02T03:04:05+00:00",
)


@contextmanager
def receiver(*answers: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of a server that gives these answers, the last one for ever, and what it was sent."""
    received: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/json"
            received.append(json.loads(body))
            self.send_response(answers[min(len(received), len(answers)) - 1])
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as http.server has it
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/hook?key=secret", received
        finally:
            server.shutdown()


def tell(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    async def told() -> None:
        webhook = Webhook(wait_none())
        webhook.tell(REST)
        await webhook.close()

    monkeypatch.setenv(URL_VARIABLE, url)
    asyncio.run(told())


@pytest.mark.parametrize(
    ("answers", "times"),
    [((200,), 1), ((500, 429, 204), 3), ((503,), 4), ((404,), 1), ((302,), 1)],
)
def test_a_rest_is_sent_until_it_is_taken_refused_or_tried_often_enough(
    answers: tuple[int, ...], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver(*answers) as (url, received):
        tell(monkeypatch, url)
    assert (
        received
        == [
            {
                "campaign": "trial",
                "run": "trial-11-reference",
                "status": "stopped",
                "reason": "its host died",
                "day": 14,
                "at": "2026-01-02T03:04:05+00:00",
            }
        ]
        * times
    )


def test_nobody_there_and_what_is_no_url_harm_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        # Bound, but nobody listens.
        taken.bind(("127.0.0.1", 0))
        tell(monkeypatch, f"http://127.0.0.1:{taken.getsockname()[1]}/hook")
    for url in ("nonsense", "ftp://127.0.0.1/", "http://[::1", ""):
        tell(monkeypatch, url)
