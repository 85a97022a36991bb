"""Campaigns, runs, leases, and what a settled window leaves."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("plan_hash", sa.Text(), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_campaigns")),
    )
    op.create_table(
        "acts",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_acts_campaign_campaigns")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_acts")),
    )
    op.create_table(
        "campaign_controls",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("desired", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_campaign_controls_campaign_campaigns")
        ),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_campaign_controls")),
    )
    op.create_table(
        "campaign_leases",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_campaign_leases_campaign_campaigns")
        ),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_campaign_leases")),
    )
    op.create_table(
        "runs",
        sa.Column(
            "run",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("planned", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_runs")),
        sa.UniqueConstraint("campaign", "run_id", name=op.f("uq_runs_campaign")),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.name"], name=op.f("fk_runs_campaign_campaigns")
        ),
    )
    op.create_table(
        "checkpoints",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("state_digest", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("committed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_checkpoints_run_runs")),
        sa.PrimaryKeyConstraint("run", "version", name=op.f("pk_checkpoints")),
    )
    op.create_table(
        "company_exits",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("seat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_company_exits_run_runs")),
        sa.PrimaryKeyConstraint("run", "seat", name=op.f("pk_company_exits")),
    )
    op.create_table(
        "company_windows",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("decision", sa.LargeBinary(), nullable=True),
        sa.Column("decision_digest", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_company_windows_run_runs")),
        sa.PrimaryKeyConstraint("run", "version", "seat", name=op.f("pk_company_windows")),
    )
    op.create_table(
        "days",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("state_digest", sa.Text(), nullable=False),
        sa.Column("record_digest", sa.Text(), nullable=False),
        sa.Column("details", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_days_run_runs")),
        sa.PrimaryKeyConstraint("run", "day", name=op.f("pk_days")),
    )
    op.create_table(
        "outcomes",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("seat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("exit_day", sa.BigInteger(), nullable=True),
        sa.Column("score_cents", sa.BigInteger(), nullable=False),
        sa.Column("initial_cash_cents", sa.BigInteger(), nullable=False),
        sa.Column("initial_stock_cents", sa.BigInteger(), nullable=False),
        sa.Column("revenue_cents", sa.BigInteger(), nullable=False),
        sa.Column("net_outlays_cents", sa.BigInteger(), nullable=False),
        sa.Column("terminal_cash_cents", sa.BigInteger(), nullable=False),
        sa.Column("salvage_cents", sa.BigInteger(), nullable=False),
        sa.Column("consumer_orders", sa.BigInteger(), nullable=False),
        sa.Column("fulfilled_units", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_outcomes_run_runs")),
        sa.PrimaryKeyConstraint("run", "seat", name=op.f("pk_outcomes")),
    )
    op.create_table(
        "run_leases",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_run_leases_run_runs")),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_run_leases")),
    )
    op.create_table(
        "run_states",
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("world_version", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.run"], name=op.f("fk_run_states_run_runs")),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_run_states")),
    )
    op.create_table(
        "company_days",
        sa.Column("run", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("opening_cash_cents", sa.BigInteger(), nullable=False),
        sa.Column("closing_cash_cents", sa.BigInteger(), nullable=False),
        sa.Column("revenue_cents", sa.BigInteger(), nullable=False),
        sa.Column("refunds_cents", sa.BigInteger(), nullable=False),
        sa.Column("procurement_cents", sa.BigInteger(), nullable=False),
        sa.Column("holding_cents", sa.BigInteger(), nullable=False),
        sa.Column("marketing_cents", sa.BigInteger(), nullable=False),
        sa.Column("development_cents", sa.BigInteger(), nullable=False),
        sa.Column("reliability_cents", sa.BigInteger(), nullable=False),
        sa.Column("support_cents", sa.BigInteger(), nullable=False),
        sa.Column("overhead_cents", sa.BigInteger(), nullable=False),
        sa.Column("projects_cents", sa.BigInteger(), nullable=False),
        sa.Column("capacity_cents", sa.BigInteger(), nullable=False),
        sa.Column("research_cents", sa.BigInteger(), nullable=False),
        sa.Column("remediation_cents", sa.BigInteger(), nullable=False),
        sa.Column("penalties_cents", sa.BigInteger(), nullable=False),
        sa.Column("exited", sa.Boolean(), nullable=False),
        sa.Column("details", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run", "day"], ["days.run", "days.day"], name=op.f("fk_company_days_run_days")
        ),
        sa.PrimaryKeyConstraint("run", "day", "seat", name=op.f("pk_company_days")),
    )
    op.create_table(
        "receipts",
        sa.Column("run", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("decided_day", sa.BigInteger(), nullable=False),
        sa.Column("charge_cents", sa.BigInteger(), nullable=False),
        sa.Column("refund_cents", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("effective_day", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run", "version", "seat"],
            ["company_windows.run", "company_windows.version", "company_windows.seat"],
            name=op.f("fk_receipts_run_company_windows"),
        ),
        sa.PrimaryKeyConstraint("run", "version", "seat", "number", name=op.f("pk_receipts")),
    )


def downgrade() -> None:
    op.drop_table("receipts")
    op.drop_table("company_days")
    op.drop_table("run_states")
    op.drop_table("run_leases")
    op.drop_table("outcomes")
    op.drop_table("days")
    op.drop_table("company_windows")
    op.drop_table("company_exits")
    op.drop_table("checkpoints")
    op.drop_table("runs")
    op.drop_table("campaign_leases")
    op.drop_table("campaign_controls")
    op.drop_table("acts")
    op.drop_table("campaigns")
