"""A store in a directory: a file for the catalogue and one for each run, all of SQLite.

A run's file repeats the rows of its campaign, so that a lost catalogue is built again from them.
"""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, insert, select, update

from manifests.errors import ArenaError, IntegrityError, StoreError
from orchestrator.store.campaign_copies import (
    Copies,
    copied_rows,
    insert_copies,
    renew_copies,
)
from orchestrator.store.catalogue import insert_controls
from orchestrator.store.codec import read_planned
from orchestrator.store.connection import CommitPoint, Database, DatabaseNow
from orchestrator.store.errors import NoStore, explained, obstacle
from orchestrator.store.files import create_file, open_file
from orchestrator.store.homes import HeldRun, insert_first_rows, row_of
from orchestrator.store.plans import was_planned
from orchestrator.store.records import MADE_AGAIN, DesiredState, RunKey
from orchestrator.store.revisions import anything
from orchestrator.store.schema import campaigns, made_runs, past_plans, run_states, runs
from orchestrator.store.spending_rows import Spent, restate, spent_by_run
from orchestrator.store.sqlite import sqlite_database
from orchestrator.store.stranding import check_nothing_is_stranded, completed_in

CATALOGUE_FILE: Final = "catalogue.db"
RUNS_DIRECTORY: Final = "runs"


class Directory:
    """The home of a store, below one directory."""

    def __init__(self, path: Path, catalogue: Database) -> None:
        self.location = str(path)
        self.catalogue = catalogue
        self._path = path

    def of_run(self, key: RunKey) -> "RunFile":
        """The file of a run, which need not exist."""
        return RunFile(run_path(self._path, key), key, self.catalogue)

    def faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the files: damage, and runs of which the catalogue knows nothing."""
        yield from _file_faults(self._path / CATALOGUE_FILE)
        with self.catalogue.read() as connection:
            planned = connection.execute(select(runs.c.campaign, runs.c.run_id))
            known = {RunKey(*row) for row in planned}
        for key, path in run_files(self._path):
            if key not in known:
                yield str(path), "the catalogue has no such run"
            yield from _file_faults(path)

    def obstacle(self) -> str:
        """Why nothing can be written at present, as far as the file system tells."""
        return obstacle(self._path)

    def most_hosts(self) -> None:
        """Files have no limit but that of the machine."""

    def close(self) -> None:
        """Close the catalogue."""
        self.catalogue.close()


class RunFile:
    """The home of a run's rows: a file of its own, made when the run is first taken."""

    def __init__(self, path: Path, key: RunKey, catalogue: Database) -> None:
        self._path = path
        self._key = key
        self._catalogue = catalogue
        self._database: Database | None = None

    def find(self) -> HeldRun | None:
        """The run in its file, or None when none was made yet.

        Raises:
            IntegrityError: the file belongs to another run, or to another plan; or it is gone.
        """
        if self._is_there():
            return self._opened()
        if not self._was_made():
            return None
        # Another process may have made it between the two looks.
        if self._is_there():
            return self._opened()
        raise IntegrityError(
            f"The database of the {self._key} is not at {self._path} any more.",
            "Put it back, from a backup if need be: what the run did stands there alone.",
        )

    def make(self) -> HeldRun:
        """The run in its file, made with a copy of its campaign if need be; errors as `find`."""
        found = self.find()
        if found is None:
            create_file(self._path, self._fill, CommitPoint.CREATE_RUN)
            found = self._opened()
        if not self._was_made():
            with self._catalogue.write(CommitPoint.NOTE_FILE) as catalogue:
                note_file(catalogue, self._key)
        return found

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _fill(self, connection: Connection) -> None:
        with self._catalogue.read() as catalogue:
            copies = copied_rows(catalogue, self._key.campaign)
        insert_copies(connection, copies)
        insert_first_rows(connection, self._key)

    def _is_there(self) -> bool:
        with explained(self._path):
            return self._path.exists()

    def _was_made(self) -> bool:
        made = row_of(self._key).join(made_runs)
        with self._catalogue.read() as catalogue:
            return catalogue.execute(made).first() is not None

    def _opened(self) -> HeldRun:
        self._database = open_file(self._path)
        try:
            with self._database.read() as connection:
                run, content = _own_row(connection, self._key, self._path)
                found = _plan_hash(connection, self._key.campaign)
            self._keep_up(self._database, run, found)
            return HeldRun(self._database, run, read_planned(content, f"the plan of {self._key}"))
        except BaseException:
            self.close()
            raise

    def _keep_up(self, database: Database, run: int, found: str | None) -> None:
        """Let the run, whose copy has the plan `found`, take notice of a plan that extends it."""
        name = self._key.campaign
        with self._catalogue.read() as catalogue:
            bound = _plan_hash(catalogue, name)
            if found == bound:
                return
            extended = found is not None and was_planned(catalogue, name, found)
            copies = copied_rows(catalogue, name)
        if not extended:
            raise IntegrityError(
                f"{self._path} was written under plan {found}, but its campaign has {bound}.",
                "Put back the database that belongs to this campaign.",
            )
        with database.write(CommitPoint.RENEW_COPY) as connection:
            renew_copies(connection, run, copies)


