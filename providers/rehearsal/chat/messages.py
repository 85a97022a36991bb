"""The messages of a request: their order, the pairing of calls and results, the seals."""

from collections.abc import Iterator

from msgspec import UNSET, UnsetType

from providers.rehearsal.chat.request import (
    AssistantMessage,
    DeveloperMessage,
    Message,
    RefusalPart,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from providers.rehearsal.conversation import (
    Call,
    Conversation,
    ReplyTurn,
    ResultTurn,
    Turn,
    UserTurn,
    conversation,
)
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.seals import Sealer, same


def read_messages(
    model: str, messages: list[Message], tools: frozenset[str], sealer: Sealer, *, thinks: bool
) -> Conversation:
    """The conversation that the messages hold.

    Raises:
        Refusal: an order or pairing that no conversation can have, or reasoning that is missing,
            was changed, or stands elsewhere than where it was said.
    """
    start = _check_system(messages)
    _check_pairs(messages)
    if isinstance(messages[-1], AssistantMessage):
        raise bad_request(
            "The last message must be of the user or of a tool: this model does not continue an "
            "assistant message.",
            f"messages.[{len(messages) - 1}].role",
        )
    system = [
        _text(message.content)
        for message in messages[:start]
        if isinstance(message, SystemMessage | DeveloperMessage)
    ]
    turns = [
        _turn(message, position) for position, message in enumerate(messages[start:], start=start)
    ]
    talk = conversation(model, system, turns, tools)
    for number, message in enumerate(messages[start:]):
        if isinstance(message, AssistantMessage):
            _check_seals(message, start + number, talk, number, sealer, thinks=thinks)
    return talk


def _check_system(messages: list[Message]) -> int:
    """The number of messages of the system, which stand first."""
    is_system = [isinstance(message, SystemMessage | DeveloperMessage) for message in messages]
    start = is_system.index(False) if False in is_system else len(messages)
    if True in is_system[start:]:
        position = is_system.index(True, start)
        raise bad_request(
            "A system message must be at the beginning of the messages.",
            f"messages.[{position}].role",
        )
    return start


def _check_pairs(messages: list[Message]) -> None:
    """Every call is answered exactly once, directly after its message, and nothing else is."""
    waiting: list[str] = []
    answered: set[str] = set()
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            _check_result(message, position, waiting, answered)
            continue
        if waiting:
            raise _unanswered(waiting, position)
        answered = set()
        if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET:
            ids = [call.id for call in message.tool_calls]
            waiting = list(dict.fromkeys(ids))
            # Ids that were given twice by a fault plan come back under the seal of the reasoning.
            if len(waiting) < len(ids) and message.reasoning_signature is UNSET:
                raise bad_request(
                    "Duplicate value for 'tool_call_id' among the 'tool_calls' of a message.",
                    f"messages.[{position}].tool_calls",
                )
    if waiting:
        raise _unanswered(waiting, len(messages))


def _check_result(
    message: ToolMessage, position: int, waiting: list[str], answered: set[str]
) -> None:
    if message.tool_call_id in waiting:
        waiting.remove(message.tool_call_id)
        answered.add(message.tool_call_id)
        return
    if message.tool_call_id in answered:
        raise bad_request(
            f"Duplicate value for 'tool_call_id' of '{message.tool_call_id}': the call has been "
            "answered already.",
            f"messages.[{position}].tool_call_id",
        )
    raise bad_request(
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message "
        f"with 'tool_calls'; '{message.tool_call_id}' answers none.",
        f"messages.[{position}].role",
    )


def _unanswered(waiting: list[str], position: int) -> Refusal:
    return bad_request(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        + ", ".join(waiting),
        f"messages.[{position}].role",
    )


def _turn(message: Message, position: int) -> Turn:
    match message:
        case UserMessage():
            return UserTurn(_text(message.content))
        case ToolMessage():
            return ResultTurn(message.tool_call_id, _text(message.content))
        case AssistantMessage():
            return _reply_turn(message, position)
        case SystemMessage() | DeveloperMessage():
            raise AssertionError("system messages stand before the turns")


def _reply_turn(message: AssistantMessage, position: int) -> ReplyTurn:
    calls = () if message.tool_calls is UNSET else message.tool_calls
    if not calls and (message.content is None or message.content is UNSET):
        raise bad_request(
            f"Invalid value for 'messages[{position}].content': an assistant message must have "
            "content or 'tool_calls'.",
            f"messages[{position}].content",
            "invalid_value",
        )
    return ReplyTurn(
        reasoning=message.reasoning_content or "",
        text=_text(message.content),
        calls=tuple(Call(call.id, call.function.name, call.function.arguments) for call in calls),
    )


def _text(content: str | list[TextPart] | list[TextPart | RefusalPart] | UnsetType | None) -> str:
    if isinstance(content, str):
        return content
    return "".join(_part_texts(content)) if isinstance(content, list) else ""


def _part_texts(content: list[TextPart] | list[TextPart | RefusalPart]) -> Iterator[str]:
    for part in content:
        yield part.text if isinstance(part, TextPart) else part.refusal


def _check_seals(
    message: AssistantMessage,
    position: int,
    talk: Conversation,
    number: int,
    sealer: Sealer,
    *,
    thinks: bool,
) -> None:
    """Reasoning comes back whole and in place: always with calls, otherwise if it comes at all."""
    calls = () if message.tool_calls is UNSET else message.tool_calls
    reasoning = message.reasoning_content or ""
    seal = message.reasoning_signature
    if thinks and calls and (not reasoning or seal is UNSET):
        missing = "reasoning_signature" if reasoning else "reasoning_content"
        raise _unsealed(
            position,
            missing,
            f"The `{missing}` in the thinking mode must be passed back to the API; it is missing "
            f"in messages[{position}], an assistant message with 'tool_calls'.",
        )
    place = talk.places[number]
    if seal is not UNSET and not same(
        seal, sealer.reasoning(talk.model, place, reasoning, [call.id for call in calls])
    ):
        raise _unsealed(
            position,
            "reasoning_signature",
            f"Invalid `reasoning_signature` in messages[{position}]: the reasoning was changed, or "
            "it does not stand where it was said, directly before its own tool calls and after "
            "the same messages.",
        )
    if not calls or not thinks:
        return
    extra = calls[0].extra_content
    if extra is UNSET or not same(
        extra.rehearsal.thought_signature, sealer.call(talk.model, place, calls[0].id)
    ):
        what = "is missing a" if extra is UNSET else "has another call's"
        raise _unsealed(
            position,
            "tool_calls[0].extra_content",
            f"Function call {what} thought_signature in messages[{position}].tool_calls[0]."
            "extra_content.rehearsal: the first call of a message brings back the one it came "
            "with.",
        )


def _unsealed(position: int, field: str, message: str) -> Refusal:
    return bad_request(message, f"messages[{position}].{field}", "invalid_request_error")
