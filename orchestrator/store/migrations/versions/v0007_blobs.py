"""What is said and written in sessions, by the digest of its content."""

import hashlib
import zlib

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# Which column of which table held a compressed content, and what told its rows apart.
_HOLDERS = {
    "session_events": ("body", ("run", "version", "seat", "attempt", "ordinal")),
    "private_files": ("content", ("run", "version", "seat", "attempt", "path", "file_version")),
    "late_replies": ("body", ("run", "number")),
}


def upgrade() -> None:
    blobs = op.create_table(
        "blobs",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_blobs_run_runs")),
        sa.PrimaryKeyConstraint("run", "digest", name=op.f("pk_blobs")),
    )
    connection = op.get_bind()
    for name, (column, key) in _HOLDERS.items():
        op.execute(f"ALTER TABLE {name} RENAME COLUMN {column} TO blob")
        table = _table(name, "blob", key)
        for place, packed in _rows(connection, table, key):
            digest = hashlib.sha256(zlib.decompress(packed)).digest()
            of_blob = (blobs.c.run == place["run"], blobs.c.digest == digest)
            if connection.execute(sa.select(blobs.c.run).where(*of_blob)).first() is None:
                row = {"run": place["run"], "digest": digest, "content": packed}
                connection.execute(sa.insert(blobs).values(row))
            _put(connection, table, place, digest)


def downgrade() -> None:
    connection = op.get_bind()
    blobs = _table("blobs", "content", ("run", "digest"))
    for name, (column, key) in _HOLDERS.items():
        table = _table(name, "blob", key)
        for place, digest in _rows(connection, table, key):
            of_blob = (blobs.c.run == place["run"], blobs.c.digest == digest)
            packed = connection.execute(sa.select(blobs.c.content).where(*of_blob)).scalar_one()
            _put(connection, table, place, packed)
        op.execute(f"ALTER TABLE {name} RENAME COLUMN blob TO {column}")
    op.drop_table("blobs")


def _table(name: str, column: str, key: tuple[str, ...]) -> sa.TableClause:
    return sa.table(name, *(sa.column(part) for part in key), sa.column(column, sa.LargeBinary()))


def _rows(
    connection: sa.Connection, table: sa.TableClause, key: tuple[str, ...]
) -> list[tuple[dict[str, int], bytes]]:
    """The keys of all rows, each with what its column holds."""
    found = connection.execute(sa.select(*(table.c[part] for part in key), table.c.blob)).all()
    return [(dict(zip(key, row[:-1], strict=True)), row[-1]) for row in found]


def _put(
    connection: sa.Connection, table: sa.TableClause, place: dict[str, int], value: bytes
) -> None:
    where = (table.c[part] == found for part, found in place.items())
    connection.execute(sa.update(table).where(*where).values(blob=value))
