"""The statuses and their transitions (runtime.md sections 1 and 2)."""

import pickle
from itertools import product

import pytest

from orchestrator.lifecycle import (
    COMPANY_WINDOW_TRANSITIONS,
    RUN_TRANSITIONS,
    SETTLED,
    CompanyWindowStatus,
    IllegalTransition,
    NotRunning,
    RunState,
    check_company_window_transition,
    check_run_settles,
    check_run_transition,
)

W = CompanyWindowStatus

RUN_STEPS = {
    ("planned", "queued"),
    ("planned", "stopped"),
    ("queued", "running"),
    ("queued", "paused"),
    ("queued", "stopped"),
    ("running", "paused"),
    ("running", "completed"),
    ("running", "stopped"),
    ("paused", "running"),
    ("paused", "queued"),
    ("paused", "stopped"),
    ("stopped", "queued"),
}


@pytest.mark.parametrize(("found", "wanted"), list(product(RunState, RunState)))
def test_every_pair_of_run_statuses(found: RunState, wanted: RunState) -> None:
    if found == wanted or (found.value, wanted.value) in RUN_STEPS:
        check_run_transition("run r", found, wanted)
    else:
        with pytest.raises(IllegalTransition):
            check_run_transition("run r", found, wanted)


def test_a_company_window_closes_with_any_of_seven_statuses() -> None:
    for status in set(W) - {W.OPEN}:
        check_company_window_transition("window w", W.OPEN, status)


@pytest.mark.parametrize("final", [W.SEALED, W.BUDGET_EXHAUSTED])
def test_a_sealed_or_exhausted_window_stays_so(final: CompanyWindowStatus) -> None:
    for status in set(W) - {final}:
        with pytest.raises(IllegalTransition):
            check_company_window_transition("window w", final, status)


@pytest.mark.parametrize(
    "failed",
    [W.TIMEOUT, W.PROTOCOL_ERROR, W.PROVIDER_ERROR, W.PAUSED, W.INTEGRITY_ERROR],
)
def test_another_window_can_only_be_opened_again(failed: CompanyWindowStatus) -> None:
    check_company_window_transition("window w", failed, W.OPEN)
    for status in set(W) - {failed, W.OPEN}:
        with pytest.raises(IllegalTransition):
            check_company_window_transition("window w", failed, status)


def test_four_statuses_settle() -> None:
    assert {str(status) for status in SETTLED} == {
        "sealed",
        "budget_exhausted",
        "timeout",
        "protocol_error",
    }


def test_the_tables_cover_every_status() -> None:
    assert set(RUN_TRANSITIONS) == set(RunState)
    assert set(COMPANY_WINDOW_TRANSITIONS) == set(CompanyWindowStatus)


def test_a_refusal_names_from_to_and_what_is_allowed() -> None:
    with pytest.raises(IllegalTransition) as caught:
        check_run_transition("run main-s11", RunState.PLANNED, RunState.RUNNING)
    assert str(caught.value) == (
        "run main-s11 is planned and cannot become running.\n  It can become queued or stopped."
    )


def test_a_refusal_of_a_final_status_says_so() -> None:
    with pytest.raises(IllegalTransition, match="What is completed stays so"):
        check_run_transition("run r", RunState.COMPLETED, RunState.RUNNING)


@pytest.mark.parametrize("found", sorted(set(RunState) - {RunState.RUNNING}))
def test_only_a_running_run_settles(found: RunState) -> None:
    check_run_settles("run r", RunState.RUNNING)
    with pytest.raises(NotRunning, match=f"run r is {found}"):
        check_run_settles("run r", found)


def test_refusals_survive_the_way_between_processes() -> None:
    refusal = IllegalTransition("run r", RunState.PLANNED, RunState.RUNNING, ("queued",))
    copy = pickle.loads(pickle.dumps(refusal))
    assert (str(copy), copy.allowed) == (str(refusal), refusal.allowed)
    not_running = pickle.loads(pickle.dumps(NotRunning("run r", RunState.PAUSED)))
    assert not_running.found == "paused"
