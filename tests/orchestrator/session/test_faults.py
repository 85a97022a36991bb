"""Every row of providers.md section 4 against the real gateway, over HTTP: what the store keeps of
it, what the model is told, and what a person sees.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.session.events import Answered, Asked, Failed, ToolReceipt, WaitBegan
from orchestrator.store import RunKey
from tests.orchestrator.session.rehearsal import (
    NAME,
    Rehearsal,
    at,
    campaign,
    rehearsal,
    run_id,
)
from tests.providers.rehearsal.windows import PROTOCOLS

SEALED: Final = CompanyWindowStatus.SEALED
FAILED: Final = CompanyWindowStatus.PROVIDER_ERROR

# agent -> the fault it meets, how often it is asked for nothing, which of these requests were
# possibly billed, what the waits before the next try come to at least, what a person reads.
RECOVERED: Final[dict[str, tuple[dict[str, Any], int, int, float, str]]] = {
    "analyst": (
        {"fault": "refuse", "status": 429, "retry_after_seconds": 90},
        *(1, 0, 90, "transient 429"),
    ),
    "trader": ({"fault": "cut-stream"}, 1, 1, 0, "transient connection_broken"),
    "builder": (
        {"fault": "refuse", "status": 400, "times": 2},
        *(2, 0, 3, "bad request 400"),
    ),
    "researcher": (
        {"fault": "error-in-stream", "code": "overloaded_error"},
        *(1, 1, 0, "transient overloaded_error"),
    ),
    "bidder": ({"fault": "refuse", "status": 503, "page": True}, 1, 0, 0, "503 The rehearsal's"),
    "diarist": ({"fault": "leave-out-usage"}, 1, 0, 0, "usage missing"),
    "gambler": (
        {
            "fault": "refuse",
            "status": 529,
            "retry_after_seconds": 1.5,
            "retry_after_form": "milliseconds",
        },
        *(1, 0, 1.5, "transient 529"),
    ),
    "minimalist": (
        {
            "fault": "refuse",
            "status": 408,
            "retry_after_seconds": 600,
            "retry_after_form": "date",
            "replies": (1,),
        },
        *(1, 0, 598, "transient 408"),
    ),
}

# agent -> the fault of a reply that is paid for and corrected in session; what the model is told.
CORRECTED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "analyst": ({"fault": "cut-by-length"}, "cut off"),
    "trader": ({"fault": "bad-arguments"}, "one valid JSON object"),
    "builder": ({"fault": "unknown-tool"}, "must be one of"),
    "researcher": ({"fault": "doubled-call-ids"}, "the same id"),
    "bidder": ({"fault": "empty-reply"}, "no tool call"),
    "diarist": ({"fault": "bad-arguments", "characters": 3_000_000}, "cut off"),
}

# agent -> a fault that ends the attempt, its cause, and whether a person has to act first.
FATAL: Final[dict[str, tuple[dict[str, Any], str, bool]]] = {
    "analyst": ({"fault": "refuse", "status": 401}, "HTTP 401", True),
    "trader": (
        {"fault": "refuse", "status": 429, "code": "insufficient_quota"},
        *("insufficient_quota", True),
    ),
    "builder": ({"fault": "other-model"}, "rehearsal-default", True),
    "researcher": (
        {"fault": "refuse", "status": 400, "code": "context_length_exceeded"},
        *("bytes", False),
    ),
    "bidder": ({"fault": "refuse", "status": 400, "times": 3}, "3 times in a row", False),
}


def seats(agents: dict[str, Any]) -> dict[str, int]:
    return {agent: seat for seat, agent in enumerate(agents, start=1)}


def waited(played: Rehearsal, seat: int) -> float:
    return sum(each.seconds for each in played.events(11, seat) if isinstance(each, WaitBegan))


def speaking(protocol: str, agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Routes of one protocol for all agents."""
    return {agent: {"protocol": protocol} for agent in agents}


