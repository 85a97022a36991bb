"""Failures, fresh attempts, what people hold, and every change of a run's status."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ATTEMPT = ("version", "seat", "attempt")


def upgrade() -> None:
    op.create_table(
        "run_transitions",
        _number(),
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        _of_a_run("run_transitions"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_run_transitions")),
    )
    op.create_table(
        "run_holds",
        sa.Column("run", sa.BigInteger(), nullable=False),
        *_hold(),
        _of_a_run("run_holds"),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_run_holds")),
    )
    op.create_table(
        "window_holds",
        sa.Column("run", sa.BigInteger(), nullable=False),
        *_key("version", "seat"),
        *_hold(),
        _of_a_run("window_holds"),
        sa.PrimaryKeyConstraint("run", "version", "seat", name=op.f("pk_window_holds")),
    )
    op.create_table(
        "failures",
        _number(),
        sa.Column("run", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in (*_ATTEMPT, "ordinal")),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("needs_person", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("verdict_reason", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("failed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_failures")),
        sa.UniqueConstraint("run", *_ATTEMPT, "ordinal", name=op.f("uq_failures_run")),
        _of_a_run("failures"),
    )
    op.create_table(
        "fresh_attempts",
        sa.Column("run", sa.BigInteger(), nullable=False),
        *_key(*_ATTEMPT),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("files_digest", sa.Text(), nullable=False),
        sa.Column("carried", sa.LargeBinary(), nullable=False),
        sa.Column("archive", sa.LargeBinary(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        _of_a_run("fresh_attempts"),
        sa.PrimaryKeyConstraint("run", *_ATTEMPT, name=op.f("pk_fresh_attempts")),
    )


def downgrade() -> None:
    for table in ("fresh_attempts", "failures", "window_holds", "run_holds", "run_transitions"):
        op.drop_table(table)


def _number() -> sa.Column[int]:
    return sa.Column(
        "number",
        sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
        autoincrement=True,
        nullable=False,
    )


def _hold() -> list[sa.Column[Any]]:
    return [
        sa.Column("desired", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
    ]


def _key(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=False) for name in names]


def _of_a_run(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f(f"fk_{table}_run_runs"))
