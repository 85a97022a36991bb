"""Campaigns together: which blocks can be pooled, and what is bound differently between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from campaigns.analysis.baselines import BaselineComparison, compare_baselines
from campaigns.analysis.blocks import Block, blocks
from campaigns.analysis.evidence import Evidence
from manifests.comparison import Difference, difference


class BoundDifferences(NamedTuple):
    """The decisive inputs that two campaigns bind differently."""

    one: str
    two: str
    changes: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """The blocks of one panel. `blocks` have the first baseline, `others` another one; `left_out`
    labels blocks of another panel, or without replacements and without use as a control.
    """

    panel: tuple[str, ...]
    baseline: str | None
    blocks: tuple[Block, ...]
    others: tuple[Block, ...]
    left_out: tuple[str, ...]

    def comparisons(self) -> list[BaselineComparison]:
        """The first baseline against every other one, at every seed that has both."""
        if self.baseline is None:
            return []
        baselines = dict.fromkeys(block.baseline for block in self.others)
        return [
            found
            for other in baselines
            if other is not None
            for found in compare_baselines((*self.blocks, *self.others), self.baseline, other)
        ]


def pooled(evidence: Sequence[Evidence]) -> Pool:
    """The blocks of all campaigns; panel and first baseline are those of the first group whose
    lineups hold its own reference and replacements, else of the first group.
    """
    found = [
        block
        for each in evidence
        for group in each.groups
        if all(run.stage is None for run in each.runs_of(group))
        for block in blocks(each.campaign, each.runs_of(group), each.outcomes)
    ]
    first = next((block for block in found if _compares(block, evidence)), None)
    first = first or next(iter(found), None)
    if first is None:
        return Pool((), None, (), (), ())
    same = [block for block in found if block.panel == first.panel]
    return Pool(
        panel=first.panel,
        baseline=first.baseline,
        blocks=tuple(block for block in same if block.baseline == first.baseline),
        others=tuple(block for block in same if block.baseline not in (None, first.baseline)),
        left_out=tuple(
            block.label
            for block in found
            if block.panel != first.panel or (block.baseline is None and first.baseline is not None)
        ),
    )


def bound_differences(evidence: Sequence[Evidence]) -> list[BoundDifferences]:
    """What the manifests of every two campaigns bind differently; plain tables have none."""
    return [
        BoundDifferences(
            one.campaign,
            two.campaign,
            tuple(
                change
                for change in difference(one.manifest, two.manifest)
                if change.path.startswith("decisive")
            ),
        )
        for one, two in combinations(evidence, 2)
        if one.manifest is not None and two.manifest is not None
    ]


def _compares(block: Block, evidence: Sequence[Evidence]) -> bool:
    """Whether a block's own plan has both its reference and replacements."""
    return any(
        {run.replaced is None for run in each.planned if run.group == block.group} == {True, False}
        for each in evidence
        if each.campaign == block.campaign
    )
