"""From one revision of the schema to the next, with Alembic, in one transaction for each database.

A new revision is a file in `versions` and the new value of `schema.REVISION`; a test holds the two
and `schema.metadata` together.
"""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select

from manifests.errors import StoreError
from orchestrator.owners import has_ended
from orchestrator.store.connection import CommitPoint, Database, DatabaseNow, repeated
from orchestrator.store.schema import REVISION, campaign_leases, run_leases

_ALEMBIC: Final = Lock()
"""Alembic keeps what it works on in globals; a host opens databases in several threads."""


def configuration(connection: Connection | None = None) -> Config:
    """Alembic's configuration for the scripts of this package, working on an open transaction."""
    config = Config()
    # Alembic takes a percent sign in a value for the start of an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(database: Database, found: str | None, check: Callable[[Connection], None]) -> None:
    """Migrate a database from the revision `found` to the present one, unless `check` raises.

    Raises:
        StoreError: this version does not know the revision, because a newer one wrote the database;
            somebody works with the older tables; or the database cannot be written.
    """
    known = [
        script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()
    ]
    if found is not None and found not in known:
        raise StoreError(
            f"{database.place} was written by a newer version: its schema has revision {found}, "
            f"this version knows revisions up to {REVISION}.",
            "Install the ceo-arena that wrote it, or a later one, or name another store.",
        )
    _upgrade(database, check)


@repeated
def _upgrade(database: Database, check: Callable[[Connection], None]) -> None:
    with _ALEMBIC, database.write(CommitPoint.UPGRADE_DATABASE) as connection:
        # Of several that begin at once one migrates; the others find nothing left to do.
        _check_nobody_uses(connection, database.place)
        check(connection)
        command.upgrade(configuration(connection), "head")


def _check_nobody_uses(connection: Connection, place: object) -> None:
    """Raise StoreError while an owner that may live works with the tables as they were."""
    for leases in (campaign_leases, run_leases):
        if not inspect(connection).has_table(leases.name):
            continue
        left = leases.c.expires_at - DatabaseNow()
        for owner, milliseconds in connection.execute(
            select(leases.c.owner, left).where(leases.c.owner.is_not(None), left > 0)
        ):
            if not has_ended(owner):
                raise StoreError(
                    f"{place} was written by an older version, with which {owner} still works "
                    f"for another {milliseconds / 1000:.1f} seconds.",
                    "Let it finish, or stop it, before this version changes the tables.",
                )
