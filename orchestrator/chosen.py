"""Which runs a person means by what an act or a question names."""

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
        rows = [catalogue.run(RunKey(campaign, run_id))]
    else:
        rows = catalogue.runs(campaign)
    seats = max((len(row.planned.lineup) for row in rows), default=0)
    if seat is not None and seat > seats:
        raise InputError(f"There is no seat {seat}.", f"Seats are 1 to {seats}.")
    return rows
