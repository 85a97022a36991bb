"""A store in one database of PostgreSQL, which hosts on many machines share."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from sqlalchemy import URL, Connection, Engine, inspect

from manifests.errors import StoreError
from orchestrator.store.codec import read_planned
from orchestrator.store.connection import CommitPoint, Database, repeated
from orchestrator.store.errors import NoStore
from orchestrator.store.homes import HeldRun, insert_first_rows, row_of
from orchestrator.store.postgresql import CONNECTIONS, PostgresqlDatabase, postgresql_engine
from orchestrator.store.records import RunKey
from orchestrator.store.revisions import anything, brought_up_to_date, stamp
from orchestrator.store.schema import metadata, run_states, version_table
from orchestrator.store.stranding import check_nothing_is_stranded, completed_in

_OTHERS: Final = 3
"""Processes beside the hosts: the scheduler, the command that follows it, and one more."""


class Server:
    """The home of a store, in the database that `url` names."""

    def __init__(self, url: URL, engine: Engine) -> None:
        self.location = url.render_as_string()
        self.catalogue: Database = PostgresqlDatabase(engine, self.location, alone=True)
        self._runs = PostgresqlDatabase(engine, self.location)

    def of_run(self, key: RunKey) -> "RunRows":
        """The rows of a run, which need not exist."""
        return RunRows(key, self.catalogue, self._runs)

    def faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the database itself."""
        for fault in self.catalogue.faults():
            yield self.location, fault

    def obstacle(self) -> str:
        """Nothing that could be seen from here: the disk is the server's."""
        return ""

    @repeated
    def most_hosts(self) -> int:
        """As many as the server has connections for, beside the scheduler and two commands."""
        with self._runs.read() as connection:
            allowed = int(connection.exec_driver_sql("SHOW max_connections").scalar_one())
            reserved = connection.exec_driver_sql("SHOW superuser_reserved_connections")
            return max((allowed - int(reserved.scalar_one())) // CONNECTIONS - _OTHERS, 1)

    def close(self) -> None:
        """Close the connections of this process."""
        self.catalogue.close()


class RunRows:
    """The home of a run's rows: among those of all others, made when the run is first taken."""

    def __init__(self, key: RunKey, catalogue: Database, database: Database) -> None:
        self._key = key
        self._catalogue = catalogue
        self._database = database

    @repeated
    def find(self) -> HeldRun | None:
        """The run, or None when it has no state yet."""
        with self._database.read() as connection:
            return self._found(connection)

    @repeated
    def make(self) -> HeldRun:
        """The run, with its state and lease made if there are none."""
        with self._catalogue.write(CommitPoint.CREATE_RUN) as connection:
            found = self._found(connection)
            if found is None:
                insert_first_rows(connection, self._key)
                found = self._found(connection)
            assert found is not None
            return found

    def close(self) -> None:
        """Nothing: the connections serve all runs."""

    def _found(self, connection: Connection) -> HeldRun | None:
        row = connection.execute(row_of(self._key).join(run_states)).one_or_none()
        if row is None:
            return None
        planned = read_planned(row.planned, f"the plan of {self._key}")
        return HeldRun(self._database, row.run, planned)


def open_server(url: URL, create: bool, upgrade: bool = False) -> Server:
    """The store in a database that is there; `create` makes its tables if they are not, `upgrade`
    migrates older ones even where campaigns can then not be finished.

    Raises:
        StoreError: the server does not answer or does not let us in, there is no store, or one
            from a newer version.
    """
    engine = postgresql_engine(url)
    server = Server(url, engine)
    try:
        with server.catalogue.read() as connection:
            tables = set(inspect(connection).get_table_names())
        if version_table.name not in tables:
            if not create:
                raise NoStore(server.location)
            _create(server.catalogue)
        check = anything if upgrade else partial(_check_all_can_be_finished, server.location)
        brought_up_to_date(server.catalogue, check)
        return server
    except BaseException:
        server.close()
        raise


def _check_all_can_be_finished(location: str, connection: Connection) -> None:
    check_nothing_is_stranded(connection, location, partial(completed_in, connection))


@repeated
def _create(catalogue: Database) -> None:
    with catalogue.write(CommitPoint.CREATE_DATABASE) as connection:
        # Nobody else makes it at the same time, but somebody may have.
        tables = inspect(connection).get_table_names()
        if version_table.name in tables:
            return
        if tables:
            raise StoreError(
                f"The database {catalogue.place} holds tables of something else: {tables[0]}.",
                "Give the store a database of its own.",
            )
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreError(
                f"The database {catalogue.place} keeps text as {encoding}.",
                "Create it with ENCODING 'UTF8' TEMPLATE template0.",
            )
        metadata.create_all(connection)
        stamp(connection)
