"""How stable directed externalities are over the blocks that repeat them (evaluation.md section 2).

For each directed pair there is one contrast a block, each block's reference against the same
block's replacement: in the evaluated design seeds 11, 29 and 47 of `main`, and both repeats.
Descriptive; no significance is claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from campaigns.analysis.blocks import Block
from campaigns.analysis.exact import cents, mean, root, sign, variance


@dataclass(frozen=True, slots=True)
class StablePair:
    """One directed pair over the blocks, in cents.

    `values` holds a contrast for each block of `Stability`. `sd_cents` is the sample standard
    deviation (n - 1), `is_stable` says whether |mean| > SD, decided exactly; both are None of fewer
    than two contrasts. `same_sign` counts the contrasts with the sign of the mean.
    """

    entrant: str
    rival: str
    values: tuple[int, ...]
    mean: Fraction
    sd_cents: float | None
    same_sign: int
    is_stable: bool | None

    def to_json(self) -> dict[str, Any]:
        """The pair as plain JSON; mean and SD are rounded half to even to a cent."""
        return {
            "entrant": self.entrant,
            "rival": self.rival,
            "contrasts": len(self.values),
            "cents": list(self.values),
            "mean_cents": cents(self.mean),
            "sd_cents": None if self.sd_cents is None else round(self.sd_cents),
            "same_sign": self.same_sign,
            "stable": self.is_stable,
        }


@dataclass(frozen=True, slots=True)
class Stability:
    """All directed pairs of a panel, over the labels of complete `blocks`; `left_out` names blocks
    that are not complete.
    """

    panel: tuple[str, ...]
    pairs: tuple[StablePair, ...]
    blocks: tuple[str, ...]
    left_out: tuple[str, ...]


def stability(blocks: Sequence[Block]) -> Stability:
    """The pairs over blocks of one panel and one baseline; without a complete block there is none.

    Raises:
        ValueError: the blocks are not of one panel and one baseline.
    """
    if len({(block.panel, block.baseline) for block in blocks}) > 1:
        raise ValueError("blocks of different panels or baselines are not comparable")
    complete = [block for block in blocks if block.is_complete]
    panel = blocks[0].panel if blocks else ()
    directed = {
        entrant: [block.contrast(entrant).directed for block in complete] for entrant in panel
    }
    return Stability(
        panel=panel,
        pairs=tuple(
            _pair(entrant, rival, [found[rival] for found in directed[entrant]])
            for entrant in (panel if complete else ())
            for rival in panel
            if rival != entrant
        ),
        blocks=tuple(block.label for block in complete),
        left_out=tuple(block.label for block in blocks if not block.is_complete),
    )


def _pair(entrant: str, rival: str, values: Sequence[int]) -> StablePair:
    middle, spread = mean(values), variance(values)
    assert middle is not None, "there is a complete block"
    return StablePair(
        entrant=entrant,
        rival=rival,
        values=tuple(values),
        mean=middle,
        sd_cents=root(spread),
        same_sign=sum(sign(value) == sign(middle) for value in values),
        is_stable=None if spread is None else middle**2 > spread,
    )
