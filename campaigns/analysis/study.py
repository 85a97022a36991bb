"""All estimators over the evidence of one or several campaigns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.analysis.baselines import BaselineComparison
from campaigns.analysis.contrasts import Contrasts, contrasts
from campaigns.analysis.decomposition import AccountContrast, decomposition
from campaigns.analysis.evidence import Evidence, labels
from campaigns.analysis.identity import IdentityCheck, identities
from campaigns.analysis.pool import BoundDifferences, Pool, bound_differences, pooled
from campaigns.analysis.ranking import Ranking, ranking
from campaigns.analysis.repeats import BlockRank, block_ranks
from campaigns.analysis.salvage import SalvageRow, salvage_sensitivity
from campaigns.analysis.stability import Stability, stability
from campaigns.plan import REFERENCE

ACCOUNTED = frozenset({"revenue_cents", "net_outlays_cents", "salvage_cents", "consumer_orders"})
"""What outcomes must tell for a decomposition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStudy:
    """The findings about one group's runs; None where its plan or its records do not allow them."""

    campaign: str
    group: str
    ranking: Ranking
    contrasts: Contrasts | None
    salvage: tuple[SalvageRow, ...] | None
    decomposition: tuple[AccountContrast, ...] | None

    @property
    def unplanned(self) -> tuple[str, ...]:
        """Lineups that the contrasts need and the plan does not have; none where the plan leaves
        the reference itself to another campaign.
        """
        found = () if self.contrasts is None else self.contrasts.unplanned
        return () if any(each.startswith(f"lineup {REFERENCE}") for each in found) else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The findings about all campaigns. `differences` names, for every two of them, the inputs that
    are bound differently; `identities` has the accounting identity of every outcome that tells its
    accounts, by campaign.
    """

    evidence: tuple[Evidence, ...]
    labels: dict[str, str]
    groups: tuple[GroupStudy, ...]
    pool: Pool
    stability: Stability
    block_ranks: tuple[BlockRank, ...]
    comparisons: tuple[BaselineComparison, ...]
    differences: tuple[BoundDifferences, ...]
    identities: tuple[tuple[str, IdentityCheck], ...]

    @property
    def main(self) -> GroupStudy | None:
        """The group that figures show where one must be chosen: the first with contrasts."""
        compared = (group for group in self.groups if group.contrasts and group.contrasts.seeds)
        return next(compared, next(iter(self.groups), None))

    @property
    def panel(self) -> tuple[str, ...]:
        """The candidates in seat order."""
        return self.pool.panel

    @property
    def is_complete(self) -> bool:
        """Whether no planned run of any campaign is missing."""
        return not any(each.missing for each in self.evidence)

    def notices(self) -> list[str]:
        """What is not there, or not as one might expect, in sentences."""
        return [
            *self._missing(),
            *self._left_out(),
            *self._not_closing(),
            *self._bound_differently(),
            *(f"{each.campaign}: {told}." for each in self.evidence for told in each.remarks),
        ]

    def to_json(self) -> dict[str, Any]:
        """`entrants`, `directed`, `stability`, `ranking` and what they are over, as plain JSON;
        money in integer cents (docs/analysis.md).
        """
        compared = [(found, found.contrasts) for found in self.groups if found.contrasts]
        return {
            "complete": self.is_complete,
            "missing": [
                {"campaign": each.campaign, "run": run.run_id}
                for each in self.evidence
                for run in each.missing
            ],
            "groups": [
                {
                    "campaign": found.campaign,
                    "group": found.group,
                    "seeds": list(found.ranking.seeds),
                    "left_out_seeds": list(found.ranking.left_out_seeds),
                    "worlds": found.ranking.worlds,
                    "equal_sets": found.ranking.equal_sets,
                    "unplanned": [] if found.contrasts is None else list(found.contrasts.unplanned),
                }
                for found in self.groups
            ],
            "ranking": [
                {
                    "campaign": found.campaign,
                    "group": found.group,
                    **row.to_json(),
                    **({} if self.tells_exits(found) else {"bankruptcies": None}),
                }
                for found in self.groups
                for row in found.ranking.rows
            ],
            "entrants": [
                {"campaign": found.campaign, "group": found.group, **entrant.to_json()}
                for found, own in compared
                for entrant in own.entrants
            ],
            "directed": [
                {"campaign": found.campaign, "group": found.group, **pair.to_json()}
                for found, own in compared
                for pair in own.directed
            ],
            "stability": {
                "blocks": list(self.stability.blocks),
                "left_out": list(self.stability.left_out),
                "pairs": [pair.to_json() for pair in self.stability.pairs],
            },
            "notices": self.notices(),
        }

    def tells_exits(self, group: GroupStudy) -> bool:
        """Whether the outcomes of a group tell who went bankrupt."""
        return any(
            "exit_day" in each.measured for each in self.evidence if each.campaign == group.campaign
        )

    def _missing(self) -> list[str]:
        told = []
        for each in self.evidence:
            if not each.planned:
                continue
            missing = [run.run_id for run in each.missing]
            if missing:
                shown = ", ".join(missing[:4]) + (" and more" if len(missing) > 4 else "")
                told.append(
                    f"{each.campaign}: {len(missing)} of {len(each.planned)} runs are missing: "
                    f"{shown}."
                )
        if told:
            told.append(
                "Tables of accounts and of conduct count what is there, of every candidate."
            )
        return told

    def _left_out(self) -> list[str]:
        told = []
        for group in self.groups:
            name = f"{group.campaign}, group {group.group}"
            if group.ranking.left_out_seeds:
                seeds = ", ".join(map(str, group.ranking.left_out_seeds))
                told.append(f"{name}: means leave out seed {seeds}, which lacks runs.")
            if not group.ranking.equal_sets:
                told.append(f"{name}: candidates have different numbers of outcomes in its means.")
            if group.unplanned:
                shown = ", ".join(group.unplanned[:2])
                more = " and more" if len(group.unplanned) > 2 else ""
                told.append(f"{name}: no means of contrasts where there is no {shown}{more}.")
        if self.stability.left_out:
            told.append(f"Stability leaves out {', '.join(self.stability.left_out)}.")
        if self.pool.left_out:
            blocks = ", ".join(self.pool.left_out)
            told.append(f"Not pooled, for another panel or no replacements: {blocks}.")
        told += [
            f"{found.first} and {found.other} at seed {found.seed} are compared without "
            f"{', '.join(found.missing)}."
            for found in self.comparisons
            if found.missing
        ]
        return told

    def _not_closing(self) -> list[str]:
        return [
            f"{campaign}: the accounts of seat {check.seat} in run {check.run_id} do not close."
            for campaign, check in self.identities
            if not check.closes
        ]

    def _bound_differently(self) -> list[str]:
        return [
            f"{found.one} and {found.two} bind different inputs: {_named(found)}."
            for found in self.differences
            if found.changes
        ]


def study(evidence: Sequence[Evidence]) -> Study:
    """The study of some campaigns; the first is the main one.

    Raises:
        InputError: outcomes contradict a plan.
    """
    pool = pooled(evidence)
    return Study(
        evidence=tuple(evidence),
        labels=labels(evidence),
        groups=tuple(
            _group(each, group)
            for each in evidence
            for group in each.groups
            if all(run.stage is None for run in each.runs_of(group))
        ),
        pool=pool,
        stability=stability(pool.blocks),
        block_ranks=tuple(block_ranks(pool.blocks)),
        comparisons=tuple(pool.comparisons()),
        differences=tuple(bound_differences(evidence)),
        identities=tuple(
            (each.campaign, check)
            for each in evidence
            if each.measured >= ACCOUNTED
            for check in identities(each.outcomes, each.sums)
        ),
    )


def _named(found: BoundDifferences) -> str:
    """The parts of a manifest in which fields differ, such as `runs, scenario, seeds`."""
    parts = (re.split(r"[.\[ ]", change.path)[1] for change in found.changes)
    return ", ".join(dict.fromkeys(parts))


def _group(evidence: Evidence, group: str) -> GroupStudy:
    runs, outcomes = evidence.runs_of(group), evidence.outcomes
    compares = any(run.replaced is not None for run in runs)
    return GroupStudy(
        campaign=evidence.campaign,
        group=group,
        ranking=ranking(runs, outcomes),
        contrasts=contrasts(runs, outcomes) if compares else None,
        salvage=tuple(salvage_sensitivity(runs, outcomes))
        if "salvage_cents" in evidence.measured
        else None,
        decomposition=tuple(decomposition(runs, outcomes))
        if compares and evidence.measured >= ACCOUNTED
        else None,
    )
