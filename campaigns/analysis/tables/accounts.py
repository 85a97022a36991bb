"""Tables about money: where it went, what gains looked like, whether the accounts close."""

import polars as pl

from campaigns.analysis.evidence import CASH_STEP, Evidence
from campaigns.analysis.exact import cents
from campaigns.analysis.outlays import outlays
from campaigns.analysis.profiles import profiles
from campaigns.analysis.study import ACCOUNTED, Study
from campaigns.analysis.tables.table import REAL, TEXT, WHOLE, YES, Table, table


def account_tables(study: Study) -> list[Table]:
    """The tables of all campaigns with accounts, in the order of a report."""
    return [_cash(study), _outlays(study), _profiles(study), _identities(study)]


def _cash(study: Study) -> Table:
    schema = {
        "campaign": TEXT,
        "run_id": TEXT,
        "seat": WHOLE,
        "candidate": TEXT,
        "day": WHOLE,
        "cash_cents": WHOLE,
        "exited": YES,
    }
    frames = [
        each.cash.select(pl.lit(each.campaign).alias("campaign"), pl.all())
        for each in study.evidence
        if each.cash is not None
    ]
    return Table(
        "cash",
        "Cash trajectories",
        f"Closing cash of every company every {CASH_STEP} days and on its last day; day 0 is the "
        "opening. Runs that are not completed are in it as far as they went.",
        pl.concat([pl.DataFrame(schema=schema), *frames]),
    )


def _outlays(study: Study) -> Table:
    schema = {
        "campaign": TEXT,
        "candidate": TEXT,
        "category": TEXT,
        "spent_cents": WHOLE,
        "share": REAL,
        "runs": WHOLE,
        "spent_per_run_cents": WHOLE,
    }
    frames = [
        outlays(sums).select(pl.lit(each.campaign).alias("campaign"), pl.all())
        for each in study.evidence
        if (sums := _completed(each)) is not None
    ]
    return Table(
        "outlays",
        "Outlays by category",
        "Gross outlays of a candidate over all its completed runs, as a share of all it spent and "
        "per run. Capacity: capital, fees and tier overhead; product and development: daily "
        "budgets and innovation projects; service: reliability, support and remediation.",
        pl.concat([pl.DataFrame(schema=schema), *frames]),
    )


def _completed(evidence: Evidence) -> pl.DataFrame | None:
    """The sums of runs that have outcomes."""
    if evidence.sums is None:
        return None
    done = {outcome.run_id for outcome in evidence.outcomes}
    order = {name: place for place, name in enumerate(evidence.candidates)}
    place = pl.col("candidate").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    return evidence.sums.filter(pl.col("run_id").is_in(done)).sort(place, "run_id")


def _profiles(study: Study) -> Table:
    rows = [
        (each, profile)
        for each in study.evidence
        if each.measured >= ACCOUNTED and each.outcomes
        for profile in profiles(each.outcomes, _marketing(each))
    ]
    return table(
        "profiles",
        "Accounting profiles by sign of Score",
        "Means of outcomes that gained (Score > 0) and of those that did not, for all candidates "
        "together (no candidate named) and for each. Units in hundredths.",
        {
            "campaign": TEXT,
            "candidate": TEXT,
            "gained": YES,
            "outcomes": WHOLE,
            "score_cents": WHOLE,
            "revenue_cents": WHOLE,
            "net_outlays_cents": WHOLE,
            "fulfilled_units_hundredths": WHOLE,
            "marketing_cents": WHOLE,
        },
        (
            {
                "campaign": each.campaign,
                "candidate": profile.candidate,
                "gained": profile.is_gain,
                "outcomes": profile.outcomes,
                "score_cents": cents(profile.score),
                "revenue_cents": cents(profile.revenue),
                "net_outlays_cents": cents(profile.net_outlays),
                "fulfilled_units_hundredths": cents(100 * profile.fulfilled_units),
                "marketing_cents": cents(profile.marketing),
            }
            for each, profile in rows
        ),
    )


def _marketing(evidence: Evidence) -> dict[tuple[str, int], int]:
    if evidence.sums is None:
        return {}
    rows = evidence.sums.select("run_id", "seat", "marketing_cents").iter_rows()
    return {(run, seat): spent for run, seat, spent in rows}


def _identities(study: Study) -> Table:
    return table(
        "identities",
        "Accounting identity",
        "S = revenue - net outlays + salvage - initial stock value, for every outcome to the cent; "
        "revenue and net outlays are compared with the sums of the daily accounts. All gaps are "
        "zero where the accounts close.",
        {
            "campaign": TEXT,
            "run_id": TEXT,
            "seat": WHOLE,
            "candidate": TEXT,
            "score_gap_cents": WHOLE,
            "revenue_gap_cents": WHOLE,
            "net_outlays_gap_cents": WHOLE,
            "closes": YES,
        },
        (
            {
                "campaign": campaign,
                "run_id": check.run_id,
                "seat": check.seat,
                "candidate": check.candidate,
                "score_gap_cents": check.score_gap,
                "revenue_gap_cents": check.revenue_gap,
                "net_outlays_gap_cents": check.net_outlays_gap,
                "closes": check.closes,
            }
            for campaign, check in study.identities
        ),
    )
