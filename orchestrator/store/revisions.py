"""The revision of the schema at which a database is, and the way to the present one."""

from collections.abc import Callable

from sqlalchemy import Connection, insert, inspect, select

from manifests.errors import StoreError
from orchestrator.store.connection import Database
from orchestrator.store.schema import REVISION, version_table


def stamp(connection: Connection) -> None:
    """Note that the tables just made are of the present revision."""
    version_table.create(connection)
    connection.execute(insert(version_table).values(version_num=REVISION))


def anything(_connection: Connection) -> None:
    """Let a database be migrated, whatever it holds."""


def brought_up_to_date(database: Database, check: Callable[[Connection], None] = anything) -> None:
    """Migrate a database to the present revision if it is older, unless `check` raises.

    Raises:
        StoreError: it is no database of a store, from a newer version, or refuses.
    """
    found = _revision(database)
    if found != REVISION:
        # Alembic takes most of a second to import, and is rarely needed.
        from orchestrator.store import migrations

        migrations.upgrade(database, found, check)


def _revision(database: Database) -> str | None:
    """The revision at which a database of ours is; None before the first."""
    with database.read() as connection:
        if not inspect(connection).has_table(version_table.name):
            raise StoreError(
                f"{database.place} is a database, but not one of a CEO Arena store.",
                "Name another place for the store.",
            )
        return connection.execute(select(version_table.c.version_num)).scalar()
