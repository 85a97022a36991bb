"""Tables about deciding: what was written and asked, how windows closed, what it took."""

from fractions import Fraction

import msgspec

from campaigns.analysis.behaviour import behaviour
from campaigns.analysis.conduct import SETTINGS, Work
from campaigns.analysis.evidence import Evidence
from campaigns.analysis.health import decision_health
from campaigns.analysis.scale import scale
from campaigns.analysis.study import Study
from campaigns.analysis.tables.table import REAL, TEXT, WHOLE, Table, table
from campaigns.analysis.workload import workload

_WORK = tuple(name for name in Work.__struct_fields__ if name != "windows")


def conduct_tables(study: Study) -> list[Table]:
    """The tables of all campaigns with windows, in the order of a report."""
    return [
        _behaviour(study),
        _health(study),
        _failures(study),
        _workload(study),
        _scale(study),
    ]


def _decided(study: Study) -> list[Evidence]:
    return [each for each in study.evidence if each.trajectories]


def _behaviour(study: Study) -> Table:
    return table(
        "behaviour",
        "Behaviour",
        "Settings are the fields present in sealed decisions, by kind, per settled window; queries "
        "are SQL statements per settled window; statements are if-then statements per note, a file "
        "as one write or edit left it.",
        {
            "campaign": TEXT,
            "candidate": TEXT,
            "windows": WHOLE,
            "unsealed": WHOLE,
            **{f"{name}_per_window": REAL for name in SETTINGS},
            "queries": WHOLE,
            "queries_per_window": REAL,
            "notes": WHOLE,
            "if_then_statements": WHOLE,
            "if_then_statements_per_note": REAL,
        },
        (
            {
                "campaign": each.campaign,
                "candidate": row.candidate,
                "windows": row.windows,
                "unsealed": row.unsealed,
                **{
                    f"{name}_per_window": _real(row.per_window(row.settings[name]))
                    for name in SETTINGS
                },
                "queries": row.queries,
                "queries_per_window": _real(row.per_window(row.queries)),
                "notes": row.notes,
                "if_then_statements": row.statements,
                "if_then_statements_per_note": _real(row.statements_per_note),
            }
            for each in _decided(study)
            for row in behaviour(each.candidates, each.trajectories)
        ),
    )


def _health(study: Study) -> Table:
    return table(
        "decision_health",
        "Decision health",
        "Settled company-windows by how they closed, of all candidates; the row without a "
        "candidate is all of them. Fresh attempts, each after a failed one, and open windows "
        "stand apart.",
        {
            "campaign": TEXT,
            "candidate": TEXT,
            "active": WHOLE,
            "sealed": WHOLE,
            "budget_exhausted": WHOLE,
            "timeout": WHOLE,
            "protocol_error": WHOLE,
            "unsealed_rate": REAL,
            "open": WHOLE,
            "fresh_attempts": WHOLE,
        },
        (
            {"campaign": each.campaign, **row.to_json()}
            for each in _decided(study)
            for row in decision_health(each.candidates, each.trajectories)
        ),
    )


def _failures(study: Study) -> Table:
    return table(
        "failures",
        "Requests without a reply",
        "How many requests ended without a reply, by kind of fault (providers.md section 4); "
        "interrupted: the process ended while the request was under way.",
        {"campaign": TEXT, "candidate": TEXT, "kind": TEXT, "requests": WHOLE},
        (
            {"campaign": each.campaign, "candidate": name, "kind": kind, "requests": count}
            for each in _decided(study)
            for name in each.candidates
            for kind, count in _failed(each, name).items()
        ),
    )


def _failed(evidence: Evidence, candidate: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in evidence.trajectories:
        if each.candidate == candidate:
            for kind, count in each.failures.items():
                found[kind] = found.get(kind, 0) + count
    return dict(sorted(found.items()))


def _workload(study: Study) -> Table:
    return table(
        "workload",
        "Workload",
        "Sealed windows with complete usage. A trajectory is one company over one run. Cached "
        "input is a part of the input, reasoning of the output. Columns that begin with apart_ "
        "count all other work: unsealed and open windows, and failed attempts; "
        "late_ those replies that came for an owner which had lost the run.",
        {
            "campaign": TEXT,
            "candidate": TEXT,
            "trajectories": WHOLE,
            "counted_windows": WHOLE,
            **dict.fromkeys(_WORK, WHOLE),
            "replies_per_trajectory_mean": REAL,
            "replies_per_trajectory_sd": REAL,
            **{f"apart_{name}": WHOLE for name in Work.__struct_fields__},
            **{f"late_{name}": WHOLE for name in Work.__struct_fields__},
        },
        (
            {
                "campaign": each.campaign,
                **row.to_json(),
                **{
                    f"{kind}_{name}": value
                    for kind, work in (("apart", row.apart), ("late", row.late))
                    for name, value in msgspec.structs.asdict(work).items()
                },
            }
            for each in _decided(study)
            if each.models
            for row in workload(each.models, each.trajectories)
        ),
    )


def _scale(study: Study) -> Table:
    return table(
        "scale",
        "Scale",
        "What was played: markets are runs with outcomes, firms are companies in them, "
        "trajectories are companies over any run, days are settled market-days, company-windows "
        "are settled ones.",
        {
            "campaign": TEXT,
            "planned_markets": WHOLE,
            "markets": WHOLE,
            "firms": WHOLE,
            "trajectories": WHOLE,
            "days": WHOLE,
            "company_days": WHOLE,
            "windows": WHOLE,
            "company_windows": WHOLE,
        },
        (scale(each) for each in study.evidence),
    )


def _real(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
