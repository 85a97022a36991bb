"""The fault plan: which requests meet which fault (providers.md section 5).

A plan is a TOML file. Every entry of `[[faults]]` names one fault and says whom it strikes: a share
of all requests, the n-th requests of a route, or company-windows by name. The first entry that
strikes a request is the one that counts.
"""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from manifests.errors import InputError
from manifests.validation import input_error

LONGEST_SECONDS: Final = 86_400

Seconds = Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]
Ordinal = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class _PlanData(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class Window(_PlanData):
    """Company-windows: those of one day, of one seat unless all are meant."""

    day: Annotated[int, Field(ge=0)]
    seat: Ordinal | None = None


class _Rule(_PlanData):
    """Whom a fault strikes; exactly one of `rate`, `requests` and `windows` is given.

    `routes` are model ids, all of them when it is empty. `requests` counts the requests of each
    model from 1. In the windows that `windows` names, the fault strikes at the replies in `replies`
    (from 1; all when it is empty), and at most `times` in each.
    """

    routes: tuple[str, ...] = ()
    rate: Share | None = None
    requests: tuple[Ordinal, ...] = ()
    windows: tuple[Window, ...] = ()
    replies: tuple[Ordinal, ...] = ()
    times: Ordinal = 1

    @model_validator(mode="after")
    def _one_trigger(self) -> Self:
        given = [self.rate is not None, bool(self.requests), bool(self.windows)]
        if given.count(True) != 1:
            raise ValueError("give one of rate, requests and windows")
        if not self.windows and (self.times != 1 or self.replies):
            raise ValueError("times and replies belong to windows")
        return self


class Refuse(_Rule):
    """A refusal with an HTTP status; `page` sends HTML in place of an error object.

    `retry_after_seconds` is sent as `retry_after_form` says: in seconds, as an HTTP date, or in
    milliseconds under `retry-after-ms`.
    """

    fault: Literal["refuse"]
    status: Annotated[int, Field(ge=400, le=599)]
    code: str | None = None
    message: str = "The rehearsal's fault plan refuses this request."
    page: bool = False
    retry_after_seconds: Seconds | None = None
    retry_after_form: Literal["seconds", "date", "milliseconds"] = "seconds"


class RefuseReasoning(_Rule):
    """A conversation in which a reply without calls comes back with its reasoning is refused, as by
    services that take reasoning back with calls alone.
    """

    fault: Literal["refuse-reasoning"]


class Delay(_Rule):
    """The first byte of the reply comes so many seconds late."""

    fault: Literal["delay"]
    seconds: Seconds


class CutStream(_Rule):
    """The connection breaks after a share of the stream's events; 0 is before the first."""

    fault: Literal["cut-stream"]
    after: Share = 0.5


class StallStream(_Rule):
    """Nothing more arrives after a share of the stream's events, and then the connection breaks."""

    fault: Literal["stall-stream"]
    after: Share = 0.5
    seconds: Seconds = LONGEST_SECONDS


class ErrorInStream(_Rule):
    """After a share of its events the stream, which began with success, carries an error object."""

    fault: Literal["error-in-stream"]
    after: Share = 0.5
    code: str = "server_error"
    message: str = "The rehearsal's fault plan ends this stream."


class CutByLength(_Rule):
    """The reply ends after so many output tokens, as one does that reached its limit."""

    fault: Literal["cut-by-length"]
    tokens: Ordinal = 24


class OtherModel(_Rule):
    """The reply names another model than the one that was asked."""

    fault: Literal["other-model"]
    model: Annotated[str, Field(min_length=1)] = "rehearsal-default"


class LeaveOutUsage(_Rule):
    """The reply carries no usage."""

    fault: Literal["leave-out-usage"]


class EmptyReply(_Rule):
    """The reply has neither text nor calls."""

    fault: Literal["empty-reply"]


class BadArguments(_Rule):
    """The arguments of the reply's first call are no JSON; with `characters`, and that long."""

    fault: Literal["bad-arguments"]
    characters: Annotated[int, Field(ge=1, le=16_000_000)] = 12


class UnknownTool(_Rule):
    """The reply's first call names a tool that was not offered."""

    fault: Literal["unknown-tool"]
    name: Annotated[str, Field(min_length=1, max_length=64)] = "get_weather"


class DoubledCallIds(_Rule):
    """All calls of the reply have one id; a reply with one call has it twice."""

    fault: Literal["doubled-call-ids"]


FaultRule = Annotated[
    Refuse
    | RefuseReasoning
    | Delay
    | CutStream
    | StallStream
    | ErrorInStream
    | CutByLength
    | OtherModel
    | LeaveOutUsage
    | EmptyReply
    | BadArguments
    | UnknownTool
    | DoubledCallIds,
    Field(discriminator="fault"),
]


class FaultPlan(_PlanData):
    """Faults in the order in which they are tried; `seed` decides whom a rate strikes."""

    seed: Annotated[int, Field(ge=0)] = 0
    faults: tuple[FaultRule, ...] = ()


def load_fault_plan(path: Path) -> FaultPlan:
    """The fault plan in a TOML file.

    Raises:
        InputError: the file cannot be read, is not TOML, or is no fault plan; every field that is
            wrong is named.
    """
    remedy = "See docs/fault-plans.md for what a fault plan may say."
    try:
        data = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise InputError(
            f"The fault plan {path} cannot be read: {error.strerror}.",
            "Give the path of a file that you may read.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"The fault plan {path} is not valid TOML: {error}.", remedy) from error
    try:
        # Lists of the file fill tuples; all else stays strict. Dates, which TOML has and JSON has
        # not, become texts, which no field takes for one.
        return FaultPlan.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        raise input_error(f"The fault plan {path}", error, remedy, repeat_values=True) from error
