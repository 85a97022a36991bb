"""Which runs have a file of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "made_runs",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_made_runs_run_runs")),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_made_runs")),
    )


def downgrade() -> None:
    op.drop_table("made_runs")
