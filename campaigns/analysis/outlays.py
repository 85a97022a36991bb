"""Where cash goes: outlays by category (evaluation.md section 2)."""

import polars as pl

from campaigns.analysis.accounts import OUTLAYS


def outlays(sums: pl.DataFrame) -> pl.DataFrame:
    """Candidate by category: `spent_cents` over all its runs in `sums`, `share` of all its gross
    outlays (null when it spent nothing), `runs`, and the mean `spent_per_run_cents`, rounded half
    to even to a cent.
    """
    categories = [
        pl.sum_horizontal(columns).alias(category) for category, columns in OUTLAYS.items()
    ]
    spent = (
        sums.group_by("candidate", maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("runs"), *(category.sum() for category in categories))
        .unpivot(
            on=list(OUTLAYS),
            index=["candidate", "runs"],
            variable_name="category",
            value_name="spent_cents",
        )
    )
    total = pl.col("spent_cents").sum().over("candidate")
    return spent.select(
        "candidate",
        "category",
        "spent_cents",
        pl.when(total > 0).then(pl.col("spent_cents") / total).alias("share"),
        "runs",
        _halves_to_even(pl.col("spent_cents"), pl.col("runs")).alias("spent_per_run_cents"),
    )


def _halves_to_even(amount: pl.Expr, count: pl.Expr) -> pl.Expr:
    """An integer quotient rounded half to even, exact where a float would not be."""
    whole, rest = amount // count, amount % count
    up = (2 * rest > count) | ((2 * rest == count) & (whole % 2 == 1))
    return whole + up.cast(pl.Int64)
