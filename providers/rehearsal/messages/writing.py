"""Replies on the wire: one message, or a stream of server-sent events that make one up."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from providers.rehearsal.messages.request import (
    AdaptiveThinking,
    EnabledThinking,
    MessagesRequest,
)
from providers.rehearsal.question import Answer
from providers.rehearsal.replies import CACHE_BLOCK
from providers.rehearsal.seals import Sealer

# At every so many places a thought is one that nobody may read.
REDACTED_PLACES: Final = 4

_Object = dict[str, Any]


def wire_id(call_id: str) -> str:
    """A call's identifier as this protocol writes it."""
    return f"toolu_{call_id.removeprefix('call_')}"


def whole(answer: Answer, sealer: Sealer) -> bytes:
    """The reply as one message."""
    blocks = _blocks(answer, sealer)
    message = _message(answer) | {"content": blocks, "stop_reason": _stop_reason(answer)}
    if answer.reports_usage:
        message["usage"] = _input_usage(answer) | _output_usage(answer)
    return msgspec.json.encode(message)


def stream(answer: Answer, sealer: Sealer, pieces: int) -> Iterator[bytes]:
    """The reply as events, its texts in about `pieces` pieces."""
    begun = _message(answer) | {"content": [], "stop_reason": None}
    if answer.reports_usage:
        begun["usage"] = _input_usage(answer) | {"output_tokens": 1}
    yield event({"type": "message_start", "message": begun})
    yield event({"type": "ping"})
    blocks = _blocks(answer, sealer)
    calls = iter(answer.reply.calls)
    texts = [
        next(calls).arguments if block["type"] == "tool_use" else _spoken(block) for block in blocks
    ]
    size = max(1, -(-sum(len(text) for text in texts) // pieces))
    for index, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        yield event({"type": "content_block_start", "index": index, "content_block": _begun(block)})
        for delta in _deltas(block, text, size):
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    end: _Object = {"type": "message_delta", "delta": ended}
    if answer.reports_usage:
        end["usage"] = _output_usage(answer)
    yield event(end)
    yield event({"type": "message_stop"})


def event(data: _Object) -> bytes:
    """One event."""
    return b"event: %b\ndata: %b\n\n" % (data["type"].encode(), msgspec.json.encode(data))


def _message(answer: Answer) -> _Object:
    return {
        "id": f"msg_{answer.digest[:24]}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "stop_sequence": None,
    }


def _blocks(answer: Answer, sealer: Sealer) -> list[_Object]:
    reply = answer.reply
    blocks = [_thought(answer, sealer)] if reply.reasoning else []
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    return blocks + [
        {
            "type": "tool_use",
            "id": wire_id(call.call_id),
            "name": call.name,
            "input": _object(call.arguments),
        }
        for call in reply.calls
    ]


def _thought(answer: Answer, sealer: Sealer) -> _Object:
    reply, talk = answer.reply, answer.question.conversation
    signature = ""
    if answer.is_sealed:
        ids = [wire_id(call.call_id) for call in reply.calls]
        signature = sealer.closed(talk.model, talk.place, reply.reasoning, ids)
        if talk.place[0] % REDACTED_PLACES == 0:
            return {"type": "redacted_thinking", "data": signature}
    shown = "" if _is_omitted(answer) else reply.reasoning
    return {"type": "thinking", "thinking": shown, "signature": signature}


def _is_omitted(answer: Answer) -> bool:
    request: MessagesRequest = answer.question.told[0]
    thinking = request.thinking
    return (
        isinstance(thinking, AdaptiveThinking | EnabledThinking) and thinking.display == "omitted"
    )


def _object(arguments: str) -> Any:
    """The object that a call's input must be, whatever the agent wrote."""
    try:
        value = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _spoken(block: _Object) -> str:
    return str(block.get("thinking", block.get("text", "")))


def _begun(block: _Object) -> _Object:
    """The block before anything of it was said."""
    match block["type"]:
        case "tool_use":
            return block | {"input": {}}
        case "thinking":
            return block | {"thinking": "", "signature": ""}
        case "text":
            return block | {"text": ""}
        case _:
            return block


def _deltas(block: _Object, text: str, size: int) -> Iterator[_Object]:
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    match block["type"]:
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
        case "thinking":
            yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces)
            if block["signature"]:
                yield {"type": "signature_delta", "signature": block["signature"]}
        case "text":
            yield from ({"type": "text_delta", "text": piece} for piece in pieces)


def _stop_reason(answer: Answer) -> str:
    if answer.reply.is_cut:
        return "max_tokens"
    return "tool_use" if answer.reply.calls else "end_turn"


def _input_usage(answer: Answer) -> _Object:
    """What is marked is read from the cache as far as the last request wrote it, and written as far
    as this one reaches; the rest is plain input.
    """
    tally = answer.tally
    read = tally.cached_tokens if answer.question.told[1] else 0
    rest = tally.input_tokens - read
    written = rest // CACHE_BLOCK * CACHE_BLOCK if answer.question.told[1] else 0
    return {
        "input_tokens": rest - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
    }


def _output_usage(answer: Answer) -> _Object:
    tally = answer.tally
    return {
        "output_tokens": tally.output_tokens,
        "output_tokens_details": {"thinking_tokens": tally.reasoning_tokens},
    }
