"""Tables about Scores: who did well, and what each did to whom."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from campaigns.analysis.exact import cents, mean
from campaigns.analysis.study import GroupStudy, Study
from campaigns.analysis.tables.table import REAL, TEXT, WHOLE, YES, Table, table
from campaigns.records import CompanyOutcome

_PLACE = {"campaign": TEXT, "group": TEXT}


def score_tables(study: Study) -> list[Table]:
    """The tables of all groups, in the order of a report."""
    return [
        _ranking(study),
        _lineups(study),
        _entrants(study),
        _entrants_by_seed(study),
        _directed(study),
        _salvage(study),
        _decomposition(study),
        _outcomes(study),
        _missing(study),
    ]


def _place(group: GroupStudy) -> dict[str, str]:
    return {"campaign": group.campaign, "group": group.group}


def _ranking(study: Study) -> Table:
    return table(
        "ranking",
        "Operating performance",
        "Mean Score over all lineups and seeds that include a candidate; it alone ranks, exact "
        "ties by id. The bankruptcy rate is the share of outcomes with a cash-negative exit. "
        "Only seeds of which every planned run is there are counted.",
        {
            **_PLACE,
            "rank": WHOLE,
            "candidate": TEXT,
            "mean_score_cents": WHOLE,
            "outcomes": WHOLE,
            "lineups": WHOLE,
            "bankruptcies": WHOLE,
            "bankruptcy_rate": REAL,
        },
        (
            {
                **_place(group),
                **row.to_json(),
                "bankruptcies": row.bankruptcies if study.tells_exits(group) else None,
                "bankruptcy_rate": row.bankruptcies / row.outcomes
                if study.tells_exits(group)
                else None,
            }
            for group in study.groups
            for row in group.ranking.rows
        ),
    )


def _lineups(study: Study) -> Table:
    return table(
        "lineup_means",
        "Mean Score by lineup",
        "For each candidate and lineup, the mean over the seeds that the ranking counts, with the "
        "lowest and the highest Score.",
        {
            **_PLACE,
            "candidate": TEXT,
            "lineup": TEXT,
            "mean_score_cents": WHOLE,
            "lowest_score_cents": WHOLE,
            "highest_score_cents": WHOLE,
            "outcomes": WHOLE,
        },
        (row for group in study.groups for row in _lineup_rows(study, group)),
    )


def _lineup_rows(study: Study, group: GroupStudy) -> Iterator[Mapping[str, Any]]:
    found: dict[tuple[str, str], list[int]] = {}
    for outcome in _counted(study, group):
        place = outcome.candidate, outcome.lineup_label
        found.setdefault(place, []).append(outcome.score_cents)
    order = {row.candidate: row.rank for row in group.ranking.rows}
    for (candidate, lineup), scores in sorted(found.items(), key=lambda each: order[each[0][0]]):
        yield {
            **_place(group),
            "candidate": candidate,
            "lineup": lineup,
            "mean_score_cents": cents(mean(scores)),
            "lowest_score_cents": min(scores),
            "highest_score_cents": max(scores),
            "outcomes": len(scores),
        }


def _counted(study: Study, group: GroupStudy) -> Iterator[CompanyOutcome]:
    """The outcomes that a group's ranking counts."""
    for each in study.evidence:
        if each.campaign != group.campaign:
            continue
        for outcome in each.outcomes:
            if outcome.group == group.group and outcome.seed in group.ranking.seeds:
                yield outcome


def _entrants(study: Study) -> Table:
    return table(
        "entrants",
        "Private and external effects of each entrant",
        "Entrant B in the reference lineup against the baseline in B's seat. Private: B's Score "
        "less the baseline's. Others: the sum of the changes of all rivals' Scores; per rival: "
        "divided by their number. Market: the change of the sum of all Scores = private + others. "
        "Means over seeds, which weigh the same; positive seeds are those with market > 0.",
        {
            **_PLACE,
            "entrant": TEXT,
            "private_cents": WHOLE,
            "mean_externality_per_rival_cents": WHOLE,
            "others_cents": WHOLE,
            "market_cents": WHOLE,
            "positive_market_seeds": WHOLE,
            "seeds": WHOLE,
        },
        (
            {
                **_place(group),
                **entrant.to_json(),
                "entrant": entrant.entrant,
                "seeds": len(group.contrasts.seeds),
            }
            for group in study.groups
            if group.contrasts is not None
            for entrant in group.contrasts.entrants
        ),
    )


def _entrants_by_seed(study: Study) -> Table:
    return table(
        "entrants_by_seed",
        "The same by seed and repeat",
        "Every matched contrast that exists, also of seeds that the means leave out.",
        {
            **_PLACE,
            "entrant": TEXT,
            "seed": WHOLE,
            "repeat": WHOLE,
            "private_cents": WHOLE,
            "others_cents": WHOLE,
            "market_cents": WHOLE,
            "in_means": YES,
        },
        (
            {
                **_place(group),
                "entrant": entrant.entrant,
                **contrast.to_json(),
                "in_means": contrast.seed in group.contrasts.seeds,
            }
            for group in study.groups
            if group.contrasts is not None
            for entrant in group.contrasts.entrants
            for contrast in entrant.matched
        ),
    )


