"""The daily accounts of a run, summed for each company, and its cash over time."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from campaigns.records import CompanyDayRecord, RunRecords
from campaigns.records.frames import to_frame

FLOWS: Final = (
    "revenue_cents",
    "refunds_cents",
    "procurement_cents",
    "holding_cents",
    "marketing_cents",
    "development_cents",
    "reliability_cents",
    "support_cents",
    "overhead_cents",
    "projects_cents",
    "capacity_cents",
    "research_cents",
    "remediation_cents",
    "penalties_cents",
)
"""The columns of gross cash flows."""

OUTLAYS: Final[Mapping[str, Sequence[str]]] = {
    "procurement": ("procurement_cents",),
    "capacity": ("capacity_cents", "overhead_cents"),
    "marketing": ("marketing_cents",),
    "product_and_development": ("development_cents", "projects_cents"),
    "service": ("reliability_cents", "support_cents", "remediation_cents"),
    "market_research": ("research_cents",),
    "holding_and_penalties": ("holding_cents", "penalties_cents"),
}
"""The outlay categories of evaluation.md section 2, each with the flows that it sums."""

_UNITS: Final = ("consumer_orders", "fulfilled_units", "enterprise_units", "stockouts")


def company_days(run: RunRecords) -> pl.DataFrame:
    """The company-days of one run as a frame."""
    return to_frame(CompanyDayRecord, run.rows(CompanyDayRecord))


def company_sums(days: pl.DataFrame) -> pl.DataFrame:
    """One row for each company of a run: its flows and units summed over its days, in cents and
    units, with `days` and its opening and closing cash.
    """
    return (
        days.sort("day")
        .group_by("run_id", "seat", "candidate")
        .agg(
            pl.len().cast(pl.Int64).alias("days"),
            pl.col("opening_cash_cents").first(),
            pl.col("closing_cash_cents").last(),
            *(pl.col(name).sum() for name in (*FLOWS, *_UNITS)),
        )
        .sort("run_id", "seat")
    )


def cash_series(days: pl.DataFrame, every: int = 1) -> pl.DataFrame:
    """Closing cash in cents by run, seat and day: every day, or each `every`-th and the last one of
    each company; day 0 is the opening.
    """
    keys = ["run_id", "seat", "candidate"]
    opening = days.filter(pl.col("day") == 1).select(
        *keys,
        pl.lit(0, dtype=pl.Int64).alias("day"),
        pl.col("opening_cash_cents").alias("cash_cents"),
        pl.lit(False).alias("exited"),
    )
    is_last = pl.col("day") == pl.col("day").max().over(keys)
    closing = days.filter((pl.col("day") % every == 0) | is_last).select(
        *keys, "day", pl.col("closing_cash_cents").alias("cash_cents"), "exited"
    )
    return pl.concat([opening, closing]).sort("run_id", "seat", "day")
