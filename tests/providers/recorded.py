"""Streams in the vendors' wire shapes, kept as files: after their SDKs' types and documentation."""

from pathlib import Path

from tests.providers.chat_service import Answer, Received, Wire, begin

FOLDER = Path(__file__).parents[1] / "data" / "wire"


def text(name: str) -> bytes:
    """The stream as it goes over the wire."""
    return (FOLDER / f"{name}.sse").read_bytes()


def recorded(name: str, *changes: tuple[str, str], cut_after: str = "") -> Answer:
    """An answer with that stream; `changes` replace texts in it.

    `cut_after` is what the last event that arrives holds, before the stream ends.
    """
    content = text(name).decode()
    for old, new in changes:
        assert old in content, old
        content = content.replace(old, new)
    if cut_after:
        events = content.split("\n\n")
        last = next(place for place, event in enumerate(events) if cut_after in event)
        content = "\n\n".join([*events[: last + 1], ""])

    async def answer(_: Received, wire: Wire) -> None:
        await begin(wire)
        await wire.piece(content.encode())
        await wire.end()

    return answer
