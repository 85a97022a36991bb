"""A state is the fold of its events, and events survive their journaled form."""

from typing import Final

import msgspec
import pytest

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import Use
from orchestrator.session.draft import ProductChange
from orchestrator.session.events import (
    Answered,
    Asked,
    Closed,
    Corrected,
    Event,
    Failed,
    FinalizationBegan,
    Halted,
    Interrupted,
    Resumed,
    ToolReceipt,
    WaitBegan,
    WaitEnded,
    WindowOpened,
    decode_event,
    encode_event,
    kind_of,
)
from orchestrator.session.files import FileChange, PrivateFiles
from orchestrator.session.state import Counts, SessionState, apply, fold
from providers.contract import AssistantMessage, ToolResult, UserMessage
from providers.retry import Tally
from tests.orchestrator.session.attempts import (
    BAD_REQUEST,
    PREVIEW,
    PRICE,
    SEAL,
    STANDARD,
    TRANSIENT,
    UNREADABLE,
    call,
    reply,
)

OPENED: Final = WindowOpened(0.0, "sha256:a", "sha256:b", "Day 0.", STANDARD)
PRICED: Final = ToolReceipt(
    3.0, "a-1", "set_product", "{}", True, ProductChange("A", price_cents=7)
)
WROTE: Final = ToolReceipt(
    4.0, "a-2", "write_file", "{}", True, None, FileChange("MEMORY.md", 1, "x")
)
EVERY_KIND: Final[tuple[Event, ...]] = (
    OPENED,
    Asked(0.5, 1, "sha256:c", 1_024),
    Failed(1.0, 1, BAD_REQUEST),
    WaitBegan(1.0, 1.7e9, 1.0, "Unknown field."),
    WaitEnded(2.0),
    Asked(2.0, 2, "sha256:c", 1_024),
    Interrupted(2.5, 2),
    Asked(2.5, 3, "sha256:c", 1_024),
    Answered(3.0, 3, reply(PRICE, call("write_file", path="MEMORY.md", content="x"), tag="a")),
    PRICED,
    WROTE,
    FinalizationBegan(4.0, "so be it", "Finalization has begun."),
    Asked(4.0, 4, "sha256:d", 1_024),
    Answered(5.0, 4, reply(text="hm", tag="b")),
    Corrected(5.0, "No call."),
    Asked(5.0, 5, "sha256:e", 1_024),
    Failed(6.0, 5, TRANSIENT),
    Halted(6.0, "for a test"),
    Resumed(6.0),
    Asked(6.0, 6, "sha256:e", 1_024),
    Answered(7.0, 6, reply(SEAL, tag="c")),
    ToolReceipt(7.0, "c-1", "seal_decision", "{}", True, seals=True),
    Closed(7.0, CompanyWindowStatus.SEALED, "sealed"),
)


@pytest.mark.parametrize("event", EVERY_KIND, ids=kind_of)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    assert decode_event(encode_event(event)) == event
    assert type(decode_event(encode_event(event))) is type(event)


def test_there_is_an_event_of_every_kind_here() -> None:
    assert {type(event) for event in EVERY_KIND} == set(Event.__args__)


def test_a_field_that_an_event_does_not_have_is_refused() -> None:
    raw = msgspec.msgpack.decode(encode_event(WaitEnded(2.0)))
    with pytest.raises(msgspec.DecodeError):
        decode_event(msgspec.msgpack.encode([*raw, "more"]))


def test_a_window_in_full() -> None:
    state = fold(PrivateFiles(), EVERY_KIND)
    assert [type(message) for message in state.messages] == [
        *(UserMessage, AssistantMessage, ToolResult, ToolResult, UserMessage),
        *(AssistantMessage, UserMessage, AssistantMessage, ToolResult),
    ]
    assert state.use == Use(replies=3, output_tokens=300, final_replies=2, seconds=7.0)
    assert state.counts == Counts(
        input_tokens=3_000,
        cached_input_tokens=2_700,
        output_tokens=300,
        reasoning_tokens=150,
        tool_calls=3,
        possibly_billed=1,
        faults=2,
    )
    assert state.draft.products["A"].price_cents == 7
    assert state.files.read("MEMORY.md").content == "x"
    assert state.seals
    assert state.closed == EVERY_KIND[-1]
    assert not state.failing
    assert state.tally == Tally()


def test_a_fold_in_two_parts_is_the_fold() -> None:
    for place in range(len(EVERY_KIND)):
        state = fold(PrivateFiles(), EVERY_KIND[:place])
        for event in EVERY_KIND[place:]:
            state = apply(state, event)
        assert state == fold(PrivateFiles(), EVERY_KIND)


def test_active_time_never_runs_back() -> None:
    state = fold(PrivateFiles(), [OPENED, Asked(9.0, 1, "", 1), Failed(4.0, 1, TRANSIENT)])
    assert state.use.seconds == 9.0


def test_pending_calls_shrink_receipt_by_receipt() -> None:
    answered = fold(PrivateFiles(), EVERY_KIND[:9])
    assert [each.call_id for each in answered.pending] == ["a-1", "a-2"]
    assert [each.call_id for each in apply(answered, PRICED).pending] == ["a-2"]
    assert apply(apply(answered, PRICED), WROTE).pending == ()


def test_a_reply_without_usage_enters_neither_conversation_nor_allowance() -> None:
    before = fold(PrivateFiles(), [OPENED, Asked(0.0, 1, "", 1)])
    after = apply(before, Answered(1.0, 1, reply(PREVIEW, tokens=None)))
    assert after.messages == before.messages
    assert after.pending == ()
    assert after.use == Use(seconds=1.0)
    assert after.counts == Counts(replies_without_usage=1)
    assert after.fault is not None
    assert after.fault.code == "usage_missing"


def test_a_valid_reply_empties_the_tally() -> None:
    events: list[Event] = [OPENED]
    for fault in (BAD_REQUEST, TRANSIENT, UNREADABLE):
        events += [Asked(0.0, 1, "", 1), Failed(0.0, 1, fault), WaitBegan(0.0, 0.0, 1.0, "")]
    state = fold(PrivateFiles(), events)
    assert state.tally == Tally(transient=1, bad_requests=1, unreadable=1)
    assert state.failing
    answered = fold(PrivateFiles(), [*events, Asked(0.0, 2, "", 1), Answered(0.0, 2, reply(SEAL))])
    assert answered.tally == Tally()
    assert not answered.failing


def test_only_a_message_that_is_left_out_leaves_the_conversation() -> None:
    thought = reply(only_reasoning=True, stop="length")
    events: list[Event] = [OPENED, Asked(0.0, 1, "", 1), Answered(0.0, 1, thought)]
    kept = fold(PrivateFiles(), [*events, Corrected(0.0, "Go on.")])
    left = fold(PrivateFiles(), [*events, Corrected(0.0, "Go on.", "sha256:x")])
    assert kept.messages == (
        UserMessage("Day 0."),
        AssistantMessage(thought.native),
        UserMessage("Go on."),
    )
    assert left.messages == (UserMessage("Day 0."), UserMessage("Go on."))


def test_files_begin_as_they_were_at_the_start_of_the_window() -> None:
    files = PrivateFiles.of({"MEMORY.md": ("old", 4)})
    state: SessionState = fold(files, [OPENED])
    assert state.files == files
