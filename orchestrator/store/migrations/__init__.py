"""From one revision of the schema to the next, with Alembic, in one transaction for each database.

A new revision is a file in `versions` and the new value of `schema.REVISION`; a test holds the two
and `schema.metadata` together.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from manifests.errors import StoreError
from orchestrator.store.connection import CommitPoint, Database
from orchestrator.store.schema import REVISION


def configuration(connection: Connection | None = None) -> Config:
    """Alembic's configuration for the scripts of this package, working on an open transaction."""
    config = Config()
    # Alembic takes a percent sign in a value for the start of an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(database: Database, found: str | None) -> None:
    """Migrate a database from the revision `found` to the present one.

    Raises:
        StoreError: this version does not know the revision, because a newer one wrote the database.
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
    with database.write(CommitPoint.UPGRADE_DATABASE) as connection:
        command.upgrade(configuration(connection), "head")
