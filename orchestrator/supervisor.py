"""Whether a failed company-window gets a fresh attempt: a pure function of how it stands
(runtime.md section 4).

Within an attempt the retries of the provider's policy are at work; this is the layer beyond. A
company-window that failed, and that neither sealed nor settled, may be begun anew three times at
most, whatever it failed by and however often its host changed. What a person must put right first,
such as a key that is refused, waits for that person.

    settled, sealed, budget exhausted, still at work -> nothing
    paused, integrity error                          -> a person
    timeout, protocol error, provider error          -> a fresh attempt, unless
        a person must resolve it and has not         -> a person
        three are used, usage is cumulative and
        spent, or the files at the start of the
        window cannot be proven                      -> a person after a provider error,
                                                        else nothing

A fresh attempt that no person asks for waits before it begins, longer from one to the next: what
ails a service is seldom over in a moment, and three attempts in a row would find it as it was.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from campaigns.definition import RecoveryPolicy
from orchestrator.lifecycle import CompanyWindowStatus

FRESH_ATTEMPTS: Final = 3
"""How many fresh attempts one company-window may have."""

WAITS_SECONDS: Final = (10.0, 60.0, 300.0)
"""How long each fresh attempt waits that the supervisor grants; that of a person does not."""

FAILED: Final = (
    CompanyWindowStatus.TIMEOUT,
    CompanyWindowStatus.PROTOCOL_ERROR,
    CompanyWindowStatus.PROVIDER_ERROR,
)
"""The statuses after which a fresh attempt may follow."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an attempt failed; `cause` is that of the retry policy.

    `needs_person`: no fresh attempt before somebody has put right what `reason` names.
    """

    status: CompanyWindowStatus
    cause: str
    needs_person: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A company-window as the supervisor sees it.

    `status` is that of its present attempt, `failure` how that failed, if it did; `fresh_attempts`
    counts those that it has had. `busy` says what an open attempt is doing. `spent` says why the
    allowance leaves nothing for another attempt when usage is cumulative; `unproven` why the files
    at the start of the window cannot be restored. Both are empty where nothing is in the way.
    """

    status: CompanyWindowStatus
    settled: bool = False
    failure: Failure | None = None
    fresh_attempts: int = 0
    busy: str = ""
    spent: str = ""
    unproven: str = ""


@dataclass(frozen=True, slots=True)
class FreshAttempt:
    """Begin the company-window anew, with this index, after so many seconds."""

    number: int
    reason: str
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class WaitForPerson:
    """Nothing happens until a person acts; `reason` says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoAttempt:
    """No fresh attempt follows, and none is missing."""

    reason: str


Verdict: TypeAlias = FreshAttempt | WaitForPerson | NoAttempt


def supervise(window: Standing, policy: RecoveryPolicy, *, by_person: bool) -> Verdict:
    """What follows for a company-window under the campaign's recovery policy.

    `by_person` says that a person asks for the attempt, who answers for what had to be put right.
    """
    if window.settled:
        return NoAttempt("it is settled")
    match window.status:
        case CompanyWindowStatus.SEALED:
            return NoAttempt("it is sealed")
        case CompanyWindowStatus.BUDGET_EXHAUSTED:
            return NoAttempt("its allowance is spent, which no fresh attempt follows")
        case CompanyWindowStatus.OPEN:
            return NoAttempt(window.busy or "it is being decided")
        case CompanyWindowStatus.PAUSED | CompanyWindowStatus.INTEGRITY_ERROR:
            return WaitForPerson(f"it is at rest as {window.status}")
        case _:
            return _after_failure(window, policy, by_person=by_person)


def wait_seconds(number: int, *, by_person: bool) -> float:
    """How long a fresh attempt waits before it begins, from when it was granted."""
    return 0.0 if by_person else WAITS_SECONDS[number - 1]


def _after_failure(window: Standing, policy: RecoveryPolicy, *, by_person: bool) -> Verdict:
    failure = window.failure
    assert failure is not None, "a failed window has a failure"
    if failure.needs_person and not by_person:
        return WaitForPerson("a person has to put this right first")
    obstacle = _obstacle(window, policy)
    if not obstacle:
        asked = "a person asks for it after" if by_person else "after"
        number = window.fresh_attempts + 1
        wait = wait_seconds(number, by_person=by_person)
        return FreshAttempt(number, f"{asked} {failure.status}", wait)
    if failure.status is CompanyWindowStatus.PROVIDER_ERROR:
        return WaitForPerson(obstacle)
    return NoAttempt(obstacle)


def _obstacle(window: Standing, policy: RecoveryPolicy) -> str:
    """What stands in the way of a fresh attempt that nobody can remove; empty for nothing."""
    if window.fresh_attempts >= FRESH_ATTEMPTS:
        return f"all {FRESH_ATTEMPTS} fresh attempts are used"
    if policy == "cumulative-usage" and window.spent:
        return f"usage is kept across attempts, and {window.spent}"
    if window.unproven:
        return f"the files at the start of the window cannot be proven: {window.unproven}"
    return ""
