"""The audit trace and its limits, which the conversation does not have."""

import json
from typing import Any

import msgspec
import pytest

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.events import Answered, Event, ToolReceipt
from orchestrator.session.trace import EVENT_BYTES, TRACE_BYTES, trace_lines
from providers.contract import AssistantMessage, ToolCall, ToolResult
from tests.orchestrator.session.attempts import SEAL, Attempt, call, reply
from tests.orchestrator.session.test_state import EVERY_KIND


def receipt(text: str) -> ToolReceipt:
    return ToolReceipt(1.0, "a", "read_file", text, ok=True)


def traced(*events: Event) -> list[dict[str, Any]]:
    lines = list(trace_lines(events))
    assert all(len(line) <= EVENT_BYTES for line in lines)
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert sum(map(len, lines)) <= TRACE_BYTES
    return [json.loads(line) for line in lines]


def test_every_event_is_a_line_with_its_kind_and_its_time() -> None:
    found = traced(*EVERY_KIND)
    assert len(found) == len(EVERY_KIND)
    for line, event in zip(found, EVERY_KIND, strict=True):
        assert line["kind"] == event.__struct_config__.tag
        assert line["active_seconds"] == event.active_seconds
        assert "cut" not in line


@pytest.mark.parametrize("character", ["x", "é", "\U0001f600", "\n", "\ud83d"])
def test_a_long_text_is_cut_and_says_so(character: str) -> None:
    (line,) = traced(receipt(character * 200_000))
    kept, _, mark = line["text"].partition("[... ")
    assert kept
    assert set(kept) == {character}
    assert mark == f"{200_000 - len(kept)} characters cut]"
    assert line["cut"]["bytes"] > 200_000
    assert line["cut"]["digest"].startswith("sha256:")
    assert (line["kind"], line["call_id"], line["ok"]) == ("tool_receipt", "a", True)


def test_an_event_at_the_limit_is_whole_and_one_byte_more_is_not() -> None:
    empty = len(next(trace_lines([receipt("")])))
    (whole,) = traced(receipt("x" * (EVENT_BYTES - empty)))
    assert "cut" not in whole
    (cut,) = traced(receipt("x" * (EVENT_BYTES - empty + 1)))
    assert "cut" in cut


def test_an_event_of_very_many_texts_keeps_its_kind() -> None:
    calls = tuple(ToolCall(str(number), "fly", "{}") for number in range(20_000))
    (line,) = traced(Answered(2.0, 1, reply(*calls)))
    assert line.keys() == {"kind", "active_seconds", "cut"}


def test_a_long_trace_ends_with_what_is_left_out() -> None:
    events = [receipt("x" * 60_000)] * 400
    *lines, last = traced(*events)
    assert last["kind"] == "trace_cut"
    assert len(lines) + last["events_left_out"] == 400
    assert len(lines) > 250


def test_limits_of_the_trace_do_not_touch_the_conversation() -> None:
    """A window whose every text is far beyond the limits is sent, journaled and sealed whole."""
    content = "".join(f"{number:048}\n" for number in range(15_000))
    write = call("write_file", path="long.md", content=content)
    long = msgspec.structs.replace(reply(write, tag="w"), native=f'"{"y" * 300_000}"')
    reads = [reply(call("read_file", path="long.md"), tag=f"r{n}") for n in range(25)]
    attempt = Attempt([long, *reads, reply(SEAL)])
    status, state = attempt.play()
    assert status is CompanyWindowStatus.SEALED
    events = attempt.journal.load()
    lines = traced(*events)
    assert any("cut" in line for line in lines)

    # The same conversation, to the last character, was sent and can be restored from the journal.
    results = [event.text for event in events if isinstance(event, ToolReceipt)]
    last = attempt.model.asked[-1].messages
    assert AssistantMessage(long.native) in last
    assert [each.text for each in last if isinstance(each, ToolResult)] == results[:-1]
    assert max(map(len, results)) > EVENT_BYTES
    assert Attempt(journal=attempt.journal).play()[1].messages == state.messages
