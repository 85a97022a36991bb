"""What the gateway counts, so that a repeat cannot hide."""

import http.client
import json
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from manifests.errors import InputError
from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from providers.rehearsal.statistics import Entry, Statistics
from tests.patience import until
from tests.providers.rehearsal.client import body, opening, post


def test_repeats_are_counted_by_what_was_asked() -> None:
    with start_gateway() as gateway:
        for briefing, stream in (("Day 7.", True), ("Day 14.", True), ("Day 7.", False)):
            post(gateway.base_url, body(messages=opening(briefing), stream=stream))
        post(gateway.base_url, body("rehearsal-trader", messages=opening("Day 7.")))
        found = gateway.statistics()
        assert found["requests"] == found["replies"] == 4
        assert found["distinct_requests"] == 3
        assert found["repeated_requests"] == found["repeated_replies"] == 1
        assert list(found["repeats"].values()) == [{"requests": 2, "replies": 2}]
        assert found["models"] == {
            "rehearsal-analyst": {"requests": 3, "replies": 3},
            "rehearsal-trader": {"requests": 1, "replies": 1},
        }


def test_what_decides_no_reply_makes_no_difference() -> None:
    with start_gateway() as gateway:
        post(gateway.base_url, body())
        post(gateway.base_url, dict(reversed(body(user="somebody", stream=True).items())))
        assert gateway.statistics()["distinct_requests"] == 1
        post(gateway.base_url, body(tools=body()["tools"][:3]))
        assert gateway.statistics()["distinct_requests"] == 2


def test_repeats_are_counted_by_the_names_that_clients_give() -> None:
    with start_gateway() as gateway:
        for name in ("run-1/7/2/1", "run-2/7/2/1", "run-1/7/2/1"):
            post(gateway.base_url, body(), **{"x-client-request-id": name})
        post(gateway.base_url, body())
        found = gateway.statistics()
        assert found["named_requests"] == 3
        assert found["repeated_requests_by_name"] == found["repeated_replies_by_name"] == 1
        assert found["repeats_by_name"] == {"run-1/7/2/1": {"requests": 2, "replies": 2}}


def test_refusals_are_counted_apart() -> None:
    with start_gateway() as gateway:
        post(gateway.base_url, body(top_k=1))
        post(gateway.base_url, body("gpt-6-astra"))
        post(gateway.base_url, body(), authorization="")
        found = gateway.statistics()
        assert found["refusals"] == {"400": 1, "401": 1, "404": 1}
        assert found["requests"] == found["in_flight"] == 0


def wait_for_in_flight(gateway: RunningGateway, count: int) -> None:
    until(lambda: gateway.statistics()["in_flight"] == count)


def test_all_requests_of_a_crowd_are_in_flight_at_once() -> None:
    crowd = 48
    content = json.dumps(body(stream=True)).encode()
    headers = {"authorization": "Bearer k", "content-type": "application/json"}
    with start_gateway(GatewayOptions(reply_delay_seconds=3_600.0)) as gateway:
        address = urlsplit(gateway.base_url)
        connections = [
            http.client.HTTPConnection(address.hostname or "", address.port) for _ in range(crowd)
        ]
        for connection in connections:
            connection.request("POST", "/v1/chat/completions", content, headers)
        wait_for_in_flight(gateway, crowd)
        for connection in connections:
            connection.close()
        wait_for_in_flight(gateway, 0)
        found = gateway.statistics()
        assert found["requests"] == found["peak_in_flight"] == crowd
        assert found["replies"] == 0


@pytest.mark.parametrize(
    "options",
    [GatewayOptions(reply_delay_seconds=3_600.0), GatewayOptions(stream_seconds=3_600.0)],
    ids=["before the reply", "within the stream"],
)
def test_a_reply_that_nobody_waits_for_is_given_up(options: GatewayOptions) -> None:
    with start_gateway(options) as gateway:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(
                f"{gateway.base_url}/chat/completions",
                json=body(stream=True),
                headers={"authorization": "Bearer k"},
                timeout=0.5,
            )
        wait_for_in_flight(gateway, 0)
        found = gateway.statistics()
        assert found["requests"] == 1
        assert found["replies"] == 0


def test_a_ledger_outlives_its_gateway(tmp_path: Path) -> None:
    options = GatewayOptions(ledger=tmp_path / "ledger.jsonl")
    with start_gateway(options) as gateway:
        post(gateway.base_url, body(), **{"x-client-request-id": "one"})
        os.kill(gateway.process.pid, signal.SIGKILL)
    with start_gateway(options) as gateway:
        post(gateway.base_url, body(), **{"x-client-request-id": "one"})
        found = gateway.statistics()
        assert found["requests"] == found["replies"] == 2
        assert found["repeats_by_name"] == {"one": {"requests": 2, "replies": 2}}


@pytest.mark.parametrize("torn", [b"{", b'{"event":"asked","mod'])
def test_a_line_that_was_cut_off_was_never_counted(torn: bytes, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    first = Statistics(ledger)
    first.note(Entry("asked", "m", "1"))
    first.close()
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + torn)
    again = Statistics(ledger)
    assert again.report()["requests"] == 1
    again.note(Entry("asked", "m", "2"))
    again.close()
    assert ledger.read_bytes().startswith(whole)
    assert Statistics(ledger).report()["requests"] == 2


@pytest.mark.parametrize("text", ["# Notes", "{}", '{"event":"asked","model":"m","digest":"1"}\nx'])
def test_the_end_of_a_file_that_is_no_ledger_is_kept_too(text: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(text)
    with pytest.raises(InputError, match="not an entry"):
        Statistics(file)
    assert file.read_text() == text


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n")
    with pytest.raises(InputError, match=r"notes\.md, line 1: not an entry"):
        Statistics(file)
    assert file.read_text() == "# Notes\n"
    with pytest.raises(InputError, match="cannot use its ledger"):
        Statistics(tmp_path / "missing" / "ledger.jsonl")


def test_shown_repeats_are_bounded_and_counted_in_full(tmp_path: Path) -> None:
    statistics = Statistics(tmp_path / "ledger.jsonl")
    for _ in range(2):
        for number in range(1_200):
            statistics.note(Entry("asked", "m", str(number)))
    found = statistics.report()
    statistics.close()
    assert found["repeated_requests"] == 1_200
    assert len(found["repeats"]) == 1_000


def test_statistics_are_those_of_this_gateway(gateway: RunningGateway) -> None:
    before = gateway.statistics()["requests"]
    post(gateway.base_url, body())
    assert gateway.statistics()["requests"] == before + 1
