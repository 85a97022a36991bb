"""Tables over several blocks or campaigns: stability, repeats, baselines."""

from campaigns.analysis.baselines import SUMMED, BaselineComparison
from campaigns.analysis.exact import cents
from campaigns.analysis.study import Study
from campaigns.analysis.tables.table import TEXT, WHOLE, YES, Table, table


def pooled_tables(study: Study) -> list[Table]:
    """The tables of the pool, in the order of a report."""
    return [
        _stability(study),
        _contrasts(study),
        _repeats(study),
        _baselines(study),
        _signs(study),
        _differences(study),
    ]


def _stability(study: Study) -> Table:
    blocks = ", ".join(study.stability.blocks) or "none"
    return table(
        "stability",
        "Stability of directed externalities",
        f"One contrast for each complete block ({blocks}): its own reference against its own "
        "replacement. Mean, sample standard deviation (n - 1), and how many contrasts share the "
        "sign of the mean. Stable: |mean| > SD. Descriptive; no significance is claimed.",
        {
            "entrant": TEXT,
            "rival": TEXT,
            "contrasts": WHOLE,
            "mean_cents": WHOLE,
            "sd_cents": WHOLE,
            "same_sign": WHOLE,
            "stable": YES,
        },
        (pair.to_json() for pair in study.stability.pairs),
    )


def _contrasts(study: Study) -> Table:
    return table(
        "stability_contrasts",
        "The contrasts behind the stability",
        "Every directed contrast of every complete block.",
        {"entrant": TEXT, "rival": TEXT, "block": TEXT, "cents": WHOLE},
        (
            {"entrant": pair.entrant, "rival": pair.rival, "block": block, "cents": value}
            for pair in study.stability.pairs
            for block, value in zip(study.stability.blocks, pair.values, strict=True)
        ),
    )


def _repeats(study: Study) -> Table:
    return table(
        "block_ranks",
        "Means and ranks within each block",
        "For each complete block, a candidate's mean Score over the block's lineups that include "
        "it, and its rank among the panel.",
        {
            "block": TEXT,
            "seed": WHOLE,
            "candidate": TEXT,
            "mean_score_cents": WHOLE,
            "lineups": WHOLE,
            "rank": WHOLE,
        },
        (
            {
                "block": row.block,
                "seed": row.seed,
                "candidate": row.candidate,
                "mean_score_cents": cents(row.mean_score),
                "lineups": row.lineups,
                "rank": row.rank,
            }
            for row in study.block_ranks
        ),
    )


def _baselines(study: Study) -> Table:
    return table(
        "baselines",
        "Two baselines compared",
        "The same entrants against the first baseline and against another one, at one seed. "
        "Controls are the mean of all references whose block has the first baseline's "
        "replacements. The endpoint is private, others, market, or the rival of a directed "
        "externality.",
        {
            "seed": WHOLE,
            "first": TEXT,
            "other": TEXT,
            "entrant": TEXT,
            "endpoint": TEXT,
            "first_cents": WHOLE,
            "other_cents": WHOLE,
            "same_sign": YES,
        },
        (
            {
                "seed": found.seed,
                "first": found.first,
                "other": found.other,
                "entrant": row.entrant,
                "endpoint": row.endpoint,
                "first_cents": cents(row.first),
                "other_cents": cents(row.other),
                "same_sign": row.has_same_sign,
            }
            for found in study.comparisons
            for row in found.contrasts
        ),
    )


def _signs(study: Study) -> Table:
    return table(
        "baseline_signs",
        "Signs that two baselines share",
        "How many entrants, or directed pairs, have the same sign under both baselines.",
        {
            "seed": WHOLE,
            "first": TEXT,
            "other": TEXT,
            "endpoint": TEXT,
            "same_sign": WHOLE,
            "of": WHOLE,
        },
        (
            {
                "seed": found.seed,
                "first": found.first,
                "other": found.other,
                "endpoint": endpoint,
                "same_sign": same,
                "of": of,
            }
            for found in study.comparisons
            for endpoint, same, of in _counts(found)
        ),
    )


def _counts(found: BaselineComparison) -> list[tuple[str, int, int]]:
    compared = [*((endpoint, found.of(endpoint)) for endpoint in SUMMED), ("pairs", found.pairs)]
    return [(name, sum(row.has_same_sign for row in rows), len(rows)) for name, rows in compared]


def _differences(study: Study) -> Table:
    return table(
        "bound_differences",
        "Inputs that campaigns bind differently",
        "Every decisive field of the manifests that differs between two of the campaigns.",
        {"one": TEXT, "two": TEXT, "field": TEXT, "value_in_one": TEXT, "value_in_two": TEXT},
        (
            {
                "one": one,
                "two": two,
                "field": change.path,
                "value_in_one": str(change.left),
                "value_in_two": str(change.right),
            }
            for one, two, changes in study.differences
            for change in changes
        ),
    )
