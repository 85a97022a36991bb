"""The plans that an extended campaign had before, and which run began under which."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "past_plans",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("plan_hash", sa.Text(), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("replaced_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_past_plans_campaign_campaigns")
        ),
        sa.PrimaryKeyConstraint("campaign", "plan_hash", name=op.f("pk_past_plans")),
    )
    op.create_table(
        "begun_under",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("plan_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_begun_under_run_runs")),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_begun_under")),
    )


def downgrade() -> None:
    for table in ("begun_under", "past_plans"):
        op.drop_table(table)
