"""Which runs, seats and windows a person means by what an act or a question names."""

from campaigns.plan import PlannedRun
from engine.scenario import Scenario
from manifests.errors import InputError
from orchestrator.store import Catalogue, RunKey, RunRow


def chosen_runs(
    catalogue: Catalogue, campaign: str, run_id: str | None, seat: int | None
) -> list[RunRow]:
    """The runs that are meant by an id, or all of them; a seat that is named is in one of them.

    Raises:
        InputError: no such campaign, run or seat.
    """
    if run_id is not None:
        row = catalogue.run(RunKey(campaign, run_id))
        check_seat(row.planned, seat)
        return [row]
    rows = catalogue.runs(campaign)
    seats = max((len(row.planned.lineup) for row in rows), default=0)
    if seat is not None and not 1 <= seat <= seats:
        raise InputError(f"There is no seat {seat}.", f"Seats are 1 to {seats}.")
    return rows


def check_seat(planned: PlannedRun, seat: int | None) -> None:
    """Raise InputError when a seat is named that a run does not have."""
    seats = len(planned.lineup)
    if seat is not None and not 1 <= seat <= seats:
        raise InputError(
            f"There is no seat {seat} in run {planned.run_id}.", f"Give a seat from 1 to {seats}."
        )


def version_on(day: int, scenario: Scenario) -> int:
    """The world version of the windows that open on a day. Raises InputError when none does."""
    window, horizon = scenario.window_days, scenario.horizon_days
    if not 0 <= day < horizon or day % window:
        last = (horizon - 1) // window * window
        raise InputError(
            f"No window opens on day {day}.",
            f"Windows open on day 0 and every {window} days after it, the last on day {last}.",
        )
    return day // window
