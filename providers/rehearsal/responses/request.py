"""The request body of Responses, field by field.

Names and types are those of the parameter types that the vendor's SDK publishes, restricted to what
a text model with functions takes; a test holds the two together. The items of `input` are decoded
one by one, because some of them need no type.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Status: TypeAlias = Literal["in_progress", "completed", "incomplete"]
Phase: TypeAlias = Literal["commentary", "final_answer"]
Summary: TypeAlias = Literal["auto", "concise", "detailed"]
NAME_PATTERN: Final = "^[a-zA-Z0-9_-]{1,64}$"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class CacheBreakpoint(_Strict, frozen=True):
    """Marks the end of a reusable prefix."""

    mode: Literal["explicit"]


class InputText(_Strict, frozen=True):
    """A piece of text content."""

    type: Literal["input_text"]
    text: str
    prompt_cache_breakpoint: CacheBreakpoint | UnsetType = UNSET


class EasyMessage(_Strict, frozen=True):
    """What is said to the model, in short; the type may be left out."""

    role: Literal["user", "system", "developer"]
    content: str | list[InputText]
    type: Literal["message"] | UnsetType = UNSET
    phase: Phase | UnsetType | None = UNSET


class OutputText(_Strict, frozen=True, tag_field="type", tag="output_text"):
    """A piece of what the model wrote."""

    text: str
    annotations: list[Any]
    logprobs: list[Any] | UnsetType = UNSET


class OutputRefusal(_Strict, frozen=True, tag_field="type", tag="refusal"):
    """A piece of a refused answer."""

    refusal: str


class OutputMessage(_Strict, frozen=True):
    """A message of the model, as it came."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    status: Status
    content: list[OutputText | OutputRefusal]
    phase: Phase | UnsetType | None = UNSET


class SummaryText(_Strict, frozen=True):
    """A piece of a summary of reasoning."""

    type: Literal["summary_text"]
    text: str


class Reasoning(_Strict, frozen=True):
    """A reasoning item, as it came."""

    id: str
    type: Literal["reasoning"]
    summary: list[SummaryText]
    content: list[Any] | UnsetType = UNSET
    encrypted_content: str | UnsetType | None = UNSET
    status: Status | UnsetType = UNSET


class FunctionCall(_Strict, frozen=True):
    """A call, as it came; its arguments are text that may or may not be JSON."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str | UnsetType = UNSET
    status: Status | UnsetType = UNSET


class FunctionCallOutput(_Strict, frozen=True):
    """The result of a call."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | list[InputText]
    id: str | UnsetType | None = UNSET
    status: Status | UnsetType | None = UNSET


Item: TypeAlias = EasyMessage | OutputMessage | Reasoning | FunctionCall | FunctionCallOutput


class FunctionTool(_Strict, frozen=True):
    """A tool on offer."""

    type: Literal["function"]
    name: Annotated[str, Meta(pattern=NAME_PATTERN)]
    parameters: dict[str, Any] | None
    strict: bool | None
    description: str | UnsetType | None = UNSET


class ChosenFunction(_Strict, frozen=True):
    """A function that must be called."""

    type: Literal["function"]
    name: str


class ReasoningOptions(_Strict, frozen=True):
    """Whether and how the model thinks before it answers; it does unless told otherwise."""

    effort: Effort | UnsetType | None = UNSET
    summary: Summary | UnsetType | None = UNSET
    generate_summary: Summary | UnsetType | None = UNSET
    context: Literal["auto", "current_turn", "all_turns"] | UnsetType | None = UNSET
    mode: str | UnsetType = UNSET


class StreamOptions(_Strict, frozen=True):
    """What a stream carries beside the reply."""

    include_obfuscation: bool | UnsetType = UNSET


class PromptCacheOptions(_Strict, frozen=True):
    """How prompts are cached."""

    mode: Literal["implicit", "explicit"] | UnsetType = UNSET
    ttl: Literal["30m", "12h"] | UnsetType = UNSET
    prewarm: bool | UnsetType = UNSET
    comparison_response_id: str | UnsetType | None = UNSET


class TextFormat(_Strict, frozen=True):
    """The form of the answer: text is the only one here."""

    type: Literal["text"]


class TextOptions(_Strict, frozen=True):
    """How the answer is written."""

    format: TextFormat | UnsetType = UNSET
    verbosity: Literal["low", "medium", "high"] | UnsetType | None = UNSET


class ResponsesRequest(_Strict, frozen=True):
    """A whole request. `input` and `tools` are decoded apart."""

    model: str
    input: msgspec.Raw
    instructions: str | UnsetType | None = UNSET
    include: list[Literal["reasoning.encrypted_content"]] | UnsetType | None = UNSET
    max_output_tokens: Annotated[int, Meta(ge=16)] | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType | None = UNSET
    parallel_tool_calls: bool | UnsetType | None = UNSET
    prompt_cache_key: str | UnsetType | None = UNSET
    prompt_cache_options: PromptCacheOptions | UnsetType = UNSET
    prompt_cache_retention: Literal["in_memory", "24h"] | UnsetType | None = UNSET
    reasoning: ReasoningOptions | UnsetType | None = UNSET
    safety_identifier: str | UnsetType | None = UNSET
    service_tier: (
        Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]
        | UnsetType
        | None
    ) = UNSET
    store: bool | UnsetType | None = UNSET
    stream: bool | UnsetType | None = UNSET
    stream_options: StreamOptions | UnsetType | None = UNSET
    text: TextOptions | UnsetType = UNSET
    tool_choice: Literal["none", "auto", "required"] | ChosenFunction | UnsetType = UNSET
    tools: msgspec.Raw | UnsetType = UNSET
    truncation: Literal["auto", "disabled"] | UnsetType | None = UNSET
    user: str | UnsetType = UNSET
    # The service knows these, and this kind of model, or a service that stores nothing, takes none.
    access_programs: msgspec.Raw | UnsetType = UNSET
    background: msgspec.Raw | UnsetType = UNSET
    background_options: msgspec.Raw | UnsetType = UNSET
    context_management: msgspec.Raw | UnsetType = UNSET
    conversation: msgspec.Raw | UnsetType = UNSET
    image: msgspec.Raw | UnsetType = UNSET
    max_tool_calls: msgspec.Raw | UnsetType = UNSET
    moderation: msgspec.Raw | UnsetType = UNSET
    previous_response_id: msgspec.Raw | UnsetType = UNSET
    prompt: msgspec.Raw | UnsetType = UNSET
    temperature: msgspec.Raw | UnsetType = UNSET
    top_logprobs: msgspec.Raw | UnsetType = UNSET
    top_p: msgspec.Raw | UnsetType = UNSET


NOT_TAKEN: Final = (
    "access_programs",
    "background",
    "background_options",
    "context_management",
    "conversation",
    "image",
    "max_tool_calls",
    "moderation",
    "previous_response_id",
    "prompt",
    "temperature",
    "top_logprobs",
    "top_p",
)
