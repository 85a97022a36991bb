"""What follows a fault: a wait, or the end (providers.md section 4).

One rule for every route, and a pure one: no clock, no chance, no sleep. The counts it goes by are
a value of their own, so that a journal holds them over pauses and restarts, and chance is handed
in as a number.
"""

from typing import Final, Literal, TypeAlias

import msgspec

from providers.contract import Fault, Reply

FIRST_BACKOFF_SECONDS: Final = 1.0
LONGEST_BACKOFF_SECONDS: Final = 60.0

# The waits between the tries of a request that the service rejects; the try after them is the last.
BAD_REQUEST_WAITS_SECONDS: Final = (1.0, 2.0)

# How often a request is repeated because its reply cannot be read or carries no usage.
UNREADABLE_REPEATS: Final = 3

StopCause: TypeAlias = Literal[
    "bad_request", "refused", "identity", "too_long", "unreadable", "time"
]


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """Faults of one logical request since the last accounting-valid reply, which empties it."""

    transient: int = 0
    bad_requests: int = 0
    unreadable: int = 0

    def after(self, fault: Fault) -> "Tally":
        """The tally with one more fault; faults that end a request are not counted."""
        match fault.kind:
            case "transient":
                return msgspec.structs.replace(self, transient=self.transient + 1)
            case "bad_request":
                return msgspec.structs.replace(self, bad_requests=self.bad_requests + 1)
            case "protocol":
                return msgspec.structs.replace(self, unreadable=self.unreadable + 1)
            case _:
                return self


class Wait(msgspec.Struct, frozen=True):
    """Send the same request again after this many seconds.

    `uses_up_time`: the wait that was due is longer than the active time that remains, so it is
    cut to that, and the attempt ends with it.
    """

    seconds: float
    uses_up_time: bool
    tally: Tally


class Stop(msgspec.Struct, frozen=True):
    """Do not send the request again.

    `reason` is for a person. `needs_person`: no fresh attempt either, before somebody has put
    right what `reason` names.
    """

    cause: StopCause
    reason: str
    needs_person: bool
    tally: Tally


def decide(fault: Fault, before: Tally, remaining_seconds: float, uniform: float) -> Wait | Stop:
    """What follows `fault`, given the faults before it.

    `remaining_seconds` is what the attempt has left of its active time. `uniform` is a random
    number from 0 to 1, by which a backoff is spread over its whole length.
    """
    tally = before.after(fault)
    match fault.kind:
        case "refused":
            return Stop("refused", fault.message, True, tally)
        case "identity":
            return Stop("identity", fault.message, True, tally)
        case "too_long":
            reason = f"The conversation is too long for the model. {fault.message}"
            return Stop("too_long", reason, False, tally)
        case "bad_request":
            if tally.bad_requests > len(BAD_REQUEST_WAITS_SECONDS):
                reason = f"Rejected {tally.bad_requests} times in a row. {fault.message}"
                return Stop("bad_request", reason, False, tally)
            due = BAD_REQUEST_WAITS_SECONDS[tally.bad_requests - 1]
        case "protocol":
            if tally.unreadable > UNREADABLE_REPEATS:
                reason = f"No usable reply {tally.unreadable} times in a row. {fault.message}"
                return Stop("unreadable", reason, False, tally)
            due = backoff_seconds(tally.unreadable, uniform)
        case "transient":
            due = backoff_seconds(tally.transient, uniform)
    if remaining_seconds <= 0:
        return Stop("time", f"No active time is left to try again. {fault.message}", False, tally)
    due = max(due, fault.retry_after_seconds or 0.0)
    return Wait(min(due, remaining_seconds), due >= remaining_seconds, tally)


def backoff_seconds(faults: int, uniform: float) -> float:
    """The wait after so many faults in a row: doubling to a limit, with full jitter."""
    # The exponent is bounded because 2.0 ** 1100 is an error, not a large number.
    longest = FIRST_BACKOFF_SECONDS * 2.0 ** min(faults - 1, 16)
    return uniform * min(LONGEST_BACKOFF_SECONDS, longest)


def missing_usage(reply: Reply) -> Fault:
    """The fault that a reply without usage stands for: repeat the request, keep nothing of it."""
    return Fault(
        kind="protocol",
        code="usage_missing",
        message=f"The reply of {reply.returned_model} carries no usage, so it cannot be counted.",
        maybe_billed=True,
        request_id=reply.request_id,
    )