def _directed(study: Study) -> Table:
    return table(
        "directed",
        "Directed externalities",
        "The change of a rival's Score that an entrant makes: the rival's Score in the reference "
        "lineup less its Score when the baseline has the entrant's seat. Means over seeds.",
        {**_PLACE, "entrant": TEXT, "rival": TEXT, "mean_cents": WHOLE, "seeds": WHOLE},
        (
            {**_place(group), **pair.to_json(), "seeds": len(group.contrasts.seeds)}
            for group in study.groups
            if group.contrasts is not None
            for pair in group.contrasts.directed
        ),
    )


def _salvage(study: Study) -> Table:
    return table(
        "salvage",
        "Salvage sensitivity",
        "The Score with and without terminal salvage. Kept: whether the entrant's market mean has "
        "the same sign without salvage, at how many seeds its market contrast has, and for how "
        "many rivals its directed mean has.",
        {
            **_PLACE,
            "candidate": TEXT,
            "official_cents": WHOLE,
            "salvage_cents": WHOLE,
            "cash_only_cents": WHOLE,
            "official_rank": WHOLE,
            "cash_only_rank": WHOLE,
            "market_sign_kept": YES,
            "seed_signs_kept": WHOLE,
            "seeds": WHOLE,
            "directed_signs_kept": WHOLE,
            "pairs": WHOLE,
        },
        (
            {
                **_place(group),
                "candidate": row.candidate,
                "official_cents": cents(row.official),
                "salvage_cents": cents(row.salvage),
                "cash_only_cents": cents(row.cash_only),
                "official_rank": row.official_rank,
                "cash_only_rank": row.cash_only_rank,
                "market_sign_kept": None if row.signs is None else row.signs.market,
                "seed_signs_kept": None if row.signs is None else row.signs.by_seed,
                "seeds": None if row.signs is None else row.signs.seeds,
                "directed_signs_kept": None if row.signs is None else row.signs.directed,
                "pairs": None if row.signs is None else row.signs.pairs,
            }
            for group in study.groups
            for row in group.salvage or ()
        ),
    )


def _decomposition(study: Study) -> Table:
    return table(
        "decomposition",
        "Accounting decomposition of the contrasts",
        "Matched differences between the reference and the replacement lineup, for the entrant's "
        "seat (private), for all rivals (others) and for the market. Revenue less net outlays plus "
        "salvage makes the Score. Amounts in cents; consumer orders in hundredths of a unit. Means "
        "over seeds.",
        {
            **_PLACE,
            "entrant": TEXT,
            "account": TEXT,
            "private": WHOLE,
            "others": WHOLE,
            "market": WHOLE,
        },
        (
            {
                **_place(group),
                "entrant": row.entrant,
                "account": row.account,
                "private": _amount(row.account, row.private),
                "others": _amount(row.account, row.others),
                "market": _amount(row.account, row.market),
            }
            for group in study.groups
            for row in group.decomposition or ()
        ),
    )


def _amount(account: str, value: Fraction | None) -> int | None:
    """Cents of money, hundredths of units."""
    return cents(value if value is None or account.endswith("_cents") else 100 * value)


def _outcomes(study: Study) -> Table:
    return table(
        "outcomes",
        "Outcomes",
        "How every company of every completed run ended.",
        {
            **_PLACE,
            "run_id": TEXT,
            "repeat": WHOLE,
            "seed": WHOLE,
            "lineup_label": TEXT,
            "replaced": TEXT,
            "baseline": TEXT,
            "stage": TEXT,
            "seat": WHOLE,
            "candidate": TEXT,
            "score_cents": WHOLE,
            "initial_cash_cents": WHOLE,
            "initial_stock_cents": WHOLE,
            "revenue_cents": WHOLE,
            "net_outlays_cents": WHOLE,
            "terminal_cash_cents": WHOLE,
            "salvage_cents": WHOLE,
            "exit_day": WHOLE,
            "consumer_orders": WHOLE,
            "fulfilled_units": WHOLE,
        },
        (
            outcome.to_json() | {"campaign": each.campaign}
            for each in study.evidence
            for outcome in each.outcomes
        ),
    )


def _missing(study: Study) -> Table:
    standing = {(each.campaign, run.run_id): run for each in study.evidence for run in each.runs}
    return table(
        "missing",
        "Runs that are missing",
        "Planned runs without outcomes, with the status and the day that they reached.",
        {
            **_PLACE,
            "run_id": TEXT,
            "seed": WHOLE,
            "repeat": WHOLE,
            "lineup": TEXT,
            "status": TEXT,
            "day": WHOLE,
            "reason": TEXT,
        },
        (
            {
                "campaign": each.campaign,
                "group": run.group,
                "run_id": run.run_id,
                "seed": run.seed,
                "repeat": run.repeat,
                "lineup": run.lineup_label,
                "status": None if record is None else record.status,
                "day": None if record is None else record.day,
                "reason": None if record is None else record.reason,
            }
            for each in study.evidence
            for run in each.missing
            for record in (standing.get((each.campaign, run.run_id)),)
        ),
    )
