"""What replies are held to in every protocol: their bounds, who answers, that they are whole."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from providers.contract import Fault, FaultKind, ProviderFault, Reply, ToolCall
from providers.faults import Scrub
from providers.routes import Route
from providers.sse import Event
from providers.transport import Exchanged, Sink

LARGEST_ARGUMENTS_BYTES: Final = 1024 * 1024
# Assembled text of one reply. The largest ceiling of a route, 393,216 tokens, is below a fifth.
LARGEST_REPLY_BYTES: Final = 16 * 1024 * 1024
LONGEST_NAME: Final = 200

TOO_LARGE: Final = "The reply is larger than any route's ceiling allows."


def check_ids(calls: Sequence[ToolCall], request_id: str | None) -> None:
    """Hold the calls of a reply to a protocol in which each has an id of its own: sent back, two of
    one id would have the whole conversation refused from then on.

    Raises:
        ProviderFault: the reply is not what the protocol demands.
    """
    if len({call.call_id for call in calls}) < len(calls):
        message = "Two calls of the reply have one id, which this protocol does not take back."
        fault = Fault(
            kind="protocol",
            code="doubled_call_id",
            message=message,
            maybe_billed=True,
            request_id=request_id,
        )
        raise ProviderFault(fault)


class ReplyStream(Sink, Protocol):
    """The stream of one reply, whatever the protocol."""

    def reply(self, exchanged: Exchanged) -> Reply:
        """The whole reply.

        Raises:
            ProviderFault: the stream ended before the reply did, the service gave up inside it, or
                nobody said which model answers.
        """


class Answerer:
    """Who answers: checked with the first word of it, before anything of the reply is used."""

    def __init__(self, route: Route, scrub: Scrub) -> None:
        self._route = route
        self._scrub = scrub
        self._model = ""

    def says(self, model: str) -> None:
        """Pass a stated id; some services' first words state an empty one (section 2).

        Raises:
            ProviderFault: another model than the route accepts.
        """
        if not model:
            return
        self._model = self._scrub(model, LONGEST_NAME)
        if not self._route.accepts(model):
            raise ended("identity", self._mismatch(f'"{self._model}"'), "model_mismatch")

    @property
    def model(self) -> str:
        """The id that was stated.

        Raises:
            ProviderFault: there was none.
        """
        if not self._model:
            raise ended("identity", self._mismatch("no model id"), "model_missing")
        return self._model

    def _mismatch(self, answered: str) -> str:
        also = ", ".join(f'"{alias}"' for alias in self._route.accepted_aliases)
        accepted = f" (also accepted: {also})" if also else ""
        return f'Asked for the model "{self._route.model}"{accepted}, answered by {answered}.'


def count_of(holder: Any, key: str) -> int | None:
    """A count that a usage object states; None where it states none, or nonsense."""
    value = holder.get(key) if isinstance(holder, dict) else None
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if valid else None


def cut_off(request_id: str | None) -> ProviderFault:
    """The stream ended before the reply did."""
    message = "The stream ended before the reply did; the part that came is dropped."
    return ended("transient", message, "stream_cut", request_id)


def given_up(word: str, request_id: str | None) -> ProviderFault:
    """The service says, with a word of its own, that it gave up inside the reply."""
    message = f'The service gave up inside the reply ("{word}").'
    return ended("transient", message, word, request_id)


def ended(kind: FaultKind, message: str, code: str, request_id: str | None = None) -> ProviderFault:
    """The end of a reply for which the service has worked."""
    return ProviderFault(
        Fault(kind=kind, message=message, code=code, maybe_billed=True, request_id=request_id)
    )


def chunk_of(event: Event) -> str:
    """The beginning of an event that is not what the protocol demands, for a person."""
    return f"Not a part of a reply: {event.data[:200].decode('utf-8', 'replace')}"
