"""Server-sent events, however they are cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import sse
from providers.sse import Event, EventDecoder, EventTooLarge

STREAM = (
    b": comment\n\ndata: one\n\nevent: named\ndata:two\ndata:  three\nid: 7\nretry: 10\n\n"
    b"data\n\nevent: empty\n\ndata: \xc3\xa9\n\n"
)
EVENTS = [Event(b"", b"one"), Event(b"named", b"two\n three"), Event(b"", b"\xc3\xa9")]


def decoded(pieces: list[bytes]) -> list[Event]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.finish()


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_all_line_endings_and_any_byte_order_mark(ending: bytes, mark: bytes) -> None:
    assert decoded([mark + STREAM.replace(b"\n", ending)]) == EVENTS


@given(
    st.lists(st.integers(0, len(STREAM) * 2), max_size=12),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_the_pieces_do_not_matter(cuts: list[int], ending: bytes) -> None:
    text = STREAM.replace(b"\n", ending)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert decoded(pieces) == EVENTS


def test_every_byte_alone() -> None:
    text = b"\xef\xbb\xbf" + STREAM
    assert decoded([text[place : place + 1] for place in range(len(text))]) == EVENTS


def test_an_event_is_given_with_its_last_byte() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: one\n") == []
    assert decoder.feed(b"\n") == [Event(b"", b"one")]


def test_a_last_event_without_its_blank_line() -> None:
    assert decoded([b"data: one\n\ndata: [DONE]"])[-1] == Event(b"", b"[DONE]")
    assert decoded([b"data: one\r"]) == [Event(b"", b"one")]
    assert decoded([]) == []


@pytest.mark.parametrize("piece", [b"x" * 40, b"data: xxxxxxxxxx\n", b"data:\n"])
def test_an_event_has_a_largest_size(monkeypatch: pytest.MonkeyPatch, piece: bytes) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT_BYTES", 100)
    with pytest.raises(EventTooLarge):
        decoded([piece] * 200)


def test_many_small_events_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT_BYTES", 100)
    decoder = EventDecoder()
    for _ in range(200):
        assert decoder.feed(b"data: x\n\n") == [Event(b"", b"x")]
