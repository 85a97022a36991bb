"""What a protocol makes of a request that passed, and what it is given to write."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from providers.rehearsal.conversation import Conversation
from providers.rehearsal.refusals import Refusal
from providers.rehearsal.replies import SpokenReply, Tally


@dataclass(frozen=True)
class Offer:
    """The tools on offer: their names, and their text as it was sent."""

    names: frozenset[str]
    text: str


NO_TOOLS = Offer(frozenset(), "")


@dataclass(frozen=True)
class Question:
    """A request that passed: the conversation, and how to answer it. `ceiling` is in tokens.

    `told` holds what else of the request its protocol needs to answer.
    """

    conversation: Conversation
    offer: Offer
    ceiling: int
    thinks: bool
    one_call_at_a_time: bool
    streams: bool
    reports_usage: bool = True
    told: Any = None


@dataclass(frozen=True)
class Answer:
    """A reply to a question before it is written.

    `model` is the one that the reply says it is from; `digest` is that of the request.
    """

    question: Question
    reply: SpokenReply
    tally: Tally
    model: str
    digest: str
    reports_usage: bool
    created: int = field(kw_only=True)

    @property
    def is_sealed(self) -> bool:
        """Whether the reply has reasoning that is whole, and so worth a seal."""
        return self.question.thinks and self.reply.has_whole_reasoning


class WireProtocol(Protocol):
    """A protocol of the services: it reads requests, and writes replies and refusals."""

    @property
    def request_id_header(self) -> str:
        """The header that names the request in a response."""

    @property
    def key_headers(self) -> tuple[str, ...]:
        """The headers that may hold the key."""

    @property
    def required_headers(self) -> tuple[str, ...]:
        """Headers that a request must have."""

    def read(self, body: bytes) -> Question:
        """The question in a body. Raises Refusal."""

    def too_long(self, question: Question, tally: Tally, longest: int) -> Refusal:
        """The refusal of a conversation that does not fit."""

    def whole(self, answer: Answer) -> bytes:
        """The reply as one object."""

    def stream(self, answer: Answer, pieces: int) -> Iterator[bytes]:
        """The reply as events, its texts in about `pieces` pieces."""

    def error_event(self, code: str, message: str) -> bytes:
        """The event by which a stream that began with success says that it has failed."""

    def refusal(self, refusal: Refusal, request_id: str, /) -> bytes:
        """The error object of a refusal."""
