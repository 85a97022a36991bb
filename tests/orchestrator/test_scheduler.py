"""Which runs start (runtime.md section 5): orders, slots, dependencies, restarts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.consistency import SEARCH_WINNER
from campaigns.definition import load_definition
from campaigns.plan import PlannedRun, plan, resolve
from orchestrator.lifecycle import RunState
from orchestrator.scheduler import RunView, runs_to_resolve, runs_to_start

MAIN = plan(load_definition("main")).runs
SEARCH = plan(load_definition("rule-search")).runs
LIMIT = 30


def views(
    runs: Sequence[PlannedRun], state: RunState = RunState.PLANNED, **others: RunState
) -> list[RunView]:
    """All runs in one state, but those at some positions, such as `at_3`, in another."""
    return [RunView(run, others.get(f"at_{run.position}", state)) for run in runs]


def ids(runs: Sequence[PlannedRun], *positions: int) -> list[str]:
    return [runs[position].run_id for position in positions]


def test_all_runs_of_a_small_campaign_start_at_once_in_the_order_of_the_plan() -> None:
    started = runs_to_start(views(MAIN), (), LIMIT)
    assert started == [run.run_id for run in MAIN]
    assert [run.split("-")[1] for run in started] == ["s11"] * 9 + ["s29"] * 9 + ["s47"] * 9


def test_the_order_in_which_runs_are_listed_does_not_matter() -> None:
    few = MAIN[:2] + MAIN[9:11]
    expected = runs_to_start(views(few), (), 3)
    for order in permutations(views(few)):
        assert runs_to_start(order, (), 3) == expected


def test_an_earlier_seed_goes_before_a_later_one_whatever_its_position_in_the_plan() -> None:
    late = replace(MAIN[0], position=90)
    assert runs_to_start(views([MAIN[9], late]), (), 1) == [late.run_id]


def test_no_more_start_than_there_are_slots() -> None:
    assert runs_to_start(views(SEARCH), (), LIMIT) == [run.run_id for run in SEARCH[:LIMIT]]
    active = ids(SEARCH, *range(28))
    assert runs_to_start(views(SEARCH), active, LIMIT) == ids(SEARCH, 28, 29)
    assert runs_to_start(views(SEARCH), ids(SEARCH, *range(30)), LIMIT) == []


def test_a_run_that_is_held_or_waits_for_a_person_takes_no_slot() -> None:
    found = views(MAIN, at_1=RunState.PAUSED, at_2=RunState.STOPPED)
    found[0] = replace(found[0], held=True)
    assert runs_to_start(found, (), 3) == ids(MAIN, 3, 4, 5)


def test_a_run_whose_fresh_attempt_is_not_due_takes_no_slot() -> None:
    found = views(MAIN, at_0=RunState.QUEUED)
    early = [replace(found[0], early=True), *found[1:]]
    assert runs_to_start(early, (), 2) == ids(MAIN, 1, 2)
    assert runs_to_start(found, (), 2) == ids(MAIN, 0, 1)


def test_nothing_starts_while_more_are_active_than_the_limit_allows() -> None:
    assert runs_to_start(views(MAIN), ids(MAIN, 0, 1, 2), 2) == []


def test_a_later_seed_fills_the_slots_that_no_earlier_run_wants() -> None:
    runs = views(MAIN, at_0=RunState.COMPLETED, at_1=RunState.PAUSED, at_2=RunState.STOPPED)
    active = ids(MAIN, *range(3, 9))
    assert runs_to_start(runs, active, 8) == ids(MAIN, 9, 10)


def test_an_earlier_run_that_becomes_free_goes_before_later_ones() -> None:
    resumed = views(MAIN, at_1=RunState.QUEUED)
    active = ids(MAIN, *range(2, 20))
    assert runs_to_start(resumed, [*active, MAIN[0].run_id], 20) == ids(MAIN, 1)


@pytest.mark.parametrize("state", [RunState.PAUSED, RunState.STOPPED, RunState.COMPLETED])
def test_a_run_that_waits_for_a_person_or_is_done_does_not_start(state: RunState) -> None:
    assert runs_to_start(views(MAIN[:1], state), (), LIMIT) == []


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.QUEUED, RunState.RUNNING])
def test_a_run_that_nobody_plays_starts(state: RunState) -> None:
    assert runs_to_start(views(MAIN[:1], state), (), LIMIT) == ids(MAIN, 0)


def test_an_active_run_does_not_start_again() -> None:
    assert runs_to_start(views(MAIN[:1], RunState.RUNNING), ids(MAIN, 0), LIMIT) == []


def test_validation_waits_for_every_development_run_and_for_its_winner() -> None:
    development, validation = SEARCH[:72], SEARCH[72:]
    assert all(SEARCH_WINNER in run.lineup for run in validation)
    done = views(development, RunState.COMPLETED)
    waiting = views(validation)
    assert runs_to_resolve([*done, *waiting]) == [run.run_id for run in validation]
    assert runs_to_start([*done, *waiting], (), LIMIT) == []
    resolved = views([resolve(run, "profile-17") for run in validation])
    assert runs_to_resolve([*done, *resolved]) == []
    assert runs_to_start([*done, *resolved], (), LIMIT) == [run.run_id for run in validation]


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.COMPLETED])
def test_one_development_run_that_is_not_complete_holds_validation_back(state: RunState) -> None:
    runs = views(SEARCH[:72], RunState.COMPLETED, at_40=state)
    resolved = views([resolve(run, "profile-17") for run in SEARCH[72:]])
    assert runs_to_resolve([*runs, *views(SEARCH[72:])]) == []
    active = ids(SEARCH, 40) if state is RunState.RUNNING else []
    started = runs_to_start([*runs, *resolved], active, LIMIT)
    assert not set(started) & {run.run_id for run in SEARCH[72:]}


def test_every_small_case_keeps_the_rules() -> None:
    """All states of four runs on two seeds, all sets of active ones, all limits."""
    four = [*MAIN[:2], *MAIN[9:11]]
    for states in product(RunState, repeat=4):
        runs = [RunView(run, state) for run, state in zip(four, states, strict=True)]
        running = [run.run_id for run in runs if run.state is RunState.RUNNING]
        for limit in range(6):
            check_rules(runs, running, limit)
            check_rules(runs, running[:1], limit)


@given(
    states=st.lists(st.sampled_from(RunState), min_size=75, max_size=75),
    active=st.sets(st.integers(0, 74)),
    limit=st.integers(0, 80),
)
def test_any_search_keeps_the_rules(states: list[RunState], active: set[int], limit: int) -> None:
    runs = [RunView(run, state) for run, state in zip(SEARCH, states, strict=True)]
    check_rules(runs, ids(SEARCH, *sorted(active)), limit)


@given(limit=st.integers(1, 12), losses=st.lists(st.integers(0, 26), max_size=20))
def test_a_campaign_comes_to_its_end_under_restarts_in_one_order(
    limit: int, losses: list[int]
) -> None:
    """Runs end one after the other; after each step all hosts may be lost. The order stays."""
    left = {run.run_id: RunState.PLANNED for run in MAIN}
    active: list[str] = []
    first_started: list[str] = []
    step = 0
    while any(state is not RunState.COMPLETED for state in left.values()):
        runs = [RunView(run, left[run.run_id]) for run in MAIN]
        for run_id in runs_to_start(runs, active, limit):
            left[run_id] = RunState.RUNNING
            active.append(run_id)
            first_started += [] if run_id in first_started else [run_id]
        assert len(active) <= limit
        if step in losses:
            active.clear()
        else:
            left[active.pop(0)] = RunState.COMPLETED
        step += 1
    assert first_started == [run.run_id for run in MAIN]


def check_rules(runs: Sequence[RunView], active: Sequence[str], limit: int) -> None:
    started = runs_to_start(runs, active, limit)
    by_id = {run.run_id: run for run in runs}
    completed = {run.run_id for run in runs if run.state is RunState.COMPLETED}
    assert len(started) == len(set(started))
    assert not set(started) & set(active)
    assert len(started) + len(active) <= max(limit, len(active))
    eligible = [
        run.run_id
        for run in sorted(runs, key=lambda run: run.planned.position)
        if run.state in {RunState.PLANNED, RunState.QUEUED, RunState.RUNNING}
        and run.run_id not in active
        and set(run.planned.depends_on) <= completed
        and SEARCH_WINNER not in run.planned.lineup
    ]
    # A whole prefix of what is eligible, as long as slots allow.
    assert started == eligible[: max(limit - len(active), 0)]
    assert runs_to_start([by_id[run.run_id] for run in reversed(runs)], active, limit) == started
