"""How much was played (evaluation.md section 3)."""

from campaigns.analysis.evidence import Evidence


def scale(evidence: Evidence) -> dict[str, int | str | None]:
    """The counts of one campaign; None where the records do not tell."""
    has_days = evidence.sums is not None
    return {
        "campaign": evidence.campaign,
        "planned_markets": len(evidence.planned),
        "markets": len({outcome.run_id for outcome in evidence.outcomes}),
        "firms": len(evidence.outcomes),
        "trajectories": len(evidence.trajectories) if has_days else len(evidence.outcomes),
        "days": sum(run.day for run in evidence.runs) if has_days else None,
        "company_days": None if evidence.sums is None else int(evidence.sums["days"].sum()),
        "windows": sum(run.world_version for run in evidence.runs) if has_days else None,
        "company_windows": sum(each.active for each in evidence.trajectories) if has_days else None,
    }
