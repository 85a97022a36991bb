"""The stream of one Chat Completions reply, read chunk by chunk into a `Reply`.

Nothing is believed before it is checked: who answers, with the first chunk that says so; that the
reply is whole, at its end. Fields and event kinds that nobody here knows are kept or passed over,
never an error.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from providers import replying
from providers.chat_message import AssistantDraft
from providers.contract import ProviderFault, Reply, StopKind, Usage
from providers.faults import Scrub, error_in, fault_of
from providers.rawjson import (
    NULL,
    NotJson,
    elements,
    member,
    members,
    parsed,
    sound,
    text_of,
)
from providers.replying import LONGEST_NAME, Answerer, chunk_of, count_of, cut_off, given_up
from providers.routes import ChatDialect, Route
from providers.sse import Event
from providers.transport import Exchanged, unreadable

# Events of other names are a vendor's own; of these, every one is a chunk.
_CHUNK_EVENTS: Final = frozenset({b"", b"message"})
_RawChunk = Mapping[str, msgspec.Raw]

# Vendors' words for how a reply ended. The last group means that the service gave up inside it.
_STOPS: Final[Mapping[str, StopKind]] = {
    **dict.fromkeys(("stop", "eos", "end_turn", "stop_sequence"), "finished"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(
        ("content_filter", "safety", "sensitive", "recitation", "prohibited_content", "blocklist"),
        "content_filter",
    ),
}
_INTERRUPTED: Final = frozenset(
    {"abort", "error", "insufficient_system_resource", "network_error", "server_error"}
)


class ChatStream:
    """One reply on its way; a `Sink` for the events of its stream."""

    def __init__(self, route: Route, scrub: Scrub) -> None:
        self.done = False
        self.begun = False
        self._route = route
        self._dialect = route.chat or ChatDialect()
        self._scrub = scrub
        self._draft = AssistantDraft()
        self._answerer = Answerer(route, scrub)
        self._bytes = 0
        self._model_text = NULL
        self._finish = ""
        self._usage = NULL
        self._completion_id = ""
        self._fingerprint = ""

    def take(self, event: Event) -> None:
        """The next event.

        Raises:
            ProviderFault: an error object, another model, or what is no chunk at all.
        """
        if event.data == b"[DONE]":
            self.done = True
            return
        try:
            self._take_chunk(event, members(event.data))
        except NotJson:
            if event.name not in _CHUNK_EVENTS or not event.data:
                return
            fault = unreadable(self._scrub(chunk_of(event)))
        else:
            return
        raise ProviderFault(fault)

    def reply(self, exchanged: Exchanged) -> Reply:
        """The whole reply.

        Raises:
            ProviderFault: the stream ended before the reply did, the service gave up inside it, or
                nobody said which model answers.
        """
        request_id = exchanged.request_id or self._completion_id or None
        self._refuse_cut(request_id)
        returned_model = self._answerer.model
        draft = self._draft
        calls = draft.calls()
        reasons = self._dialect.reasoning_fields
        return Reply(
            native=sound(draft.native()),
            text=draft.text(),
            tool_calls=calls,
            stop=self._stop(bool(calls)),
            stop_reason=self._finish,
            usage=usage_of(parsed(self._usage), self._dialect),
            requested_model=self._route.model,
            returned_model=returned_model,
            request_id=request_id,
            fingerprint=self._fingerprint or None,
            latency_seconds=exchanged.latency_seconds,
            first_token_seconds=exchanged.first_token_seconds,
            has_reasoning=draft.holds_any(reasons),
            is_only_reasoning=draft.holds_any(reasons) and draft.holds_only(reasons),
        )

    def _take_chunk(self, event: Event, chunk: _RawChunk) -> None:
        self._refuse_error(event, chunk)
        self._take_frame(chunk)
        choices = member(chunk, "choices")
        if choices != NULL:
            for choice in elements(choices):
                self._take_choice(members(choice))

    def _refuse_error(self, event: Event, chunk: _RawChunk) -> None:
        whole = event.name == b"error" or member(chunk, "object") == b'"error"'
        bare = "choices" not in chunk and "code" in chunk and "message" in chunk
        if not whole and not bare and member(chunk, "error") == NULL:
            return
        error = error_in(parsed(event.data))
        now = datetime.now(UTC)
        raise ProviderFault(fault_of(error, None, headers={}, now=now, scrub=self._scrub))

    def _take_frame(self, chunk: _RawChunk) -> None:
        """What every chunk repeats around its fragment."""
        model = member(chunk, "model")
        if model != self._model_text:
            self._model_text = model
            self._answerer.says(text_of(model))
        if not self._completion_id:
            self._completion_id = self._name(chunk, "id")
        if not self._fingerprint:
            self._fingerprint = self._name(chunk, "system_fingerprint")
        self._take_usage(chunk)

    def _take_usage(self, holder: _RawChunk) -> None:
        usage = member(holder, "usage")
        if usage != NULL:
            self._usage = usage

    def _take_choice(self, choice: _RawChunk) -> None:
        if "index" in choice and member(choice, "index") != b"0":
            return
        # One vendor's usage and another's error stand inside the choice.
        self._take_usage(choice)
        if member(choice, "error") != NULL:
            error = error_in({"error": parsed(member(choice, "error"))})
            now = datetime.now(UTC)
            raise ProviderFault(fault_of(error, None, headers={}, now=now, scrub=self._scrub))
        delta = member(choice, "delta")
        if delta != NULL:
            self._take_delta(members(delta), len(delta))
        # Null, or empty from some services, until the last fragment.
        self._finish = self._name(choice, "finish_reason") or self._finish

    def _take_delta(self, delta: _RawChunk, size: int) -> None:
        self._bytes += size
        if self._bytes > replying.LARGEST_REPLY_BYTES:
            raise ProviderFault(unreadable(replying.TOO_LARGE))
        if not self.begun:
            self.begun = any(
                key != "role" and bytes(value) not in (NULL, b'""') for key, value in delta.items()
            )
        self._draft.add(delta)

    def _name(self, holder: _RawChunk, key: str) -> str:
        return self._scrub(text_of(member(holder, key)), LONGEST_NAME)

    def _refuse_cut(self, request_id: str | None) -> None:
        if not self._finish:
            raise cut_off(request_id)
        if self._finish.lower() in _INTERRUPTED:
            raise given_up(self._finish, request_id)

    def _stop(self, has_calls: bool) -> StopKind:
        stop = _STOPS.get(self._finish.lower(), "other")
        if stop in ("finished", "tool_calls"):
            return "tool_calls" if has_calls else "finished"
        return stop


def usage_of(usage: Any, dialect: ChatDialect) -> Usage | None:
    """The tokens that a usage object states, each counted once (section 3).

    None when it does not state both input and output: missing is not zero. No request is without
    input, so a zero there is a service's way to leave usage out.
    """
    if not isinstance(usage, dict):
        return None
    prompt = count_of(usage, "prompt_tokens")
    completion = count_of(usage, "completion_tokens")
    if not prompt or completion is None:
        return None
    cached = (
        count_of(usage.get("prompt_tokens_details"), "cached_tokens")
        or count_of(usage, "prompt_cache_hit_tokens")
        or count_of(usage, "cached_tokens")
        or 0
    )
    reasoning = (
        count_of(usage.get("completion_tokens_details"), "reasoning_tokens")
        or count_of(usage, "reasoning_tokens")
        or 0
    )
    output = completion
    if dialect.reasoning_tokens == "in total only":
        total = count_of(usage, "total_tokens")
        output = completion + reasoning if total is None else max(completion, total - prompt)
        reasoning = max(reasoning, output - completion)
    elif reasoning > completion:
        # More than the whole cannot be a part of it: this service counts it beside.
        output = completion + reasoning
    return Usage(prompt, min(cached, prompt), output, reasoning)
