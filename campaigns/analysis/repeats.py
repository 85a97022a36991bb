"""Means and ranks within each block: how a ranking moves when only chance, or the seed, does."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from campaigns.analysis.blocks import Block


@dataclass(frozen=True, slots=True)
class BlockRank:
    """One candidate in one complete block: its mean Score over the lineups that include it, exact
    cents, and its rank among the panel, ties by id.
    """

    block: str
    seed: int
    candidate: str
    mean_score: Fraction
    lineups: int
    rank: int


def block_ranks(blocks: Sequence[Block]) -> list[BlockRank]:
    """The panels of all complete blocks, by block and rank."""
    return [row for block in blocks if block.is_complete for row in _ranks(block)]


def _ranks(block: Block) -> list[BlockRank]:
    assert block.reference is not None, "a complete block has a reference"
    worlds = (block.reference, *block.replacements.values())
    means: dict[str, tuple[Fraction, int]] = {}
    for candidate in block.panel:
        own = [
            each.score_cents for world in worlds for each in world if each.candidate == candidate
        ]
        means[candidate] = Fraction(sum(own), len(own)), len(own)
    order = sorted(block.panel, key=lambda candidate: (-means[candidate][0], candidate))
    return [
        BlockRank(block.label, block.seed, candidate, *means[candidate], rank)
        for rank, candidate in enumerate(order, start=1)
    ]
