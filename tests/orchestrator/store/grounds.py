"""Where stores stand whose lives end: in directories, or in databases of a server."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import make_url

from orchestrator.store import open_store
from orchestrator.store.connection import Database
from orchestrator.store.files import open_file
from orchestrator.store.postgresql import PostgresqlDatabase, postgresql_engine
from orchestrator.store.schema import version_table
from tests.orchestrator.store import raw, samples


class Ground(Protocol):
    """Where stores are; a store there has one `location`, and its life begins `another`."""

    def fresh(self, name: str) -> str:
        """An empty store of the revision before the first, so that it is upgraded, too."""
        ...

    def another(self, location: str) -> str: ...

    def databases(self, location: str) -> Iterator[tuple[str, Database]]:
        """All databases of a store and of the other one."""
        ...

    def leftover(self, location: str) -> bool: ...


class Directories:
    """Stores in directories below one."""

    def __init__(self, within: Path) -> None:
        self._within = within
        self._template = within / "template"
        open_store(str(self._template), create=True).close()
        samples.rewind(self._template / "catalogue.db")

    def fresh(self, name: str) -> str:
        return str(shutil.copytree(self._template, self._within / name))

    def another(self, location: str) -> str:
        return str(Path(location) / "another")

    def databases(self, location: str) -> Iterator[tuple[str, Database]]:
        for path in sorted(Path(location).rglob("*.db")):
            with closed(open_file(path)) as database:
                yield path.name, database

    def leftover(self, location: str) -> bool:
        return any(Path(location).rglob(".*"))


class Databases:
    """One store after the other in two databases, which hold nothing else."""

    def __init__(self, location: str, another: str) -> None:
        self._places = location, another

    def fresh(self, name: str) -> str:
        del name
        for _, database in self.databases(self._places[0]):
            with database.engine.connect() as connection:
                connection.exec_driver_sql("DROP SCHEMA public CASCADE")
                connection.exec_driver_sql("CREATE SCHEMA public")
                if database.place == self._places[0]:
                    version_table.create(connection)
        return self._places[0]

    def another(self, location: str) -> str:
        del location
        return self._places[1]

    def databases(self, location: str) -> Iterator[tuple[str, Database]]:
        del location
        for place in self._places:
            with closed(PostgresqlDatabase(postgresql_engine(make_url(place)), place)) as database:
                yield place, database

    def leftover(self, location: str) -> bool:
        """Whether somebody who is gone still holds a lock."""
        idle = "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
        return bool(raw.execute(location, idle))


@contextmanager
def closed(database: Database) -> Iterator[Database]:
    try:
        yield database
    finally:
        database.close()