def open_directory(path: Path, create: bool, upgrade: bool = False) -> Directory:
    """The store below a directory; `create` makes it if it is not there, `upgrade` migrates an
    older one even where campaigns can then not be finished.

    A store that lost its catalogue gets a new one from its runs, with what these say was spent;
    its campaigns are then paused, because caps that were set by hand went with the catalogue.

    Raises:
        StoreError: there is no store, it is damaged or from a newer version, or the system refuses.
    """
    catalogue = path / CATALOGUE_FILE
    with explained(path):
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file; a store is a directory.", "Name another place.")
        if not catalogue.exists():
            if any(run_files(path)):
                create_file(catalogue, partial(_fill_from_runs, path, upgrade))
            elif create:
                create_file(catalogue, _fill_with_nothing)
            else:
                raise NoStore(str(path))
    check = anything if upgrade else partial(_check_all_can_be_finished, path)
    return Directory(path, open_file(catalogue, check))


def run_path(directory: Path, key: RunKey) -> Path:
    """The file of a run in a store below a directory."""
    return directory / RUNS_DIRECTORY / key.campaign / f"{key.run_id}.db"


def run_files(directory: Path) -> Iterator[tuple[RunKey, Path]]:
    """The runs that have files in a store below a directory, in the order of their names."""
    for path in sorted((directory / RUNS_DIRECTORY).glob("*/*.db")):
        # A killed process may have left an unfinished one, whose name begins with a dot.
        if not path.name.startswith("."):
            yield RunKey(path.parent.name, path.stem), path


def _check_all_can_be_finished(directory: Path, catalogue: Connection) -> None:
    check_nothing_is_stranded(catalogue, directory, partial(_is_completed, directory))


def _check_it_can_be_finished(key: RunKey, path: Path, of_run: Connection) -> None:
    """The same for one run, by its own file, which says nothing of the others."""
    check_nothing_is_stranded(of_run, path, lambda other: other != key or completed_in(of_run, key))


def _is_completed(directory: Path, key: RunKey) -> bool:
    path = run_path(directory, key)
    if not path.exists():
        return False
    with closing(sqlite_database(path)) as database, database.read() as connection:
        return completed_in(connection, key)


def _file_faults(path: Path) -> Iterator[tuple[str, str]]:
    try:
        database = open_file(path)
        try:
            for fault in database.faults():
                yield str(path), fault
        finally:
            database.close()
    except ArenaError as error:
        yield str(path), error.message


def _fill_with_nothing(_connection: Connection) -> None:
    pass


def _fill_from_runs(directory: Path, upgrade: bool, connection: Connection) -> None:
    campaigns_there: dict[str, Copies] = {}
    seated: list[tuple[RunKey, bytes]] = []
    spent: list[tuple[str, Spent]] = []
    for key, path in run_files(directory):
        check = anything if upgrade else partial(_check_it_can_be_finished, key, path)
        database = open_file(path, check)
        try:
            with database.read() as of_run:
                copies = copied_rows(of_run, key.campaign)
                run, planned = _own_row(of_run, key, path)
                seated.append((key, planned))
                spent += spent_in_run(of_run, key, run, planned)
        finally:
            database.close()
        # The copy that knows the most plans is the latest.
        known = campaigns_there.setdefault(key.campaign, copies)
        if len(copies[past_plans]) > len(known[past_plans]):
            campaigns_there[key.campaign] = copies
    for name, copies in campaigns_there.items():
        insert_copies(connection, copies)
        insert_controls(
            connection,
            name,
            DesiredState.PAUSED,
            MADE_AGAIN,
            "The catalogue was lost and is built again from the runs.",
        )
    restate(connection, spent)
    for key, planned in seated:
        # Only a run's own database is sure to have the lineup with which it was played.
        connection.execute(
            update(runs)
            .where(runs.c.campaign == key.campaign, runs.c.run_id == key.run_id)
            .values(planned=planned)
        )
        note_file(connection, key)


def spent_in_run(
    of_run: Connection, key: RunKey, run: int, planned: bytes
) -> Iterator[tuple[str, Spent]]:
    """What the routes of a campaign have spent in one run, by the run's own file."""
    for spent in spent_by_run(of_run, run, read_planned(planned, f"the plan of {key}")):
        yield key.campaign, spent


def note_file(catalogue: Connection, key: RunKey) -> None:
    """Note in the catalogue that a run has a file of its own; once noted, it stays as it was."""
    run = catalogue.execute(row_of(key)).one().run
    there = catalogue.scalar(select(made_runs.c.run).where(made_runs.c.run == run))
    if there is None:
        catalogue.execute(insert(made_runs).values(run=run, at=DatabaseNow()))


def _plan_hash(connection: Connection, campaign: str) -> str | None:
    return connection.scalar(select(campaigns.c.plan_hash).where(campaigns.c.name == campaign))


def _own_row(connection: Connection, key: RunKey, path: Path) -> tuple[int, bytes]:
    # The file of a run has the rows of its whole campaign, but only one run's state.
    row = connection.execute(row_of(key).join(run_states)).one_or_none()
    if row is None:
        raise IntegrityError(
            f"{path} is not the database of {key}.", "Put the databases back where they were."
        )
    return row.run, row.planned