def ends(played: Rehearsal, agents: list[str]) -> dict[str, tuple[str, str | None]]:
    windows = list(played.store.run(RunKey(NAME, run_id(11))).company_windows())
    found = {}
    for seat, agent in enumerate(agents, start=1):
        asked = [each for each in played.events(11, seat) if isinstance(each, Asked)]
        found[agent] = (asked[-1].request_digest, windows[seat - 1].decision_digest)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_transient_faults_leave_no_trace_in_a_conversation(tmp_path: Path, protocol: str) -> None:
    data = campaign(list(RECOVERED), [11], speaking(protocol, RECOVERED))
    with rehearsal(tmp_path / "calm", data) as calm:
        assert calm.play(11) is RunState.COMPLETED
        undisturbed = ends(calm, list(RECOVERED))
    faults = [at(agent, **told[0]) for agent, told in RECOVERED.items()]
    with rehearsal(tmp_path / "rough", data, faults) as played:
        assert played.play(11) is RunState.COMPLETED
        assert ends(played, list(RECOVERED)) == undisturbed
        for agent, seat in seats(RECOVERED).items():
            _, failed, billed, least, words = RECOVERED[agent]
            check_recovered(played, seat, failed, billed, least, words)
        assert sum(played.gateway.statistics()["faults"].values()) == 1 + len(RECOVERED)


def check_recovered(
    played: Rehearsal, seat: int, failed: int, billed: int, least: float, words: str
) -> None:
    record = played.window(11, seat)
    events = played.events(11, seat)
    counts = record.counts
    assert (record.status, counts.possibly_billed) == (SEALED, billed), words
    assert counts.faults + counts.replies_without_usage == failed, words
    waits = [each for each in events if isinstance(each, WaitBegan)]
    assert len(waits) == failed, words
    assert waited(played, seat) >= least, words
    assert record.use.seconds >= waited(played, seat), "a wait is active time"
    valid = [each for each in events if isinstance(each, Answered) and each.reply.usage is not None]
    assert record.use.replies == len(valid)
    assert record.use.output_tokens == sum(
        each.reply.usage.output_tokens for each in valid if each.reply.usage is not None
    )
    shown = played.shown(11, seat)
    assert words in shown
    assert "waits" in shown


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_replies_that_cannot_be_run_are_corrected_in_the_conversation(
    tmp_path: Path, protocol: str
) -> None:
    faults = [at(agent, **fault) for agent, (fault, _) in CORRECTED.items()]
    data = campaign(list(CORRECTED), [11], speaking(protocol, CORRECTED))
    with rehearsal(tmp_path, data, faults) as played:
        assert played.play(11) is RunState.COMPLETED
        for agent, seat in seats(CORRECTED).items():
            record = played.window(11, seat)
            answers = [each for each in played.events(11, seat) if isinstance(each, Answered)]
            # Where ids must differ, a reply that has one twice is no reply, and asked for again.
            repeated = agent == "researcher" and protocol != "chat"
            assert (record.status, record.counts.faults) == (SEALED, int(repeated)), agent
            assert record.use.replies == len(answers), "a reply that counts is paid for"
            words = "have one id" if repeated else CORRECTED[agent][1]
            assert words in played.shown(11, seat), agent
        # None of an argument of three million characters was kept, or sent again.
        receipts = [each for each in played.events(11, 6) if isinstance(each, ToolReceipt)]
        assert max(len(each.text) for each in receipts) < 100_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fatal_faults_stop_the_run_and_pause_their_routes(tmp_path: Path, protocol: str) -> None:
    agents = [*FATAL, "diarist"]
    faults = [at(agent, **told[0]) for agent, told in FATAL.items()]
    data = campaign(agents, [11, 29], speaking(protocol, agents))
    with rehearsal(tmp_path, data, faults) as played:
        assert played.play(11) is RunState.STOPPED
        reason = played.status(11).reason
        for agent, seat in seats(FATAL).items():
            _, words, _ = FATAL[agent]
            record = played.window(11, seat)
            assert (record.status, record.settled) == (FAILED, False)
            assert words in record.reason, agent
            assert f"company-{seat} ({agent})" in reason
            assert words in reason, agent
        assert played.window(11, 6).status is SEALED, "a peer keeps its seal"
        paused = {pause.candidate for pause in played.store.controls.pauses(NAME)}
        assert paused == {agent for agent, (_, _, person) in FATAL.items() if person}
        check_that_nobody_asks_a_paused_route(played)
        before = played.gateway.statistics()["replies"]
        assert played.resume(11) is RunState.COMPLETED
        assert played.store.controls.pauses(NAME) == []
        assert played.gateway.statistics()["replies"] > before
        records = [played.window(11, seat) for seat in range(1, 7)]
        assert {record.status for record in records} == {SEALED}


