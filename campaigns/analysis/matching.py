"""Outcome records matched with the runs that were planned, so that what is missing has a name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome
from manifests.errors import InputError


@dataclass(frozen=True, slots=True)
class Matched:
    """The outcomes of each complete run by its id, in seat order, and the ids of the others.

    `complete_seeds` are the seeds, in the order of the plan, of which no planned run is missing;
    `incomplete_seeds` the others.
    """

    outcomes: Mapping[str, tuple[CompanyOutcome, ...]]
    missing: tuple[str, ...]
    complete_seeds: tuple[int, ...]
    incomplete_seeds: tuple[int, ...]


def match(runs: Sequence[PlannedRun], outcomes: Iterable[CompanyOutcome]) -> Matched:
    """The outcomes that belong to `runs`; those of groups that `runs` do not touch are passed over.

    Raises:
        InputError: an outcome of one of these groups belongs to no run, contradicts its run's seed,
            repeat or lineup, or stands twice.
    """
    by_id = {run.run_id: run for run in runs}
    groups = {run.group for run in runs}
    found: dict[str, dict[int, CompanyOutcome]] = {run.run_id: {} for run in runs}
    for outcome in outcomes:
        if outcome.group not in groups:
            continue
        _check(outcome, by_id.get(outcome.run_id))
        seats = found[outcome.run_id]
        if outcome.seat in seats:
            raise InputError(
                f"Run {outcome.run_id} has two outcomes for seat {outcome.seat}.",
                "Give each company's outcome once.",
            )
        seats[outcome.seat] = outcome
    return _sorted_out(runs, found)


def _check(outcome: CompanyOutcome, run: PlannedRun | None) -> None:
    if run is None:
        raise InputError(
            f"Run {outcome.run_id} of group {outcome.group} is not in the plan.",
            "Analyse outcomes together with the plan they were made under.",
        )
    planned = {
        "group": run.group,
        "seed": run.seed,
        "repeat": run.repeat,
        "replaced": run.replaced,
        "stage": run.stage,
        "candidate": dict(enumerate(run.lineup, start=1)).get(outcome.seat),
    }
    for field, expected in planned.items():
        received = getattr(outcome, field)
        if received != expected:
            raise InputError(
                f"Run {run.run_id}, seat {outcome.seat}: the outcome has {field} {received}, "
                f"the plan {expected}.",
                "Analyse outcomes together with the plan they were made under.",
            )


def _sorted_out(
    runs: Sequence[PlannedRun], found: Mapping[str, Mapping[int, CompanyOutcome]]
) -> Matched:
    complete: dict[str, tuple[CompanyOutcome, ...]] = {}
    missing: list[str] = []
    whole: dict[int, bool] = {}
    for run in runs:
        seats = range(1, len(run.lineup) + 1)
        is_complete = all(seat in found[run.run_id] for seat in seats)
        if is_complete:
            complete[run.run_id] = tuple(found[run.run_id][seat] for seat in seats)
        else:
            missing.append(run.run_id)
        whole[run.seed] = whole.get(run.seed, True) and is_complete
    return Matched(
        outcomes=complete,
        missing=tuple(missing),
        complete_seeds=tuple(seed for seed, is_whole in whole.items() if is_whole),
        incomplete_seeds=tuple(seed for seed, is_whole in whole.items() if not is_whole),
    )
