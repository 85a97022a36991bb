"""Blocks: the worlds of one group at one seed and one repeat, which are compared with each other.

Findings that pool campaigns (stability, repeats, baselines) are over blocks, each of which is
matched in itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from campaigns.analysis.contrasts import MatchedContrast, World, matched_contrast, panel_of
from campaigns.analysis.matching import match
from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block: who sits where in the reference lineup, and its complete worlds.

    `reference` is None when it is not planned here or not complete; `replacements` holds the
    complete worlds by the candidate left out.
    """

    campaign: str
    group: str
    seed: int
    repeat: int
    repeats: int
    panel: tuple[str, ...]
    baseline: str | None
    reference: World | None
    replacements: Mapping[str, World]

    @property
    def label(self) -> str:
        """Such as `main s11` or `repeats s11 R2`."""
        group = "" if self.group == self.campaign else f".{self.group}"
        repeat = f" R{self.repeat}" if self.repeats > 1 else ""
        return f"{self.campaign}{group} s{self.seed}{repeat}"

    @property
    def is_complete(self) -> bool:
        """Whether the reference and the replacement of every candidate are there."""
        return self.reference is not None and self.has_replacements

    @property
    def has_replacements(self) -> bool:
        """Whether the replacement of every candidate is there."""
        return all(candidate in self.replacements for candidate in self.panel)

    def contrast(self, entrant: str) -> MatchedContrast:
        """What an entrant changes, in cents of Score; of a complete block."""
        assert self.reference is not None, "a complete block has a reference"
        return matched_contrast(entrant, self.reference, self.replacements[entrant])


def blocks(
    campaign: str, runs: Sequence[PlannedRun], outcomes: Iterable[CompanyOutcome]
) -> list[Block]:
    """The blocks of one group's runs, in scheduling order.

    Raises:
        InputError: an outcome contradicts the plan, or the runs are not of one panel.
    """
    matched = match(runs, outcomes)
    panel = panel_of(runs)
    places = dict.fromkeys((run.seed, run.repeat) for run in runs)
    found: list[Block] = []
    for seed, repeat in places:
        own = [run for run in runs if (run.seed, run.repeat) == (seed, repeat)]
        worlds = {run.replaced: matched.outcomes.get(run.run_id) for run in own}
        found.append(
            Block(
                campaign=campaign,
                group=own[0].group,
                seed=seed,
                repeat=repeat,
                repeats=len({each for other, each in places if other == seed}),
                panel=panel,
                baseline=next((run.baseline for run in own if run.baseline is not None), None),
                reference=worlds.get(None),
                replacements={
                    left_out: world
                    for left_out, world in worlds.items()
                    if left_out is not None and world is not None
                },
            )
        )
    return found
