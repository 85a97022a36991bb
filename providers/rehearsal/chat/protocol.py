"""Chat Completions as the endpoint serves it."""

from collections.abc import Iterator

import msgspec

from providers.rehearsal.agents import AGENTS
from providers.rehearsal.chat import writing
from providers.rehearsal.chat.checks import read_question
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import Answer, Question
from providers.rehearsal.refusals import Refusal, bad_request
from providers.rehearsal.replies import Tally
from providers.rehearsal.seals import Sealer


class ChatCompletions:
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
            f"This model's maximum context length is {longest} tokens. However, you requested "
            f"{tally.input_tokens + question.ceiling} tokens ({tally.input_tokens} in the "
            f"messages, {question.ceiling} in the completion). Please reduce the length of the "
            "messages or completion.",
            "messages",
            "context_length_exceeded",
        )

    def whole(self, answer: Answer) -> bytes:
        """The reply as one object."""
        return writing.whole(self._envelope(answer), answer.reply, answer.tally)

    def stream(self, answer: Answer, pieces: int) -> Iterator[bytes]:
        """The reply as events."""
        return writing.stream(
            self._envelope(answer),
            answer.reply,
            answer.tally,
            pieces,
            reports_usage=answer.reports_usage,
        )

    def error_event(self, code: str, message: str) -> bytes:
        """The event of a stream that has failed."""
        return writing.error(code, message)

    def refusal(self, refusal: Refusal, _: str, /) -> bytes:
        """The error object of a refusal; the request is named by a header alone."""
        return msgspec.json.encode({"error": refusal.error})

    def _envelope(self, answer: Answer) -> writing.Envelope:
        talk = answer.question.conversation
        call_ids = [call.call_id for call in answer.reply.calls]
        thought = answer.reply.reasoning
        reasoning_seal = call_seal = None
        if answer.is_sealed:
            reasoning_seal = self._sealer.reasoning(talk.model, talk.place, thought, call_ids)
            if call_ids:
                call_seal = self._sealer.call(talk.model, talk.place, call_ids[0])
        return writing.Envelope(
            reply_id=f"chatcmpl-{answer.digest[:29]}",
            created=answer.created,
            model=answer.model,
            reasoning_seal=reasoning_seal,
            call_seal=call_seal,
        )
