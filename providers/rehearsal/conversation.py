"""A conversation as a model sees it, whatever protocol carried it.

The protocols of the gateway translate their requests into this form and the replies of the agents
back, so that the same conversation has the same places, and an agent the same thoughts, on every
wire. Identifiers of calls are of one wire and have no part in a place.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

_ENCODER: Final = msgspec.msgpack.Encoder()


class Call(msgspec.Struct, frozen=True):
    """One call of a tool; `arguments` is the text that the model wrote, JSON or not."""

    call_id: str
    name: str
    arguments: str


class UserTurn(msgspec.Struct, frozen=True):
    """What the harness said."""

    text: str


class ReplyTurn(msgspec.Struct, frozen=True):
    """What the model said, as it came back."""

    reasoning: str
    text: str
    calls: tuple[Call, ...]


class ResultTurn(msgspec.Struct, frozen=True):
    """The result of one call."""

    call_id: str
    text: str


Turn: TypeAlias = UserTurn | ReplyTurn | ResultTurn


@dataclass(frozen=True)
class Conversation:
    """The whole of a request: instructions, turns, and the names of the offered tools.

    `places` has one digest more than there are turns: `places[i]` is the SHA-256 of everything
    before turn `i`, and the last one is that of the whole conversation.
    """

    model: str
    system: tuple[str, ...]
    turns: tuple[Turn, ...]
    tools: frozenset[str]
    places: tuple[bytes, ...]

    @property
    def place(self) -> bytes:
        """The place of the next reply: the digest of all that was said."""
        return self.places[-1]


def conversation(
    model: str, system: Iterable[str], turns: Iterable[Turn], tools: Iterable[str]
) -> Conversation:
    """A conversation with its places."""
    said = tuple(turns)
    instructions = tuple(system)
    digest = hashlib.sha256(_ENCODER.encode(("system", instructions)))
    places = [digest.digest()]
    for turn in said:
        digest.update(_ENCODER.encode(_frame(turn)))
        places.append(digest.digest())
    return Conversation(model, instructions, said, frozenset(tools), tuple(places))


def _frame(turn: Turn) -> tuple[object, ...]:
    match turn:
        case UserTurn(text=text):
            return ("user", text)
        case ResultTurn(text=text):
            return ("result", text)
        case ReplyTurn(reasoning=reasoning, text=text, calls=calls):
            return ("reply", reasoning, text, [(call.name, call.arguments) for call in calls])
