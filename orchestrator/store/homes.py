"""Where rows are: the one thing in which stores of different databases differ.

A store has a catalogue and, for each run, a home of its rows. `directory` keeps a file for the
catalogue and one for each run; `server` keeps all in one database. Whatever is read or written goes
through `Database`, and is the same for both.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, Select, insert, select

from campaigns.consistency import SEARCH_WINNER
from campaigns.plan import PlannedRun
from manifests.errors import InputError
from orchestrator.lifecycle import RunState
from orchestrator.store.codec import read_planned
from orchestrator.store.connection import Database, DatabaseNow
from orchestrator.store.records import RunKey
from orchestrator.store.schema import run_leases, run_states, runs


class HeldRun(NamedTuple):
    """A run in its database, which numbers it `run` and repeats what is planned for it."""

    database: Database
    run: int
    planned: PlannedRun


class RunHome(Protocol):
    """Where a run's rows are. They come into being when the run is first taken."""

    def find(self) -> HeldRun | None:
        """The run, or None when it has no rows yet.

        Raises:
            IntegrityError: the rows belong to another run, or to another plan.
        """
        ...

    def make(self) -> HeldRun:
        """The run, with its rows made if there are none; errors as `find`."""
        ...

    def close(self) -> None:
        """Give up what only this run holds open; the next use opens it again."""
        ...


class StoreHome(Protocol):
    """Where a whole store is; `location` opens it from any process, and holds no secret."""

    location: str
    catalogue: Database

    def of_run(self, key: RunKey) -> RunHome:
        """The home of a run that the catalogue has."""
        ...

    def faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the databases themselves: each place, and what."""
        ...

    def obstacle(self) -> str:
        """Why nothing can be written at present, as far as that is seen; empty for nothing."""
        ...

    def most_hosts(self) -> int | None:
        """How many processes may play its runs at once; None when nothing limits them."""
        ...

    def close(self) -> None:
        """Close everything that this process holds open."""
        ...


def insert_first_rows(connection: Connection, key: RunKey) -> None:
    """Give a run that is planned in this database its state and its free lease.

    Raises:
        InputError: the run waits for the winner of a search.
    """
    run, content = connection.execute(row_of(key)).one()
    if SEARCH_WINNER in read_planned(content, f"the plan of {key}").lineup:
        raise InputError(
            f"The {key} cannot start yet: it waits for the winner of the search.",
            "Complete the runs on which it depends first.",
        )
    connection.execute(
        insert(run_states).values(
            run=run,
            status=RunState.PLANNED,
            reason="",
            world_version=0,
            day=0,
            updated_at=DatabaseNow(),
        )
    )
    connection.execute(insert(run_leases).values(run=run, epoch=0, expires_at=DatabaseNow()))


def row_of(key: RunKey) -> Select[Any]:
    """The number and the stored plan of a run."""
    return select(runs.c.run, runs.c.planned).where(
        runs.c.campaign == key.campaign, runs.c.run_id == key.run_id
    )
