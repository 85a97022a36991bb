"""Replies on the wire: one JSON object, or a stream of server-sent events."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from providers.rehearsal.replies import SpokenReply, Tally

DONE: Final = b"data: [DONE]\n\n"
FINGERPRINT: Final = "rehearsal_scripted_v1"


class Envelope(msgspec.Struct, frozen=True):
    """What all parts of one reply have in common. The seals are None without whole reasoning."""

    reply_id: str
    created: int
    model: str
    reasoning_seal: str | None
    call_seal: str | None


def whole(envelope: Envelope, reply: SpokenReply, tally: Tally) -> bytes:
    """The reply as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if envelope.reasoning_seal is not None:
        message["reasoning_signature"] = envelope.reasoning_seal
    if reply.calls:
        message["tool_calls"] = [
            _call(envelope, reply, position, call.arguments)
            for position, call in enumerate(reply.calls)
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _finish_reason(reply),
    }
    return msgspec.json.encode(
        _head(envelope, "chat.completion") | {"choices": [choice], "usage": _usage(tally)}
    )


def stream(
    envelope: Envelope, reply: SpokenReply, tally: Tally, pieces: int, *, reports_usage: bool
) -> Iterator[bytes]:
    """The reply as events, its texts in about `pieces` pieces, ended by the usage, if asked for,
    and the mark of the end.
    """
    null_usage: dict[str, Any] = {"usage": None} if reports_usage else {}
    chunk = _head(envelope, "chat.completion.chunk")
    sample = msgspec.json.encode(chunk | {"choices": [_choice({}, None)]} | null_usage)
    # Only the delta differs from one event to the next; the rest is encoded once.
    before, after = sample.split(b'"delta":{}', 1)
    for delta in _deltas(envelope, reply, pieces):
        yield b'data: %b"delta":%b%b\n\n' % (before, msgspec.json.encode(delta), after)
    last = chunk | {"choices": [_choice({}, _finish_reason(reply))]} | null_usage
    yield b"data: %b\n\n" % msgspec.json.encode(last)
    if reports_usage:
        usage = chunk | {"choices": [], "usage": _usage(tally)}
        yield b"data: %b\n\n" % msgspec.json.encode(usage)
    yield DONE


def error(code: str, message: str) -> bytes:
    """The event by which a stream that began with success says that it has failed."""
    found = {"message": message, "type": code, "param": None, "code": code}
    return b"data: %b\n\n" % msgspec.json.encode({"error": found})


def _deltas(envelope: Envelope, reply: SpokenReply, pieces: int) -> Iterator[dict[str, Any]]:
    first: dict[str, Any] = {"role": "assistant", "content": None}
    yield first | {"reasoning_content": ""} if reply.reasoning else first | {"content": ""}
    texts = [reply.reasoning, reply.text, *(call.arguments for call in reply.calls)]
    size = max(1, -(-sum(len(text) for text in texts) // pieces))
    missing = pieces - sum(len(_cut_up(text, size)) for text in texts)
    thought = "reasoning_content" if reply.reasoning else "content"
    yield from ({thought: piece} for piece in _cut_up(reply.reasoning, size))
    yield from ({thought: ""} for _ in range(missing))
    if envelope.reasoning_seal is not None:
        yield {"reasoning_signature": envelope.reasoning_seal}
    yield from ({"content": piece} for piece in _cut_up(reply.text, size))
    for position, call in enumerate(reply.calls):
        yield {"tool_calls": [{"index": position} | _call(envelope, reply, position, "")]}
        for piece in _cut_up(call.arguments, size):
            yield {"tool_calls": [{"index": position, "function": {"arguments": piece}}]}


def _cut_up(text: str, size: int) -> Sequence[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _head(envelope: Envelope, kind: str) -> dict[str, Any]:
    return {
        "id": envelope.reply_id,
        "object": kind,
        "created": envelope.created,
        "model": envelope.model,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call(envelope: Envelope, reply: SpokenReply, position: int, arguments: str) -> dict[str, Any]:
    spoken = reply.calls[position]
    call: dict[str, Any] = {
        "id": spoken.call_id,
        "type": "function",
        "function": {"name": spoken.name, "arguments": arguments},
    }
    if position == 0 and envelope.call_seal is not None:
        call["extra_content"] = {"rehearsal": {"thought_signature": envelope.call_seal}}
    return call


def _finish_reason(reply: SpokenReply) -> str:
    if reply.is_cut:
        return "length"
    return "tool_calls" if reply.calls else "stop"


def _usage(tally: Tally) -> dict[str, Any]:
    return {
        "prompt_tokens": tally.input_tokens,
        "completion_tokens": tally.output_tokens,
        "total_tokens": tally.input_tokens + tally.output_tokens,
        "prompt_tokens_details": {"cached_tokens": tally.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": tally.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