def check_that_nobody_asks_a_paused_route(played: Rehearsal) -> None:
    """Another run with these routes rests, without a request to any of them."""
    assert played.play(29) is RunState.PAUSED
    assert "is paused: " in played.status(29).reason
    for agent, seat in seats(FATAL).items():
        if FATAL[agent][2]:
            assert not any(isinstance(each, Asked) for each in played.events(29, seat)), agent


@pytest.mark.parametrize(
    ("taken_back", "returned", "problem"),
    [
        ("with calls", "always", "must not be passed back"),
        ("with calls", "with tool calls", ""),
        ("with calls", "never", "must be passed back"),
        ("always", "always", ""),
        ("always", "never", "must be passed back"),
    ],
)
def test_reasoning_goes_back_exactly_where_the_service_takes_it(
    tmp_path: Path, taken_back: str, returned: str, problem: str
) -> None:
    """The apprentice says something without a call; the gateway wants reasoning back with calls."""
    dialect = {
        "return_reasoning": returned,
        "reasoning_fields": ["reasoning_content", "reasoning_signature"],
    }
    data = campaign(["apprentice"], [11], {"apprentice": {"chat": dialect}})
    faults = [{"fault": "refuse-reasoning", "rate": 1.0}] if taken_back == "with calls" else []
    with rehearsal(tmp_path, data, faults) as played:
        ended = played.play(11)
        answers = [each.reply for each in played.events(11, 1) if isinstance(each, Answered)]
        assert all(reply.has_reasoning for reply in answers)
        if problem:
            assert ended is not RunState.COMPLETED
            assert problem in played.shown(11, 1)
        else:
            assert ended is RunState.COMPLETED
            assert any(not reply.tool_calls for reply in answers)
            assert played.window(11, 1).counts.faults == 0


def test_a_route_in_trouble_makes_its_own_seats_wait_and_no_other(tmp_path: Path) -> None:
    down = {"fault": "refuse", "status": 503, "routes": ("rehearsal-analyst",)}
    faults = [{**down, "requests": tuple(range(1, 10))}]
    with rehearsal(tmp_path, campaign(["analyst", "minimalist"], [11]), faults) as played:
        assert played.play(11) is RunState.COMPLETED
        assert not any(isinstance(each, WaitBegan) for each in played.events(11, 2))
        assert played.window(11, 1).status is SEALED
        assert played.window(11, 1).counts.faults == 9


def test_a_route_that_is_down_for_good_ends_the_attempt_in_its_own_time(tmp_path: Path) -> None:
    faults = [{"fault": "refuse", "status": 503, "rate": 1.0, "routes": ("rehearsal-analyst",)}]
    with rehearsal(tmp_path, campaign(["analyst", "minimalist"], [11]), faults) as played:
        assert played.play(11) is RunState.COMPLETED
        record = played.window(11, 1)
        assert record.status is CompanyWindowStatus.TIMEOUT
        assert 3_599 < record.use.seconds < 3_700
        asked = [each for each in played.events(11, 1) if isinstance(each, Asked)]
        assert len(asked) < 100, "no storm of requests"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_service_that_stalls_is_left_when_the_attempts_own_time_is_up(
    tmp_path: Path, protocol: str
) -> None:
    data = campaign(["minimalist"], [11], speaking(protocol, ["minimalist"]))
    data["limits"] = {"allowances": {"seconds": 2}}
    with rehearsal(tmp_path, data, [at("minimalist", 1, fault="stall-stream")]) as played:
        played.play(11)
        first = [each for each in played.events(11, 1) if isinstance(each, Failed)]
        assert (first[0].fault.code, first[0].fault.maybe_billed) == ("timeout", True)
        assert first[0].fault.message.startswith("Gave up after ")
