"""Replies on the wire: a response object, or a stream of server-sent events that ends with it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from providers.rehearsal.identifiers import item_id
from providers.rehearsal.question import Answer
from providers.rehearsal.responses.request import ResponsesRequest
from providers.rehearsal.seals import Sealer

# What pads the events: drawn by chance elsewhere, while here a request has one reply.
_OBFUSCATION: Final = "Zx3"

_Object = dict[str, Any]


def whole(answer: Answer, sealer: Sealer) -> bytes:
    """The reply as one object."""
    return msgspec.json.encode(_response(answer, _ended(answer), _items(answer, sealer)))


def stream(answer: Answer, sealer: Sealer, pieces: int) -> Iterator[bytes]:
    """The reply as events, its texts in about `pieces` pieces."""
    for number, data in enumerate(_events(answer, _items(answer, sealer), pieces)):
        yield event(data, number)


def event(data: _Object, number: int) -> bytes:
    """One event with its place in the stream."""
    text = msgspec.json.encode({**data, "sequence_number": number})
    return b"event: %b\ndata: %b\n\n" % (data["type"].encode(), text)


def _events(answer: Answer, items: list[_Object], pieces: int) -> Iterator[_Object]:
    yield {"type": "response.created", "response": _response(answer, "in_progress", [])}
    yield {"type": "response.in_progress", "response": _response(answer, "in_progress", [])}
    texts = [_spoken(item) for item in items]
    size = max(1, -(-sum(len(text) for text in texts) // pieces))
    for place, (item, text) in enumerate(zip(items, texts, strict=True)):
        cut_up = [text[start : start + size] for start in range(0, len(text), size)]
        yield from _item_events(item, place, cut_up)
    ended = _ended(answer)
    yield {"type": f"response.{ended}", "response": _response(answer, ended, items)}


def _item_events(item: _Object, place: int, pieces: Sequence[str]) -> Iterator[_Object]:
    where = {"item_id": item["id"], "output_index": place}
    added, done = "response.output_item.added", "response.output_item.done"
    yield {"type": added, "output_index": place, "item": _begun(item)}
    match item["type"]:
        case "function_call":
            kind = "response.function_call_arguments"
            for piece in pieces:
                yield {
                    "type": f"{kind}.delta",
                    **where,
                    "delta": piece,
                    "obfuscation": _OBFUSCATION,
                }
            yield {"type": f"{kind}.done", **where, "arguments": item["arguments"]}
        case "message":
            yield from _text_events(item, where, pieces)
        case _:
            yield from _summary_events(item, where, pieces)
    yield {"type": done, "output_index": place, "item": item}


def _text_events(item: _Object, where: _Object, pieces: Sequence[str]) -> Iterator[_Object]:
    part = item["content"][0]
    where = {**where, "content_index": 0}
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    for piece in pieces:
        yield {
            "type": "response.output_text.delta",
            **where,
            "delta": piece,
            "logprobs": [],
            "obfuscation": _OBFUSCATION,
        }
    text = part["text"]
    yield {"type": "response.output_text.done", **where, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": part}


def _summary_events(item: _Object, where: _Object, pieces: Sequence[str]) -> Iterator[_Object]:
    if not item["summary"]:
        return
    part = item["summary"][0]
    where = {**where, "summary_index": 0}
    kind = "response.reasoning_summary"
    yield {"type": f"{kind}_part.added", **where, "part": {**part, "text": ""}}
    for piece in pieces:
        yield {"type": f"{kind}_text.delta", **where, "delta": piece}
    yield {"type": f"{kind}_text.done", **where, "text": part["text"]}
    yield {"type": f"{kind}_part.done", **where, "part": part}


def _items(answer: Answer, sealer: Sealer) -> list[_Object]:
    """The output items of the reply; the last one is incomplete when the reply was cut."""
    reply = answer.reply
    talk = answer.question.conversation
    items: list[_Object] = []

    def next_id(prefix: str) -> str:
        return item_id(prefix, talk.place, len(items))

    if reply.reasoning:
        call_ids = [call.call_id for call in reply.calls]
        item = {"id": next_id("rs"), "type": "reasoning", "summary": _summary(answer)}
        if answer.is_sealed:
            item["encrypted_content"] = sealer.closed(
                talk.model, talk.place, reply.reasoning, call_ids
            )
        items.append(item)
    if reply.text:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": reply.text}
        items.append(
            {
                "id": next_id("msg"),
                "type": "message",
                "status": "completed",
                "content": [part],
                "role": "assistant",
                "phase": "commentary" if reply.calls else "final_answer",
            }
        )
    for call in reply.calls:
        said = {"arguments": call.arguments, "call_id": call.call_id, "name": call.name}
        kind = {"id": next_id("fc"), "type": "function_call", "status": "completed"}
        items.append({**kind, **said})
    if items and reply.is_cut:
        items[-1]["status"] = "incomplete"
    return items


def _summary(answer: Answer) -> list[_Object]:
    request: ResponsesRequest = answer.question.told
    wanted = request.reasoning.summary if request.reasoning else None
    if not wanted:
        return []
    return [{"type": "summary_text", "text": answer.reply.reasoning}]


def _spoken(item: _Object) -> str:
    """The text of an item that is sent in pieces."""
    if item["type"] == "function_call":
        return str(item["arguments"])
    parts = item["content"] if item["type"] == "message" else item["summary"]
    return "".join(part["text"] for part in parts)


def _begun(item: _Object) -> _Object:
    """The item before anything of it was said."""
    match item["type"]:
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case _:
            return {**item, "summary": []}


def _ended(answer: Answer) -> str:
    return "incomplete" if answer.reply.is_cut else "completed"


def _response(answer: Answer, status: str, items: list[_Object]) -> _Object:
    request: ResponsesRequest = answer.question.told
    is_over = status != "in_progress"
    reason = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {
        "id": f"resp_{answer.digest[:48]}",
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "background": False,
        "completed_at": answer.created if status == "completed" else None,
        "error": None,
        "incomplete_details": reason,
        "instructions": _given(request.instructions),
        "max_output_tokens": _given(request.max_output_tokens),
        "max_tool_calls": None,
        "metadata": _given(request.metadata) or {},
        "model": answer.model,
        "output": items,
        "parallel_tool_calls": not answer.question.one_call_at_a_time,
        "previous_response_id": None,
        "prompt_cache_key": _given(request.prompt_cache_key),
        "reasoning": _reasoning(request),
        "safety_identifier": _given(request.safety_identifier),
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": _given(request.tool_choice) or "auto",
        "tools": msgspec.Raw(answer.question.offer.text.encode() or b"[]"),
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(answer) if is_over and answer.reports_usage else None,
        "user": None,
    }


def _reasoning(request: ResponsesRequest) -> _Object:
    given = request.reasoning or None
    return {
        "effort": _given(given.effort) if given else None,
        "summary": _given(given.summary) if given else None,
    }


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def _usage(answer: Answer) -> _Object:
    tally = answer.tally
    written = tally.input_tokens - tally.cached_tokens
    return {
        "input_tokens": tally.input_tokens,
        "input_tokens_details": {
            "cached_tokens": tally.cached_tokens,
            "cache_write_tokens": written,
        },
        "output_tokens": tally.output_tokens,
        "output_tokens_details": {"reasoning_tokens": tally.reasoning_tokens},
        "total_tokens": tally.input_tokens + tally.output_tokens,
    }
