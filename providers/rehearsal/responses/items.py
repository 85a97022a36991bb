"""The items of a request: their order, the pairing of calls and results, reasoning in its place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

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
from providers.rehearsal.decoding import decoded
from providers.rehearsal.identifiers import item_id
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.responses.request import (
    EasyMessage,
    FunctionCall,
    FunctionCallOutput,
    InputText,
    Item,
    OutputMessage,
    OutputText,
    Reasoning,
)
from providers.rehearsal.seals import Closed, Sealer


class _Kind(msgspec.Struct, frozen=True):
    """What tells items apart; all else is read by the type that it names."""

    type: str = "message"
    role: str = ""


_KIND: Final = msgspec.json.Decoder(_Kind)
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_TYPES: Final[Mapping[str, "msgspec.json.Decoder[Any]"]] = {
    "reasoning": msgspec.json.Decoder(Reasoning),
    "function_call": msgspec.json.Decoder(FunctionCall),
    "function_call_output": msgspec.json.Decoder(FunctionCallOutput),
}
_SAID: Final = msgspec.json.Decoder(OutputMessage)
_TOLD: Final = msgspec.json.Decoder(EasyMessage)
_TEXT: Final = msgspec.json.Decoder(str)


@dataclass
class _Said:
    """What the model said between two turns of others: the items, the first one's position."""

    position: int
    turn: int
    items: list[Reasoning | OutputMessage | FunctionCall] = field(default_factory=list)
    closed: Closed | None = None

    @property
    def reasoning(self) -> list[Reasoning]:
        return [item for item in self.items if isinstance(item, Reasoning)]

    @property
    def calls(self) -> list[FunctionCall]:
        return [item for item in self.items if isinstance(item, FunctionCall)]

    def reply(self) -> ReplyTurn:
        return ReplyTurn(
            reasoning="" if self.closed is None else self.closed.reasoning,
            text="".join(_said(item) for item in self.items if isinstance(item, OutputMessage)),
            calls=tuple(Call(call.call_id, call.name, call.arguments) for call in self.calls),
        )


def read_items(
    model: str,
    instructions: str,
    raw: bytes,
    tools: frozenset[str],
    sealer: Sealer,
    *,
    thinks: bool,
) -> Conversation:
    """The conversation that the items hold.

    Raises:
        Refusal: an unknown item, calls and results that do not pair, or reasoning that is missing,
            was changed, or stands elsewhere than where it was said.
    """
    items = _items(raw)
    turns: list[Turn | _Said] = []
    for position, item in enumerate(items):
        match item:
            case EasyMessage(role="user", content=content):
                turns.append(UserTurn(_text(content)))
            case EasyMessage():
                raise bad_request(
                    "Instructions belong into 'instructions' with this model.",
                    f"input[{position}].role",
                )
            case FunctionCallOutput(call_id=call_id, output=output):
                turns.append(ResultTurn(call_id, _text(output)))
            case Reasoning() | OutputMessage() | FunctionCall():
                if not turns or not isinstance(turns[-1], _Said):
                    turns.append(_Said(position, len(turns)))
                last = turns[-1]
                assert isinstance(last, _Said)
                last.items.append(item)
    _check_pairs(items)
    replies = [turn for turn in turns if isinstance(turn, _Said)]
    if not turns or isinstance(turns[-1], _Said):
        raise bad_request("The last item must be of the user or the output of a call.", "input")
    for said in replies:
        said.closed = _opened(said, sealer)
    spoken = [turn.reply() if isinstance(turn, _Said) else turn for turn in turns]
    talk = conversation(model, [instructions] if instructions else [], spoken, tools)
    for said in replies:
        _check_place(said, talk, sealer, thinks=thinks)
    return talk


