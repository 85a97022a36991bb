"""What each request costs stands in its run; money that is set aside bears the request's name."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_SPENT = (
    """
    INSERT INTO spending (campaign, candidate, known_microdollars, uncertain_microdollars)
    SELECT DISTINCT campaign, candidate, 0, 0 FROM spending_reservations AS aside
    WHERE NOT EXISTS (
        SELECT 1 FROM spending
        WHERE spending.campaign = aside.campaign AND spending.candidate = aside.candidate
    )
""",
    """
    UPDATE spending SET uncertain_microdollars = uncertain_microdollars + (
        SELECT coalesce(sum(aside.microdollars), 0) FROM spending_reservations AS aside
        WHERE aside.campaign = spending.campaign AND aside.candidate = spending.candidate
    )
""",
)


def upgrade() -> None:
    # Nobody who set money aside under the older version lives: it is taken for spent.
    for statement in _SPENT:
        op.execute(statement)
    op.drop_table("spending_reservations")
    op.create_table(
        "spending_reservations",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        *_keys("version", "seat", "attempt", "request", "epoch"),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("microdollars", sa.BigInteger(), nullable=False),
        sa.Column("is_granted", sa.Boolean(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        _of_a_campaign(),
        sa.PrimaryKeyConstraint(
            *("campaign", "run_id", "version", "seat", "attempt", "request", "epoch"),
            name=op.f("pk_spending_reservations"),
        ),
    )
    op.create_table(
        "request_costs",
        sa.Column("run", sa.BigInteger(), nullable=False),
        *_keys("version", "seat", "attempt", "request"),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("at_most_microdollars", sa.BigInteger(), nullable=False),
        sa.Column("microdollars", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_request_costs_run_runs")),
        sa.PrimaryKeyConstraint(
            *("run", "version", "seat", "attempt", "request"), name=op.f("pk_request_costs")
        ),
    )


def downgrade() -> None:
    op.drop_table("request_costs")
    op.drop_table("spending_reservations")
    op.create_table(
        "spending_reservations",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        *_keys("seat"),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("microdollars", sa.BigInteger(), nullable=False),
        _of_a_campaign(),
        sa.PrimaryKeyConstraint(
            "campaign", "run_id", "seat", name=op.f("pk_spending_reservations")
        ),
    )


def _keys(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=False) for name in names]


def _of_a_campaign() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["campaign"],
        ["campaigns.name"],
        name=op.f("fk_spending_reservations_campaign_campaigns"),
    )
