"""The bounds of size and time that hold for every Chat reply."""

import asyncio

import pytest

from providers import replying, sse
from providers.transport import Deadlines
from tests.providers.asking import faulted, replied
from tests.providers.chat_service import (
    Answer,
    Received,
    Wire,
    begin,
    chunk,
    event,
    reply,
)

# --- bounds -------------------------------------------------------------------------------------


def test_huge_arguments_are_cut_on_arrival_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replying, "LARGEST_ARGUMENTS_BYTES", 1_000)
    fragment = {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 300}}]}
    first = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": ""}}]}
    answer = replied(reply(first, *[fragment] * 10, finish="tool_calls"))
    (call,) = answer.tool_calls
    assert call.cut
    assert 900 < len(call.arguments) <= 1_000
    assert len(answer.native) < 1_200


def test_a_reply_beyond_any_ceiling_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replying, "LARGEST_REPLY_BYTES", 10_000)

    async def endless(_: Received, wire: Wire) -> None:
        await begin(wire)
        while True:
            await wire.piece(event(chunk({"content": "x" * 1_000})))

    fault = faulted(endless)
    assert (fault.kind, fault.maybe_billed) == ("protocol", True)
    assert "larger than any route's ceiling" in fault.message


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT_BYTES", 100_000)

    async def endless(_: Received, wire: Wire) -> None:
        await begin(wire)
        while True:
            await wire.piece(b"data: " + b"x" * 10_000)

    assert faulted(endless).kind == "protocol"


# --- deadlines ----------------------------------------------------------------------------------


async def _stall(_: Received, wire: Wire) -> None:
    await begin(wire)
    await wire.piece(event(chunk({"content": "x"})))
    await wire.hung_up()


async def _stall_before_the_head(_: Received, wire: Wire) -> None:
    await wire.hung_up()


async def _drip(_: Received, wire: Wire) -> None:
    await begin(wire)
    while True:
        await wire.piece(b": keep-alive\n\n")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("answer", [_stall, _stall_before_the_head])
def test_a_stream_that_stalls_is_given_up(answer: Answer) -> None:
    fault = faulted(answer, deadlines=Deadlines(idle=0.1))
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "timeout", True)
    assert "nothing arrived" in fault.message


def test_a_stream_that_only_keeps_alive_is_given_up() -> None:
    fault = faulted(_drip, deadlines=Deadlines(overall=0.2))
    assert (fault.kind, fault.code) == ("transient", "timeout")
    assert "took too long" in fault.message


def test_the_time_that_is_left_bounds_the_request() -> None:
    assert faulted(_drip, within_seconds=0.2).code == "timeout"


def test_without_time_nothing_is_sent() -> None:
    fault = faulted(_drip, within_seconds=0.0)
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "timeout", False)
