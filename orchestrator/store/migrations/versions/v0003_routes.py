"""Paused routes, spending, and its caps."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "route_pauses",
        *_of_a_route(),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=False),
        _of_a_campaign("route_pauses"),
        sa.PrimaryKeyConstraint("campaign", "candidate", name=op.f("pk_route_pauses")),
    )
    op.create_table(
        "spending_caps",
        *_of_a_route(),
        sa.Column("cents", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        _of_a_campaign("spending_caps"),
        sa.PrimaryKeyConstraint("campaign", "candidate", name=op.f("pk_spending_caps")),
    )
    op.create_table(
        "spending",
        *_of_a_route(),
        sa.Column("known_microdollars", sa.BigInteger(), nullable=False),
        sa.Column("uncertain_microdollars", sa.BigInteger(), nullable=False),
        _of_a_campaign("spending"),
        sa.PrimaryKeyConstraint("campaign", "candidate", name=op.f("pk_spending")),
    )
    op.create_table(
        "spending_reservations",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("seat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("microdollars", sa.BigInteger(), nullable=False),
        _of_a_campaign("spending_reservations"),
        sa.PrimaryKeyConstraint(
            "campaign", "run_id", "seat", name=op.f("pk_spending_reservations")
        ),
    )


def downgrade() -> None:
    for table in ("spending_reservations", "spending", "spending_caps", "route_pauses"):
        op.drop_table(table)


def _of_a_route() -> list[sa.Column[str]]:
    return [
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
    ]


def _of_a_campaign(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["campaign"], ["campaigns.name"], name=op.f(f"fk_{table}_campaign_campaigns")
    )
