"""What is in force of a campaign's execution."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "executions",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_executions_campaign_campaigns")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_executions")),
    )


def downgrade() -> None:
    op.drop_table("executions")
