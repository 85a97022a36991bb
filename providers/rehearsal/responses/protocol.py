"""Responses as the endpoint serves it."""

from collections.abc import Iterator

import msgspec

from providers.rehearsal.agents import AGENTS
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import Answer, Question
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.replies import Tally
from providers.rehearsal.responses import writing
from providers.rehearsal.responses.checks import read_question
from providers.rehearsal.seals import Sealer


class Responses:
    """A `WireProtocol`."""

    request_id_header = "x-request-id"
    key_headers = ("authorization",)
    required_headers = ()

    def __init__(self, options: GatewayOptions, sealer: Sealer) -> None:
        self._options = options
        self._sealer = sealer

    def read(self, body: bytes) -> Question:
        """The question in a body. Raises Refusal."""
        return read_question(body, AGENTS, self._options, self._sealer)

    def too_long(self, question: Question, tally: Tally, longest: int) -> Refusal:
        """The refusal of a conversation that does not fit."""
        return bad_request(
            "Your input exceeds the context window of this model. Please adjust your input and "
            f"try again: {tally.input_tokens} tokens of input and {question.ceiling} of output "
            f"are more than {longest}.",
            "input",
            "context_length_exceeded",
        )

    def whole(self, answer: Answer) -> bytes:
        """The reply as one object."""
        return writing.whole(answer, self._sealer)

    def stream(self, answer: Answer, pieces: int) -> Iterator[bytes]:
        """The reply as events."""
        return writing.stream(answer, self._sealer, pieces)

    def error_event(self, code: str, message: str) -> bytes:
        """The event of a stream that has failed."""
        data = {"type": "error", "code": code, "message": message, "param": None}
        # A place far behind whatever came before it.
        return writing.event(data, 2**31)

    def refusal(self, refusal: Refusal, _: str, /) -> bytes:
        """The error object of a refusal; the request is named by a header alone."""
        return msgspec.json.encode({"error": refusal.error})
