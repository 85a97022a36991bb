"""Which fresh attempts are to begin before their time."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_KEY = ("run", "version", "seat", "attempt")


def upgrade() -> None:
    op.create_table(
        "hastened_attempts",
        *(sa.Column(n, sa.BigInteger(), autoincrement=False, nullable=False) for n in _KEY),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_hastened_attempts_run_runs")),
        sa.PrimaryKeyConstraint(*_KEY, name=op.f("pk_hastened_attempts")),
    )


def downgrade() -> None:
    op.drop_table("hastened_attempts")
