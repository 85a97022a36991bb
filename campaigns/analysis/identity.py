"""The accounting identity of every outcome, to the cent (evaluation.md section 2):
S = revenue - net outlays + salvage - initial stock value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from campaigns.analysis.accounts import OUTLAYS
from campaigns.records import CompanyOutcome


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """How one outcome's accounts close, in cents; all gaps are zero when they do.

    `score_gap` is S less what follows from revenue, net outlays, salvage and initial stock. The
    other two compare with the daily accounts, and are None where those are not there.
    """

    run_id: str
    seat: int
    candidate: str
    score_gap: int
    revenue_gap: int | None
    net_outlays_gap: int | None

    @property
    def closes(self) -> bool:
        return not (self.score_gap or self.revenue_gap or self.net_outlays_gap)


def identities(
    outcomes: Iterable[CompanyOutcome], sums: pl.DataFrame | None
) -> list[IdentityCheck]:
    """The check of every outcome; `sums` are those of `accounts.company_sums`."""
    daily = {} if sums is None else _daily(sums)
    return [
        IdentityCheck(
            run_id=outcome.run_id,
            seat=outcome.seat,
            candidate=outcome.candidate,
            score_gap=outcome.score_cents
            - outcome.revenue_cents
            + outcome.net_outlays_cents
            - outcome.salvage_cents
            + outcome.initial_stock_cents,
            revenue_gap=_gap(outcome.revenue_cents, daily.get(_place(outcome)), 0),
            net_outlays_gap=_gap(outcome.net_outlays_cents, daily.get(_place(outcome)), 1),
        )
        for outcome in outcomes
    ]


def _place(outcome: CompanyOutcome) -> tuple[str, int]:
    return outcome.run_id, outcome.seat


def _gap(amount: int, daily: tuple[int, int] | None, part: int) -> int | None:
    return None if daily is None else amount - daily[part]


def _daily(sums: pl.DataFrame) -> Mapping[tuple[str, int], tuple[int, int]]:
    """Revenue and net outlays by run and seat."""
    spent = [column for columns in OUTLAYS.values() for column in columns]
    rows = sums.select(
        "run_id",
        "seat",
        "revenue_cents",
        pl.sum_horizontal(spent) - pl.col("refunds_cents"),
    )
    return {(run, seat): (revenue, outlays) for run, seat, revenue, outlays in rows.iter_rows()}
