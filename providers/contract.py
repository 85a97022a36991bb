"""What a provider is: a request goes in, one whole reply or one explained fault comes out.

The three protocols (providers.md section 1) share these types. A conversation is a sequence of
messages; what a model said travels in it as `AssistantMessage.native`, the JSON text of the
protocol's own form, which nobody but that protocol's provider looks into: it is stored, and sent
back, as it came. Everything here is immutable and can be encoded by msgspec as JSON or
MessagePack, so that a journal holds these very values.
"""

from typing import Any, Literal, Protocol, TypeAlias

import msgspec

StopKind: TypeAlias = Literal["finished", "tool_calls", "length", "content_filter", "other"]
FaultKind: TypeAlias = Literal[
    "transient", "bad_request", "refused", "identity", "too_long", "protocol"
]


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool as every route offers it; `parameters` is a JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class UserMessage(msgspec.Struct, frozen=True, array_like=True, tag="user"):
    """What the harness says: the briefing, a correction, a notice."""

    text: str


class AssistantMessage(msgspec.Struct, frozen=True, array_like=True, tag="assistant"):
    """What the model said, as JSON text in its protocol's own form: `Reply.native`.

    Chat Completions: the assistant message, an object. Responses: the output items, an array.
    Messages: the content blocks, an array.
    """

    native: str


class ToolResult(msgspec.Struct, frozen=True, array_like=True, tag="tool_result"):
    """The answer to one tool call; every call is answered once, directly after its reply."""

    call_id: str
    text: str


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult


class Request(msgspec.Struct, frozen=True):
    """One question to a model: the whole conversation so far and the tools.

    `max_output_tokens` bounds the reply, reasoning included. `name` is what the client calls this
    sending of the question, in at most 512 printable ASCII characters, for a service's own records:
    it is no part of what the model reads. Nothing is said to the service where it is empty.
    `key_mark` is that of the last reply in the conversation; it is not sent.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    max_output_tokens: int
    name: str = ""
    key_mark: str | None = None


class ToolCall(msgspec.Struct, frozen=True, array_like=True):
    """One call that a reply asks for.

    `arguments` is the model's text, which may not be JSON. `cut` says that it was longer than a
    reply may carry and that the rest was dropped on arrival.
    """

    call_id: str
    name: str
    arguments: str
    cut: bool = False


class Usage(msgspec.Struct, frozen=True, array_like=True):
    """Tokens of one reply (providers.md section 3).

    `cached_input_tokens`, read from the vendor's cache, and `cache_written_tokens`, put into it,
    are parts of `input_tokens`, `reasoning_tokens` of `output_tokens`.
    """

    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_written_tokens: int = 0


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One whole reply of the model that the route names.

    `native` goes back into the conversation as an `AssistantMessage`; `text` is what the model
    wrote for its reader, without reasoning. `stop` is "tool_calls" exactly when the reply ended of
    its own accord and holds calls; of a reply with another `stop` no call may run, except that
    "finished" has none. `stop_reason` is the vendor's word. `usage` is None when the vendor sent
    none: missing is not zero. `returned_model` has passed the identity check. `fingerprint` names
    the served model's build where a vendor returns one. Times are seconds since the request was
    sent. `has_reasoning`: `native` holds reasoning; `is_only_reasoning`: and nothing else.
    `key_mark` tells whether two replies came under the same key, and nothing else about it.
    """

    native: str
    text: str
    tool_calls: tuple[ToolCall, ...]
    stop: StopKind
    stop_reason: str
    usage: Usage | None
    requested_model: str
    returned_model: str
    request_id: str | None
    fingerprint: str | None
    latency_seconds: float
    first_token_seconds: float | None
    has_reasoning: bool
    is_only_reasoning: bool
    key_mark: str | None = None


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request has no reply (providers.md section 4).

    kind
        transient: connection, time, overload, a cut stream; the same request may succeed later.
        bad_request: the service rejects the request's form, as HTTP 400 does.
        refused: a person must act first: credentials, permission, unknown model or address, quota.
        identity: another model answered than the route names, or one that does not say.
        too_long: the conversation no longer fits into the model.
        protocol: the answer is not what the protocol demands and cannot be read.
    message
        One or a few sentences for a person, bounded, and free of credentials.
    status, code
        The HTTP status and the vendor's error code, where they were given.
    retry_after_seconds
        The wait that the service asked for.
    maybe_billed
        Whether the service may have worked, and charge, for this request.
    """

    kind: FaultKind
    message: str
    status: int | None = None
    code: str | None = None
    retry_after_seconds: float | None = None
    maybe_billed: bool = False
    request_id: str | None = None


class ProviderFault(Exception):
    """A request that ended without a reply; `fault` says why and survives in a journal."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.fault.kind}: {self.fault.message}"


class Provider(Protocol):
    """One route to one model, for any number of conversations at once on one event loop."""

    def wire(self, request: Request) -> bytes:
        """The exact body that `ask` sends, a pure function of route and request, its name apart.

        Its digest can be journaled before anything is sent, and equal digests mean equal requests.
        """

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        """Send one request, once, and read the whole reply.

        `body` is what `wire` has made of this very request, from whoever has it already.
        `within_seconds` bounds the time from now to the whole reply, below the provider's own
        deadline. A cancelled call closes its connection.

        Raises:
            ProviderFault: no reply; what happened is in its `fault`.
        """

    async def close(self) -> None:
        """Give back the connections; the provider is not used again."""
