"""The request body of Chat Completions, field by field.

Names and types are those of the parameter types that the vendor's SDK publishes, restricted to what
a text model with thinking takes; a test holds the two together. The fields that services with
thinking add to them, and that this one knows, are `thinking`, `reasoning_content`,
`reasoning_signature`, `extra_content` and `cache_control`.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
NAME_PATTERN: Final = "^[a-zA-Z0-9_-]{1,64}$"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class CacheBreakpoint(_Strict, frozen=True):
    """Marks the end of a reusable prefix."""

    mode: Literal["explicit"]
    ttl: Literal["30m", "12h"] | UnsetType = UNSET


class CacheControl(_Strict, frozen=True):
    """Marks the end of a reusable prefix, as other services write it."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | UnsetType = UNSET


class TextPart(_Strict, frozen=True, tag_field="type", tag="text"):
    """A piece of text content."""

    text: str
    prompt_cache_breakpoint: CacheBreakpoint | UnsetType = UNSET
    cache_control: CacheControl | UnsetType = UNSET


class RefusalPart(_Strict, frozen=True, tag_field="type", tag="refusal"):
    """A piece of a refused answer."""

    refusal: str


TextContent: TypeAlias = str | list[TextPart]


class SystemMessage(_Strict, frozen=True, tag_field="role", tag="system"):
    """Instructions."""

    content: TextContent
    name: str | UnsetType = UNSET


class DeveloperMessage(_Strict, frozen=True, tag_field="role", tag="developer"):
    """Instructions, under the newer name."""

    content: TextContent
    name: str | UnsetType = UNSET


class UserMessage(_Strict, frozen=True, tag_field="role", tag="user"):
    """What the user says."""

    content: TextContent
    name: str | UnsetType = UNSET


class CalledFunction(_Strict, frozen=True):
    """The function of a call; its arguments are text that may or may not be JSON."""

    name: str
    arguments: str


class SealedThought(_Strict, frozen=True):
    """This service's part of `extra_content`."""

    thought_signature: str


class ExtraContent(_Strict, frozen=True):
    """What a service adds to a call, each under its own name."""

    rehearsal: SealedThought


class ToolCall(_Strict, frozen=True):
    """A call in an assistant message."""

    id: str
    type: Literal["function"]
    function: CalledFunction
    extra_content: ExtraContent | UnsetType = UNSET


class AssistantMessage(_Strict, frozen=True, tag_field="role", tag="assistant"):
    """What the model said."""

    content: str | list[TextPart | RefusalPart] | UnsetType | None = UNSET
    refusal: str | UnsetType | None = UNSET
    name: str | UnsetType = UNSET
    audio: UnsetType | None = UNSET
    function_call: UnsetType | None = UNSET
    tool_calls: Annotated[list[ToolCall], Meta(min_length=1)] | UnsetType = UNSET
    reasoning_content: str | UnsetType | None = UNSET
    reasoning_signature: str | UnsetType = UNSET


class ToolMessage(_Strict, frozen=True, tag_field="role", tag="tool"):
    """The result of a call."""

    content: TextContent
    tool_call_id: str


Message: TypeAlias = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


class FunctionDefinition(_Strict, frozen=True):
    """A function on offer."""

    name: Annotated[str, Meta(pattern=NAME_PATTERN)]
    description: str | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    strict: bool | UnsetType | None = UNSET


class Tool(_Strict, frozen=True):
    """A tool on offer."""

    type: Literal["function"]
    function: FunctionDefinition


class ChosenFunction(_Strict, frozen=True):
    """The name of a function that must be called."""

    name: str


class NamedToolChoice(_Strict, frozen=True):
    """A function that must be called."""

    type: Literal["function"]
    function: ChosenFunction


class StreamOptions(_Strict, frozen=True):
    """What a stream carries beside the reply."""

    include_usage: bool | UnsetType = UNSET
    include_obfuscation: bool | UnsetType = UNSET


class PromptCacheOptions(_Strict, frozen=True):
    """How prompts are cached."""

    mode: Literal["implicit", "explicit"] | UnsetType = UNSET
    ttl: Literal["30m"] | UnsetType = UNSET


class ResponseFormat(_Strict, frozen=True):
    """The form of the answer: text is the only one here."""

    type: Literal["text"]


class Thinking(_Strict, frozen=True):
    """Whether the model thinks before it answers; it does unless told otherwise."""

    type: Literal["enabled", "disabled"]


class ChatRequest(_Strict, frozen=True):
    """A whole request. `tools` is decoded apart, because every request repeats the same ones."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    stream: bool | UnsetType | None = UNSET
    stream_options: StreamOptions | UnsetType | None = UNSET
    max_tokens: Annotated[int, Meta(ge=1)] | UnsetType | None = UNSET
    max_completion_tokens: Annotated[int, Meta(ge=1)] | UnsetType | None = UNSET
    tools: msgspec.Raw | UnsetType = UNSET
    tool_choice: Literal["none", "auto", "required"] | NamedToolChoice | UnsetType = UNSET
    parallel_tool_calls: bool | UnsetType = UNSET
    reasoning_effort: Effort | UnsetType | None = UNSET
    thinking: Thinking | UnsetType = UNSET
    n: Annotated[int, Meta(ge=1, le=1)] | UnsetType | None = UNSET
    modalities: list[Literal["text"]] | UnsetType | None = UNSET
    response_format: ResponseFormat | UnsetType = UNSET
    verbosity: Literal["low", "medium", "high"] | UnsetType | None = UNSET
    seed: int | UnsetType | None = UNSET
    store: bool | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType | None = UNSET
    service_tier: (
        Literal["auto", "default", "flex", "scale", "priority", "fast"] | UnsetType | None
    ) = UNSET
    prompt_cache_key: str | UnsetType | None = UNSET
    prompt_cache_options: PromptCacheOptions | UnsetType = UNSET
    prompt_cache_retention: Literal["in_memory", "24h"] | UnsetType | None = UNSET
    safety_identifier: str | UnsetType | None = UNSET
    user: str | UnsetType = UNSET
    # The service knows these, and this kind of model does not take them.
    audio: msgspec.Raw | UnsetType = UNSET
    frequency_penalty: msgspec.Raw | UnsetType = UNSET
    function_call: msgspec.Raw | UnsetType = UNSET
    functions: msgspec.Raw | UnsetType = UNSET
    logit_bias: msgspec.Raw | UnsetType = UNSET
    logprobs: msgspec.Raw | UnsetType = UNSET
    moderation: msgspec.Raw | UnsetType = UNSET
    prediction: msgspec.Raw | UnsetType = UNSET
    presence_penalty: msgspec.Raw | UnsetType = UNSET
    stop: msgspec.Raw | UnsetType = UNSET
    temperature: msgspec.Raw | UnsetType = UNSET
    top_logprobs: msgspec.Raw | UnsetType = UNSET
    top_p: msgspec.Raw | UnsetType = UNSET
    web_search_options: msgspec.Raw | UnsetType = UNSET


NOT_TAKEN: Final = (
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "moderation",
    "prediction",
    "presence_penalty",
    "stop",
    "temperature",
    "top_logprobs",
    "top_p",
    "web_search_options",
)
