"""The request body of Messages, field by field.

Names and types are those of the parameter types that the vendor's SDK publishes, restricted to what
a text model with tools takes; a test holds the two together.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
Display: TypeAlias = Literal["summarized", "omitted"]
NAME_PATTERN: Final = "^[a-zA-Z0-9_-]{1,128}$"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class CacheControl(_Strict, frozen=True):
    """Marks the end of a reusable prefix."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | UnsetType = UNSET


Marked: TypeAlias = CacheControl | UnsetType | None


class TextBlock(_Strict, frozen=True, tag_field="type", tag="text"):
    """Text of either side."""

    text: str
    cache_control: Marked = UNSET
    citations: list[Any] | UnsetType | None = UNSET


class ThinkingBlock(_Strict, frozen=True, tag_field="type", tag="thinking"):
    """A thought, or its signature alone."""

    thinking: str
    signature: str


class RedactedThinkingBlock(_Strict, frozen=True, tag_field="type", tag="redacted_thinking"):
    """A thought that nobody may read."""

    data: str


class ToolUseBlock(_Strict, frozen=True, tag_field="type", tag="tool_use"):
    """A call; its input is an object."""

    id: Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]+$")]
    input: dict[str, Any]
    name: str
    cache_control: Marked = UNSET


class ToolResultBlock(_Strict, frozen=True, tag_field="type", tag="tool_result"):
    """The result of a call."""

    tool_use_id: str
    content: str | list[TextBlock] | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    cache_control: Marked = UNSET


UserBlock: TypeAlias = TextBlock | ToolResultBlock
AssistantBlock: TypeAlias = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock


class UserMessage(_Strict, frozen=True, tag_field="role", tag="user"):
    """What the user and the tools say."""

    content: str | list[UserBlock]


class AssistantMessage(_Strict, frozen=True, tag_field="role", tag="assistant"):
    """What the model said."""

    content: str | list[AssistantBlock]


Message: TypeAlias = UserMessage | AssistantMessage


class Tool(_Strict, frozen=True):
    """A tool on offer."""

    name: Annotated[str, Meta(pattern=NAME_PATTERN)]
    input_schema: dict[str, Any]
    description: str | UnsetType = UNSET
    type: Literal["custom"] | UnsetType | None = UNSET
    strict: bool | UnsetType = UNSET
    cache_control: Marked = UNSET


class AdaptiveThinking(_Strict, frozen=True, tag_field="type", tag="adaptive"):
    """The model decides how much it thinks."""

    display: Display | UnsetType | None = UNSET


class EnabledThinking(_Strict, frozen=True, tag_field="type", tag="enabled"):
    """The model thinks, within a budget."""

    budget_tokens: Annotated[int, Meta(ge=1_024)]
    display: Display | UnsetType | None = UNSET


class DisabledThinking(_Strict, frozen=True, tag_field="type", tag="disabled"):
    """The model does not think."""


Thinking: TypeAlias = AdaptiveThinking | EnabledThinking | DisabledThinking


class OutputConfig(_Strict, frozen=True):
    """How much goes into the answer."""

    effort: Effort | UnsetType | None = UNSET


class ToolChoice(_Strict, frozen=True):
    """Whether a tool is called, and whether several are at once."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | UnsetType = UNSET
    disable_parallel_tool_use: bool | UnsetType = UNSET


class Metadata(_Strict, frozen=True):
    """Who asks."""

    user_id: str | UnsetType | None = UNSET


class MessagesRequest(_Strict, frozen=True):
    """A whole request. `tools` is decoded apart, because every request repeats the same ones."""

    model: str
    max_tokens: Annotated[int, Meta(ge=1)]
    messages: Annotated[list[Message], Meta(min_length=1)]
    cache_control: Marked = UNSET
    metadata: Metadata | UnsetType = UNSET
    output_config: OutputConfig | UnsetType = UNSET
    service_tier: Literal["auto", "standard_only"] | UnsetType = UNSET
    speed: Literal["fast", "standard"] | UnsetType | None = UNSET
    inference_geo: str | UnsetType | None = UNSET
    stream: bool | UnsetType = UNSET
    system: str | list[TextBlock] | UnsetType = UNSET
    thinking: Thinking | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET
    tools: msgspec.Raw | UnsetType = UNSET
    # The service knows these, and this kind of model does not take them.
    container: msgspec.Raw | UnsetType = UNSET
    diagnostics: msgspec.Raw | UnsetType = UNSET
    stop_sequences: msgspec.Raw | UnsetType = UNSET
    user_profile_id: msgspec.Raw | UnsetType = UNSET
    workspace_id: msgspec.Raw | UnsetType = UNSET


NOT_TAKEN: Final = (
    "container",
    "diagnostics",
    "stop_sequences",
    "user_profile_id",
    "workspace_id",
)