def _items(raw: bytes) -> list[Item]:
    if raw.lstrip().startswith(b'"'):
        return [EasyMessage("user", decoded(_TEXT, raw, "input"))]
    found: list[Item] = []
    texts: list[msgspec.Raw] = decoded(_LIST, raw, "input")
    for position, text in enumerate(texts):
        place = f"input[{position}]"
        kind = decoded(_KIND, bytes(text), place)
        if (decoder := _decoder_of(kind)) is not None:
            found.append(decoded(decoder, bytes(text), place))
        else:
            raise bad_request(
                f"Invalid value: '{kind.type}'. Supported values are: 'message', 'reasoning', "
                "'function_call', and 'function_call_output'.",
                f"{place}.type",
                "invalid_value",
            )
    return found


def _decoder_of(kind: _Kind) -> "msgspec.json.Decoder[Any] | None":
    if kind.type == "message":
        return _SAID if kind.role == "assistant" else _TOLD
    return _TYPES.get(kind.type)


def _check_pairs(items: list[Item]) -> None:
    """Every call is answered exactly once, before the model speaks again, and nothing else is."""
    waiting: list[str] = []
    is_answering = False
    for position, item in enumerate(items):
        if isinstance(item, FunctionCallOutput):
            is_answering = True
            if item.call_id not in waiting:
                raise bad_request(
                    f"No tool call found for function call output with call_id {item.call_id}.",
                    "input",
                )
            waiting.remove(item.call_id)
            continue
        if waiting and (is_answering or isinstance(item, EasyMessage)):
            break
        is_answering = False
        if isinstance(item, FunctionCall):
            if item.call_id in waiting:
                raise bad_request(
                    f"Duplicate call_id '{item.call_id}'.", f"input[{position}].call_id"
                )
            waiting.append(item.call_id)
    if waiting:
        raise bad_request(f"No tool output found for function call {waiting[0]}.", "input")


def _opened(said: _Said, sealer: Sealer) -> Closed | None:
    for item in said.reasoning:
        text = item.encrypted_content
        if not isinstance(text, str):
            raise Refusal(
                404,
                f"Item with id '{item.id}' not found. Items are not persisted when `store` is set "
                "to false. Try again with `store` set to true, or remove this item from your "
                "input.",
                param="input",
            )
        closed = sealer.opened(text)
        if closed is None:
            raise _unverified(item)
        return closed
    return None


def _check_place(said: _Said, talk: Conversation, sealer: Sealer, *, thinks: bool) -> None:
    """Reasoning stands once, first, whole, and where it was said; what it led to stands behind it
    under its own ids.
    """
    place = talk.places[said.turn]
    if not said.reasoning:
        if thinks and said.calls:
            raise bad_request(
                f"Item '{said.calls[0].id or said.calls[0].call_id}' of type 'function_call' was "
                f"provided without its required 'reasoning' item: '{item_id('rs', place, 0)}'.",
                "input",
            )
        return
    first, *following = said.items
    expected = [item_id(_PREFIXES[type(item)], place, n) for n, item in enumerate(said.items)]
    given = [item.id for item in said.items]
    if len(said.reasoning) > 1 or first is not said.reasoning[0] or not following or UNSET in given:
        raise bad_request(
            f"Item '{said.reasoning[0].id}' of type 'reasoning' was provided without its required "
            "following item.",
            "input",
        )
    call_ids = [call.call_id for call in said.calls]
    if said.closed is None or not sealer.belongs(said.closed, talk.model, place, call_ids):
        raise _unverified(said.reasoning[0])
    for number, (mine, theirs) in enumerate(zip(expected, given, strict=True)):
        if mine != theirs:
            raise bad_request(
                f"Invalid '{theirs}': no item of this conversation has this id here.",
                f"input[{said.position + number}].id",
                "invalid_value",
            )


_PREFIXES: Final = {Reasoning: "rs", OutputMessage: "msg", FunctionCall: "fc"}


def _unverified(item: Reasoning) -> Refusal:
    return bad_request(
        f"The encrypted content for item {item.id} could not be verified. Reason: Encrypted "
        "content could not be decrypted or parsed.",
        code="invalid_encrypted_content",
    )


def _said(message: OutputMessage) -> str:
    return "".join(
        part.text if isinstance(part, OutputText) else part.refusal for part in message.content
    )


def _text(content: str | list[InputText]) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)
