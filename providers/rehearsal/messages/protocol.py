"""Messages as the endpoint serves it."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from providers.rehearsal.agents import AGENTS
from providers.rehearsal.messages import writing
from providers.rehearsal.messages.checks import read_question
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import Answer, Question
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.replies import Tally
from providers.rehearsal.seals import Sealer

# What the service calls its refusals, by status.
_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Messages:
    """A `WireProtocol`."""

    request_id_header = "request-id"
    key_headers = ("authorization", "x-api-key")
    required_headers = ("anthropic-version",)

    def __init__(self, options: GatewayOptions, sealer: Sealer) -> None:
        self._options = options
        self._sealer = sealer

    def read(self, body: bytes) -> Question:
        """The question in a body. Raises Refusal."""
        return read_question(body, AGENTS, self._options, self._sealer)

    def too_long(self, question: Question, tally: Tally, longest: int) -> Refusal:
        """The refusal of a conversation that does not fit."""
        if tally.input_tokens > longest:
            return bad_request(
                f"prompt is too long: {tally.input_tokens} tokens > {longest} maximum"
            )
        return bad_request(
            f"input length and `max_tokens` exceed context limit: {tally.input_tokens} + "
            f"{question.ceiling} > {longest}, decrease input length or `max_tokens` and try again"
        )

    def whole(self, answer: Answer) -> bytes:
        """The reply as one object."""
        return writing.whole(answer, self._sealer)

    def stream(self, answer: Answer, pieces: int) -> Iterator[bytes]:
        """The reply as events."""
        return writing.stream(answer, self._sealer, pieces)

    def error_event(self, code: str, message: str) -> bytes:
        """The event of a stream that has failed."""
        return writing.event({"type": "error", "error": {"type": code, "message": message}})

    def refusal(self, refusal: Refusal, request_id: str, /) -> bytes:
        """The error object of a refusal."""
        kind = _KINDS.get(refusal.status, "api_error")
        error: dict[str, Any] = {"type": kind, "message": refusal.error.message}
        if refusal.error.code is not None:
            error["details"] = {"error_code": refusal.error.code}
        return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})
