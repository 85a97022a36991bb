"""What the analysis keeps of a campaign: read from a source of records, one run at a time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from campaigns.analysis.accounts import cash_series, company_days, company_sums
from campaigns.analysis.conduct import Conduct, conduct
from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome, RecordSource, RunRecord
from manifests.model import CampaignManifest, models_of

CASH_STEP: Final = 7
"""Cash series are kept every so many days, which are the boundaries of the evaluated market."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One campaign: its plan, how its runs stand, and what they left.

    A plain scores table has no manifest, no runs' status, no daily accounts and no windows;
    `measured` names the optional columns of outcomes that are there. `remarks` are what is to be
    said about how it was read.
    """

    campaign: str
    place: str
    manifest: CampaignManifest | None
    planned: tuple[PlannedRun, ...]
    runs: tuple[RunRecord, ...]
    outcomes: tuple[CompanyOutcome, ...]
    sums: pl.DataFrame | None
    cash: pl.DataFrame | None
    trajectories: tuple[Conduct, ...]
    measured: frozenset[str]
    remarks: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups, in the order of the plan."""
        return tuple(dict.fromkeys(run.group for run in self.planned))

    def runs_of(self, group: str) -> tuple[PlannedRun, ...]:
        """The planned runs of one group."""
        return tuple(run for run in self.planned if run.group == group)

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Everyone who sits somewhere: the reference lineup by seat, then the others."""
        reference = [run.lineup for run in self.planned if run.replaced is None]
        replaced = [run.lineup for run in self.planned if run.replaced is not None]
        return tuple(dict.fromkeys(name for lineup in (*reference, *replaced) for name in lineup))

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The candidates that are language models."""
        return () if self.manifest is None else models_of(self.manifest)

    @cached_property
    def missing(self) -> tuple[PlannedRun, ...]:
        """Planned runs that lack the outcome of some company."""
        there = Counter(outcome.run_id for outcome in self.outcomes)
        return tuple(run for run in self.planned if there[run.run_id] < len(run.lineup))


MEASURED: Final = frozenset(
    {
        "salvage_cents",
        "revenue_cents",
        "net_outlays_cents",
        "consumer_orders",
        "fulfilled_units",
        "exit_day",
    }
)
"""What a source of records measures of every outcome beside the Score."""


def read_evidence(source: RecordSource) -> Evidence:
    """The evidence of one campaign. Memory grows by a few kilobytes a run.

    Raises:
        IntegrityError: what is stored is not what was settled.
    """
    runs: list[RunRecord] = []
    outcomes: list[CompanyOutcome] = []
    trajectories: list[Conduct] = []
    sums: list[pl.DataFrame] = []
    cash: list[pl.DataFrame] = []
    for run in source.runs():
        runs.append(run.run)
        outcomes += run.rows(CompanyOutcome)
        trajectories += conduct(run)
        days = company_days(run)
        sums.append(company_sums(days))
        cash.append(cash_series(days, CASH_STEP))
    return Evidence(
        campaign=source.manifest.provenance.campaign,
        place=source.label,
        manifest=source.manifest,
        planned=tuple(source.planned),
        runs=tuple(runs),
        outcomes=tuple(outcomes),
        sums=_joined(sums),
        cash=_joined(cash),
        trajectories=tuple(trajectories),
        measured=MEASURED,
    )


def labels(evidence: Iterable[Evidence]) -> dict[str, str]:
    """What people call each candidate: the label of the campaign file, else its id."""
    names: dict[str, str] = {}
    for each in evidence:
        recorded = {} if each.manifest is None else recorded_labels(each.manifest)
        for name, label in recorded.items():
            names.setdefault(name, label)
        for name in each.candidates:
            names.setdefault(name, name)
    return names


def recorded_labels(manifest: CampaignManifest) -> dict[str, str]:
    """What the campaign file of a manifest calls its candidates."""
    described = manifest.provenance.definition.get("candidates", [])
    return {
        str(candidate.get("id")): str(candidate.get("label") or candidate.get("id"))
        for candidate in (described if isinstance(described, list) else [])
        if isinstance(candidate, dict)
    }


def _joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
    return pl.concat(frames) if frames else None
