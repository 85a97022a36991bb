"""What one barrier settles, checked to be consistent in itself and laid out as rows."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Table

from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome
from engine.state import encode_state, encoded_state_digest
from manifests.errors import DEFECT, IntegrityError
from orchestrator.lifecycle import SETTLED
from orchestrator.store.codec import (
    company_day_columns,
    company_day_details,
    day_details,
    day_digest,
)
from orchestrator.store.records import RunKey, WindowCommit
from orchestrator.store.schema import (
    OUTCOME_INTEGERS,
    company_days,
    company_exits,
    company_windows,
    days,
    outcomes,
    receipts,
)


class WindowRows(NamedTuple):
    """A window as it is written: rows by table, in the order in which they may be inserted."""

    state: bytes
    state_digest: str
    rows: list[tuple[Table, list[tuple[Any, ...]]]]


def window_rows(run: int, key: RunKey, planned: PlannedRun, commit: WindowCommit) -> WindowRows:
    """The rows of a window of the run that the database numbers `run`.

    Raises:
        IntegrityError: the parts of the commit contradict each other or the run.
    """
    state = encode_state(commit.state)
    state_digest = encoded_state_digest(state)
    for fault in _faults(key, planned, commit, state_digest):
        raise IntegrityError(
            f"The window at world version {commit.version_before} of {key} is not stored: {fault}.",
            DEFECT,
        )
    return WindowRows(state, state_digest, _rows(run, commit))


def outcome_row(run: int, outcome: CompanyOutcome) -> tuple[Any, ...]:
    """The row of an outcome; what the planned run says already is left out."""
    amounts = (getattr(outcome, name) for name in OUTCOME_INTEGERS)
    return (run, outcome.seat, outcome.candidate, outcome.exit_day, *amounts)


def read_outcome(key: RunKey, planned: PlannedRun, row: tuple[Any, ...]) -> CompanyOutcome:
    """Inverse of `outcome_row`."""
    _, seat, candidate, exit_day, *amounts = row
    return CompanyOutcome(
        campaign=key.campaign,
        run_id=key.run_id,
        group=planned.group,
        repeat=planned.repeat,
        seed=planned.seed,
        lineup_label=planned.lineup_label,
        replaced=planned.replaced,
        baseline=planned.baseline,
        stage=planned.stage,
        seat=seat,
        candidate=candidate,
        exit_day=exit_day,
        **dict(zip(OUTCOME_INTEGERS, amounts, strict=True)),
    )


def _faults(
    key: RunKey, planned: PlannedRun, commit: WindowCommit, state_digest: str
) -> Iterator[str]:
    if commit.state.version != commit.version_before + 1:
        yield f"its state has world version {commit.state.version}"
    numbers = [day.day for day in commit.days]
    if not numbers or any(after != before + 1 for before, after in pairwise(numbers)):
        yield f"its days are {numbers}"
    elif numbers[-1] != commit.state.day or commit.days[-1].state_digest != state_digest:
        yield f"its last day, {numbers[-1]}, does not end in its state"
    yield from _window_faults(commit)
    for outcome in commit.outcomes or ():
        if read_outcome(key, planned, outcome_row(0, outcome)) != outcome:
            yield f"the outcome of company-{outcome.seat} belongs to another run"


def _window_faults(commit: WindowCommit) -> Iterator[str]:
    for window in commit.decisions:
        if window.version != commit.version_before:
            yield f"company-{window.seat} decided at world version {window.version}"
        if window.status not in SETTLED:
            yield f"company-{window.seat} is {window.status}, which the barrier does not settle"
    for seat in commit.receipts.keys() - {window.seat for window in commit.decisions}:
        yield f"company-{seat} has receipts, but did not decide"


def _rows(run: int, commit: WindowCommit) -> list[tuple[Table, list[tuple[Any, ...]]]]:
    version = commit.version_before
    windows = [
        (
            run,
            version,
            window.seat,
            window.status,
            window.candidate,
            window.identity,
            window.decision_json,
            window.decision_digest,
        )
        for window in commit.decisions
    ]
    receipt_rows = [
        (run, version, seat, number, *msgspec.structs.astuple(receipt))
        for seat, of_seat in sorted(commit.receipts.items())
        for number, receipt in enumerate(of_seat, start=1)
    ]
    day_rows = [
        (run, day.day, version, day.state_digest, day_digest(day), day_details(day))
        for day in commit.days
    ]
    company_day_rows = [
        (
            run,
            day.day,
            company.seat,
            *company_day_columns(company).values(),
            company_day_details(company),
        )
        for day in commit.days
        for company in day.companies
    ]
    exits = [
        (run, company.seat, day.day)
        for day in commit.days
        for company in day.companies
        if company.exited
    ]
    return [
        (company_windows, windows),
        (receipts, receipt_rows),
        (days, day_rows),
        (company_days, company_day_rows),
        (company_exits, exits),
        (outcomes, [outcome_row(run, outcome) for outcome in commit.outcomes or ()]),
    ]
