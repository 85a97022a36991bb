"""The messages of a request: their blocks, the pairing of calls and results, the signatures."""

from dataclasses import dataclass

import msgspec
from msgspec import UNSET

from providers.rehearsal.conversation import (
    Call,
    Conversation,
    ReplyTurn,
    ResultTurn,
    Turn,
    UserTurn,
    conversation,
)
from providers.rehearsal.messages.request import (
    AssistantBlock,
    AssistantMessage,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    UserMessage,
)
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.seals import Closed, Sealer


@dataclass(frozen=True)
class _Said:
    """What the model said: its blocks, where in the request, and which turn it is."""

    position: int
    turn: int
    blocks: list[AssistantBlock]
    closed: Closed | None

    @property
    def calls(self) -> list[ToolUseBlock]:
        return _calls(self.blocks)


def read_messages(
    model: str,
    system: list[str],
    messages: list[Message],
    tools: frozenset[str],
    sealer: Sealer,
    *,
    thinks: bool,
) -> Conversation:
    """The conversation that the messages hold.

    Raises:
        Refusal: calls and results that do not pair, or thoughts that are missing, were changed, or
            stand elsewhere than where they were said.
    """
    if isinstance(messages[-1], AssistantMessage):
        raise bad_request(
            "This model does not support assistant message prefill. The conversation must end with "
            "a user message."
        )
    if isinstance(messages[0], AssistantMessage):
        raise bad_request('messages: first message must use the "user" role')
    for position, message in enumerate(messages):
        _check_content(message, position)
    _check_pairs(messages)
    turns: list[Turn] = []
    replies: list[_Said] = []
    for position, message in enumerate(messages):
        if isinstance(message, UserMessage):
            turns += [_heard(block) for block in _user_blocks(message)]
            continue
        blocks = _assistant_blocks(message)
        said = _Said(position, len(turns), blocks, _opened(blocks, position, sealer))
        replies.append(said)
        turns.append(_reply(said))
    talk = conversation(model, system, turns, tools)
    for said in replies:
        _check_thoughts(said, talk, sealer, thinks=thinks)
    return talk


def _check_content(message: Message, position: int) -> None:
    blocks: list[UserBlock] | list[AssistantBlock]
    blocks = (
        _user_blocks(message) if isinstance(message, UserMessage) else _assistant_blocks(message)
    )
    if not blocks:
        raise bad_request(f"messages.{position}: all messages must have non-empty content")
    for block in blocks:
        if isinstance(block, TextBlock) and not block.text.strip():
            raise bad_request("messages: text content blocks must contain non-whitespace text")
    if isinstance(blocks[-1], ThinkingBlock | RedactedThinkingBlock):
        raise bad_request(
            f"messages.{position}: The final block in an assistant message cannot be `thinking`."
        )


def _check_pairs(messages: list[Message]) -> None:
    """Every call is answered once, at the head of the message after it, and nothing else is."""
    waiting: list[str] = []
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            if waiting:
                raise _unanswered(waiting, position - 1)
            waiting = [call.id for call in _calls(_assistant_blocks(message))]
            if len(set(waiting)) < len(waiting):
                raise bad_request(f"messages.{position}: `tool_use` ids must be unique")
            continue
        for number, block in enumerate(_user_blocks(message)):
            if not isinstance(block, ToolResultBlock):
                break
            if block.tool_use_id not in waiting:
                raise _unexpected(block, position, number)
            waiting.remove(block.tool_use_id)
        if waiting:
            raise _unanswered(waiting, position - 1)
        _check_rest(message, position)


def _check_rest(message: UserMessage, position: int) -> None:
    blocks = _user_blocks(message)
    results = [isinstance(block, ToolResultBlock) for block in blocks]
    head = results.index(False) if False in results else len(results)
    for number in range(head, len(blocks)):
        block = blocks[number]
        if isinstance(block, ToolResultBlock):
            raise _unexpected(block, position, number)


def _unexpected(block: ToolResultBlock, position: int, number: int) -> Refusal:
    return bad_request(
        f"messages.{position}.content.{number}: unexpected `tool_use_id` found in `tool_result` "
        f"blocks: {block.tool_use_id}. Each `tool_result` block must have a corresponding "
        "`tool_use` block in the previous message."
    )


def _unanswered(waiting: list[str], position: int) -> Refusal:
    return bad_request(
        f"messages.{position}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(waiting)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def _opened(blocks: list[AssistantBlock], position: int, sealer: Sealer) -> Closed | None:
    for number, block in enumerate(blocks):
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            text = block.signature if isinstance(block, ThinkingBlock) else block.data
            closed = sealer.opened(text)
            if closed is None:
                raise _invalid(block, position, number)
            if isinstance(block, ThinkingBlock) and block.thinking not in ("", closed.reasoning):
                raise _invalid(block, position, number)
            return closed
    return None


def _check_thoughts(said: _Said, talk: Conversation, sealer: Sealer, *, thinks: bool) -> None:
    """One thought, first, where it was said: always before calls, otherwise if there is one."""
    first = said.blocks[0]
    where = f"messages.{said.position}.content.0"
    thoughts = [isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in said.blocks]
    if thinks and (said.calls or any(thoughts)) and not thoughts[0]:
        raise bad_request(
            f"{where}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first.__struct_config__.tag}`. When `thinking` is enabled, a final `assistant` "
            "message must start with a thinking block (preceeding the lastmost set of `tool_use` "
            "and `tool_result` blocks). To avoid this requirement, disable `thinking`."
        )
    if thoughts.count(True) > 1:
        raise bad_request(
            f"messages.{said.position}.content.{thoughts.index(True, 1)}: `thinking` or "
            "`redacted_thinking` blocks in the latest assistant message cannot be modified. These "
            "blocks must remain as they were in the original response."
        )
    if said.closed is None:
        return
    ids = [call.id for call in said.calls]
    if not sealer.belongs(said.closed, talk.model, talk.places[said.turn], ids):
        raise _invalid(first, said.position, 0, " The block is bound to a different conversation.")


def _invalid(block: AssistantBlock, position: int, number: int, why: str = "") -> Refusal:
    kind = str(block.__struct_config__.tag)
    part = "signature" if kind == "thinking" else "data"
    return bad_request(
        f"messages.{position}.content.{number}: Invalid `{part}` in `{kind}` block.{why}"
    )


def _reply(said: _Said) -> ReplyTurn:
    texts = (block.text for block in said.blocks if isinstance(block, TextBlock))
    return ReplyTurn(
        reasoning="" if said.closed is None else said.closed.reasoning,
        text="".join(texts),
        calls=tuple(
            # As the agent wrote it: white space of the object that came back is not the model's.
            Call(call.id, call.name, msgspec.json.encode(call.input).decode())
            for call in said.calls
        ),
    )


def _heard(block: UserBlock) -> Turn:
    if isinstance(block, TextBlock):
        return UserTurn(block.text)
    content = block.content
    if isinstance(content, list):
        content = "".join(part.text for part in content)
    return ResultTurn(block.tool_use_id, "" if content is UNSET else content)


def _calls(blocks: list[AssistantBlock]) -> list[ToolUseBlock]:
    return [block for block in blocks if isinstance(block, ToolUseBlock)]


def _user_blocks(message: UserMessage) -> list[UserBlock]:
    content = message.content
    return [TextBlock(content)] if isinstance(content, str) else content


def _assistant_blocks(message: AssistantMessage) -> list[AssistantBlock]:
    content = message.content
    return [TextBlock(content)] if isinstance(content, str) else content
