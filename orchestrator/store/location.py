"""Opening a store: a directory with the catalogue and a database for each run."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sqlalchemy import Connection, Select, insert, select, update

from campaigns.consistency import SEARCH_WINNER
from campaigns.records import CompanyOutcome
from manifests.errors import InputError, IntegrityError, StoreError
from orchestrator.lifecycle import RunState
from orchestrator.store.catalogue import Catalogue, copied_rows, insert_controls, insert_copies
from orchestrator.store.codec import read_planned
from orchestrator.store.connection import Database, DatabaseNow
from orchestrator.store.controls import RouteControls
from orchestrator.store.errors import explained
from orchestrator.store.files import create_file, open_file
from orchestrator.store.holds import Holds
from orchestrator.store.records import DesiredState, RunKey, RunStatus
from orchestrator.store.runs import HeldRun, RunStore
from orchestrator.store.schema import campaigns, run_leases, run_states, runs

CATALOGUE_FILE: Final = "catalogue.db"
RUNS_DIRECTORY: Final = "runs"
_SQLITE_URL: Final = "sqlite:///"


class Store:
    """An open store. Close it, or use it in a `with` statement.

    `location` opens the same store from any directory and process. A store may be shared by
    threads; a process opens its own.
    """

    def __init__(self, directory: Path, database: Database) -> None:
        self.location = str(directory)
        self.catalogue = Catalogue(database)
        self.controls = RouteControls(database)
        self.holds = Holds(database)
        self._directory = directory
        self._database = database
        self._runs: dict[RunKey, RunStore] = {}

    def run(self, key: RunKey) -> RunStore:
        """One run; closed with the store. Raises InputError when the catalogue does not have it."""
        if key not in self._runs:
            self.catalogue.run(key)
            self._runs.setdefault(key, self._run_store(key))
        return self._runs[key]

    def statuses(self, campaign: str) -> list[RunStatus]:
        """How every run of a campaign stands, in scheduling order."""
        return [run.status() for run in self._each_run(campaign)]

    def outcomes(self, campaign: str) -> list[CompanyOutcome]:
        """How every company ended in every completed run of a campaign, in scheduling order."""
        return [outcome for run in self._each_run(campaign) for outcome in run.outcomes()]

    def close(self) -> None:
        """Close all files of the store."""
        for run in self._runs.values():
            run.close()
        self._runs.clear()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _each_run(self, campaign: str) -> Iterator[RunStore]:
        for row in self.catalogue.runs(campaign):
            if row.key in self._runs:
                yield self._runs[row.key]
                continue
            # A campaign may have more runs than this process may have open files.
            run = self._run_store(row.key)
            try:
                yield run
            finally:
                run.close()

    def _run_store(self, key: RunKey) -> RunStore:
        return RunStore(key, RunFile(_run_path(self._directory, key), key, self._database))


class RunFile:
    """The home of a run's rows: a file of its own, made when the run is first taken."""

    def __init__(self, path: Path, key: RunKey, catalogue: Database) -> None:
        self._path = path
        self._key = key
        self._catalogue = catalogue

    def find(self) -> HeldRun | None:
        """The run in its file, or None when there is no file.

        Raises:
            IntegrityError: the file belongs to another run, or to another plan.
        """
        with explained(self._path):
            there = self._path.exists()
        return self._opened() if there else None

    def make(self) -> HeldRun:
        """The run in its file, made with a copy of its campaign if need be; errors as `find`."""
        found = self.find()
        if found is None:
            create_file(self._path, self._fill)
            return self._opened()
        return found

    def _fill(self, connection: Connection) -> None:
        with self._catalogue.read() as catalogue:
            copies = copied_rows(catalogue, self._key.campaign)
        insert_copies(connection, copies)
        run, content = connection.execute(_row_of(self._key)).one()
        if SEARCH_WINNER in read_planned(content, f"the plan of {self._key}").lineup:
            raise InputError(
                f"The {self._key} cannot start yet: it waits for the winner of the search.",
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

    def _opened(self) -> HeldRun:
        database = open_file(self._path)
        try:
            with self._catalogue.read() as catalogue:
                bound = _plan_hash(catalogue, self._key.campaign)
            with database.read() as connection:
                run, content = _own_row(connection, self._key, self._path)
                found = _plan_hash(connection, self._key.campaign)
            if found != bound:
                raise IntegrityError(
                    f"{self._path} was written under plan {found}, but its campaign has {bound}.",
                    "Put back the database that belongs to this campaign.",
                )
            return HeldRun(database, run, read_planned(content, f"the plan of {self._key}"))
        except BaseException:
            database.close()
            raise


def open_store(location: str, create: bool = False) -> Store:
    """The store at a path, or at `sqlite:///` and a path; `create` makes it if it is not there.

    A store that lost its catalogue gets a new one from its runs; its campaigns are then paused.

    Raises:
        InputError: a URL of another database.
        StoreError: there is no store, it is damaged or from a newer version, or the system refuses.
    """
    directory = _directory_of(location)
    catalogue = directory / CATALOGUE_FILE
    with explained(directory):
        if directory.exists() and not directory.is_dir():
            raise StoreError(
                f"{directory} is a file; a store is a directory.", "Name another place."
            )
        if not catalogue.exists():
            if any(_run_files(directory)):
                create_file(catalogue, partial(_fill_from_runs, directory))
            elif create:
                create_file(catalogue, _fill_with_nothing)
            else:
                raise StoreError(
                    f"There is no store at {directory}.",
                    "Launch a campaign to make one, or name the place of another.",
                )
    return Store(directory, open_file(catalogue))


def _directory_of(location: str) -> Path:
    path = location.removeprefix(_SQLITE_URL)
    scheme, separator, _ = path.partition("://")
    if separator:
        raise InputError(
            f"A store cannot be kept at a URL of {scheme}.",
            "Name a directory, as a path or as sqlite:///path.",
        )
    if not path:
        raise InputError("The place of the store is empty.", "Name a directory.")
    return Path(path).expanduser().absolute()


def _run_path(directory: Path, key: RunKey) -> Path:
    return directory / RUNS_DIRECTORY / key.campaign / f"{key.run_id}.db"


def _run_files(directory: Path) -> Iterator[tuple[RunKey, Path]]:
    for path in sorted((directory / RUNS_DIRECTORY).glob("*/*.db")):
        # A killed process may have left an unfinished one, whose name begins with a dot.
        if not path.name.startswith("."):
            yield RunKey(path.parent.name, path.stem), path


def _fill_with_nothing(_connection: Connection) -> None:
    pass


def _fill_from_runs(directory: Path, connection: Connection) -> None:
    for key, path in _run_files(directory):
        database = open_file(path)
        try:
            with database.read() as of_run:
                copies = copied_rows(of_run, key.campaign)
                _, planned = _own_row(of_run, key, path)
        finally:
            database.close()
        if _plan_hash(connection, key.campaign) is None:
            insert_copies(connection, copies)
            insert_controls(
                connection,
                key.campaign,
                DesiredState.PAUSED,
                "The catalogue was lost and is built again from the runs.",
            )
        # Only a run's own database is sure to have the lineup with which it was played.
        connection.execute(
            update(runs)
            .where(runs.c.campaign == key.campaign, runs.c.run_id == key.run_id)
            .values(planned=planned)
        )


def _plan_hash(connection: Connection, campaign: str) -> str | None:
    return connection.scalar(select(campaigns.c.plan_hash).where(campaigns.c.name == campaign))


def _row_of(key: RunKey) -> Select[Any]:
    return select(runs.c.run, runs.c.planned).where(
        runs.c.campaign == key.campaign, runs.c.run_id == key.run_id
    )


def _own_row(connection: Connection, key: RunKey, path: Path) -> tuple[int, bytes]:
    # The file of a run has the rows of its whole campaign, but only one run's state.
    row = connection.execute(_row_of(key).join(run_states)).one_or_none()
    if row is None:
        raise IntegrityError(
            f"{path} is not the database of {key}.", "Put the databases back where they were."
        )
    return row.run, row.planned
