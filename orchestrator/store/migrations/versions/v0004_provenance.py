"""The keys of endpoint commitments, and what each run was played with."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "endpoint_keys",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_endpoint_keys_campaign_campaigns")
        ),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_endpoint_keys")),
    )
    op.create_table(
        "run_environments",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_run_environments_run_runs")),
        sa.PrimaryKeyConstraint("run", "epoch", name=op.f("pk_run_environments")),
    )


def downgrade() -> None:
    op.drop_table("run_environments")
    op.drop_table("endpoint_keys")
