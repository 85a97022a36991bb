"""Journals of model sessions, heartbeats, the companies' private files, and late replies."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ATTEMPT = ("version", "seat", "attempt")


def upgrade() -> None:
    op.create_table(
        "session_events",
        *_attempt(),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("committed_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        _of_a_run("session_events"),
        sa.PrimaryKeyConstraint("run", *_ATTEMPT, "ordinal", name=op.f("pk_session_events")),
    )
    op.create_table(
        "session_heartbeats",
        *_attempt(),
        sa.Column("active_milliseconds", sa.BigInteger(), nullable=False),
        _of_a_run("session_heartbeats"),
        sa.PrimaryKeyConstraint("run", *_ATTEMPT, name=op.f("pk_session_heartbeats")),
    )
    op.create_table(
        "private_files",
        *_attempt(),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("file_version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        _of_a_run("private_files"),
        sa.PrimaryKeyConstraint(
            "run", *_ATTEMPT, "path", "file_version", name=op.f("pk_private_files")
        ),
    )
    op.create_table(
        "late_replies",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("run", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in (*_ATTEMPT, "request")),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("committed_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        _of_a_run("late_replies"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_late_replies")),
    )


def downgrade() -> None:
    for table in ("late_replies", "private_files", "session_heartbeats", "session_events"):
        op.drop_table(table)


def _attempt() -> list[sa.Column[int]]:
    return [
        sa.Column("run", sa.BigInteger(), nullable=False),
        *(
            sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=False)
            for name in _ATTEMPT
        ),
    ]


def _of_a_run(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f(f"fk_{table}_run_runs"))
