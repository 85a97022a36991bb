"""A reply of an agent, before a protocol clothes it: its measure in tokens, and its cut."""

import hashlib
from typing import Final

import msgspec

from providers.rehearsal.conversation import Conversation, ReplyTurn, ResultTurn, UserTurn

CHARACTERS_PER_TOKEN: Final = 4
# What names, identifiers and separators cost beside the text, about as the services count it.
TOKENS_PER_MESSAGE: Final = 4
TOKENS_PER_CALL: Final = 8
# A prompt cache works in blocks and ignores short prompts.
CACHE_BLOCK: Final = 128
CACHE_MINIMUM: Final = 1_024


class SpokenCall(msgspec.Struct, frozen=True):
    """A call that an agent makes; `arguments` is JSON text unless the agent errs."""

    call_id: str
    name: str
    arguments: str


class SpokenReply(msgspec.Struct, frozen=True):
    """What an agent says. `is_cut`: the reply was longer than it may be and ends in the middle;
    `has_whole_reasoning`: at least its reasoning is complete.
    """

    reasoning: str
    text: str
    calls: tuple[SpokenCall, ...]
    is_cut: bool = False
    has_whole_reasoning: bool = True


class Tally(msgspec.Struct, frozen=True):
    """Tokens of one exchange; cached ones are part of the input, reasoning of the output."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int


def tokens(text: str) -> int:
    """The tokens of a text, about a quarter of its characters."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def call_id(place: bytes, number: int) -> str:
    """The identifier of call `number` of the reply at a place: the same for the same request."""
    return f"call_{hashlib.sha256(place + number.to_bytes(4, 'big')).hexdigest()[:24]}"


def output_tokens(reply: SpokenReply) -> int:
    """The tokens of a reply, reasoning included."""
    called = [TOKENS_PER_CALL + tokens(call.name) + tokens(call.arguments) for call in reply.calls]
    return tokens(reply.reasoning) + tokens(reply.text) + sum(called)


def cut(reply: SpokenReply, ceiling: int) -> SpokenReply:
    """The reply as far as `ceiling` tokens reach: reasoning first, then text, then calls."""
    if output_tokens(reply) <= ceiling:
        return reply
    reasoning, left = _take(reply.reasoning, ceiling)
    text, left = _take(reply.text, left)
    calls: list[SpokenCall] = []
    for call in reply.calls:
        left -= TOKENS_PER_CALL + tokens(call.name)
        if left < 0:
            break
        arguments, left = _take(call.arguments, left)
        calls.append(SpokenCall(call.call_id, call.name, arguments))
        if arguments != call.arguments:
            break
    return SpokenReply(
        reasoning,
        text,
        tuple(calls),
        is_cut=True,
        has_whole_reasoning=reasoning == reply.reasoning and bool(reasoning),
    )


def tally(talk: Conversation, tools_text: str, reply: SpokenReply, ceiling: int) -> Tally:
    """The usage of a reply.

    Cached is what the request before this one in the same conversation had already brought:
    everything up to the last reply, in whole blocks.
    """
    prompt = tokens(tools_text) + sum(_spoken_tokens(text) for text in talk.system)
    known = 0
    for turn in talk.turns:
        match turn:
            case UserTurn(text=text) | ResultTurn(text=text):
                prompt += _spoken_tokens(text)
            case ReplyTurn(reasoning=reasoning, text=text, calls=calls):
                known = prompt
                prompt += TOKENS_PER_MESSAGE + tokens(reasoning) + tokens(text)
                for call in calls:
                    prompt += TOKENS_PER_CALL + tokens(call.name) + tokens(call.arguments)
    return Tally(
        input_tokens=prompt,
        cached_tokens=known // CACHE_BLOCK * CACHE_BLOCK if known >= CACHE_MINIMUM else 0,
        output_tokens=ceiling if reply.is_cut else output_tokens(reply),
        reasoning_tokens=tokens(reply.reasoning),
    )


def _take(text: str, budget: int) -> tuple[str, int]:
    """(as much of the text as the budget pays for, the budget left)."""
    taken = text[: budget * CHARACTERS_PER_TOKEN]
    return taken, budget - tokens(taken)


def _spoken_tokens(text: str) -> int:
    return TOKENS_PER_MESSAGE + tokens(text)
