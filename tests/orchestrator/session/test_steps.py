"""What comes next, and in which order of precedence."""

from typing import Any

import msgspec
import pytest

from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session.allowance import Use
from orchestrator.session.events import Closed, WaitBegan
from orchestrator.session.files import PrivateFiles
from orchestrator.session.state import SessionState
from orchestrator.session.steps import (
    Ask,
    Await,
    BeginFinalization,
    Close,
    Correct,
    Retry,
    Run,
    Step,
    ending,
    next_step,
)
from providers.contract import Fault
from providers.retry import Stop, Tally
from tests.orchestrator.session.attempts import (
    LOOK,
    PREVIEW,
    REFUSED,
    SEAL,
    STANDARD,
    TRANSIENT,
    UNREADABLE,
    reply,
)

WAIT = WaitBegan(0.0, 0.0, 1.0, "")
SPENT = Use(replies=32)
LATE = Use(seconds=3_600.0)


def after(**values: Any) -> Step | None:
    state = SessionState(files=PrivateFiles(), allowance=STANDARD)
    return next_step(msgspec.structs.replace(state, **values))


def replied(*calls: Any, **values: Any) -> dict[str, Any]:
    made = reply(*calls, **values)
    return {"last": made, "pending": made.tool_calls}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({}, Ask),
        ({"wait": WAIT}, Await),
        ({"wait": WAIT, "use": SPENT}, Await),
        ({"fault": TRANSIENT, "use": LATE}, Retry),
        ({"unanswered": True, "last": reply(), "use": SPENT}, Correct),
        ({**replied(PREVIEW), "use": SPENT}, Run),
        ({**replied(PREVIEW, stop="length"), "unanswered": True}, Run),
        ({"use": SPENT}, Close),
        ({"use": Use(replies=28)}, BeginFinalization),
        ({"use": Use(replies=28), "final": True}, Ask),
        ({"seals": True, "use": SPENT, "failing": True}, Close),
    ],
)
def test_one_thing_comes_before_another(values: dict[str, Any], kind: type[Step]) -> None:
    assert type(after(**values)) is kind


def test_a_closed_attempt_has_no_next_step() -> None:
    closed = Closed(0.0, CompanyWindowStatus.SEALED, "sealed")
    assert after(closed=closed, seals=True) is None


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"seals": True}, CompanyWindowStatus.SEALED),
        ({"seals": True, "use": LATE, "failing": True}, CompanyWindowStatus.SEALED),
        ({"use": LATE, "failing": True}, CompanyWindowStatus.TIMEOUT),
        ({"use": LATE}, CompanyWindowStatus.BUDGET_EXHAUSTED),
        ({"use": SPENT}, CompanyWindowStatus.BUDGET_EXHAUSTED),
        ({"use": SPENT, "failing": True}, CompanyWindowStatus.BUDGET_EXHAUSTED),
        ({"use": Use(output_tokens=131_072)}, CompanyWindowStatus.BUDGET_EXHAUSTED),
    ],
)
def test_statuses_have_their_precedence(
    values: dict[str, Any], status: CompanyWindowStatus
) -> None:
    step = after(**values)
    assert isinstance(step, Close)
    assert step.status is status
    assert step.reason


@pytest.mark.parametrize(
    ("calls", "stop", "refused"),
    [
        ((PREVIEW, PREVIEW), None, None),
        ((SEAL,), None, None),
        ((PREVIEW,), "length", "cut off"),
        ((SEAL,), "length", "cut off"),
        ((PREVIEW,), "content_filter", "did not end"),
        ((PREVIEW, SEAL), None, "only call of its reply"),
    ],
)
def test_whether_calls_run(calls: Any, stop: Any, refused: str | None) -> None:
    step = after(**replied(*calls, stop=stop))
    assert isinstance(step, Run)
    if refused is None:
        assert step.refusal is None
    else:
        assert refused in (step.refusal or "")


@pytest.mark.parametrize(("call", "refused"), [(LOOK, True), (PREVIEW, False), (SEAL, False)])
def test_when_time_is_up_queries_alone_do_not_run(call: Any, *, refused: bool) -> None:
    step = after(**replied(call), use=LATE)
    assert isinstance(step, Run)
    assert (step.refusal is not None) is refused


@pytest.mark.parametrize(
    ("cause", "fault", "late", "status"),
    [
        ("time", TRANSIENT, True, CompanyWindowStatus.TIMEOUT),
        ("unreadable", UNREADABLE, False, CompanyWindowStatus.PROTOCOL_ERROR),
        ("unreadable", UNREADABLE, True, CompanyWindowStatus.TIMEOUT),
        (
            "unreadable",
            Fault(kind="protocol", message="", code="usage_missing"),
            False,
            CompanyWindowStatus.PROVIDER_ERROR,
        ),
        ("bad_request", TRANSIENT, False, CompanyWindowStatus.PROVIDER_ERROR),
        ("too_long", TRANSIENT, False, CompanyWindowStatus.PROVIDER_ERROR),
        ("identity", TRANSIENT, True, CompanyWindowStatus.PROVIDER_ERROR),
        ("refused", REFUSED, True, CompanyWindowStatus.PROVIDER_ERROR),
    ],
)
def test_how_the_retry_policy_ends_an_attempt(
    cause: Any, fault: Fault, status: CompanyWindowStatus, *, late: bool
) -> None:
    close = ending(Stop(cause, "so it is", False, Tally()), fault, late=late)
    assert (close.status, close.reason) == (status, "so it is")


@pytest.mark.parametrize(
    ("used", "words"), [(28, "at most 4 more replies"), (31, "at most 1 more reply in")]
)
def test_the_finalization_tells_how_many_replies_are_left(used: int, words: str) -> None:
    step = after(use=Use(replies=used))
    assert isinstance(step, BeginFinalization)
    assert words in step.text
    assert "query_company is refused" in step.text
