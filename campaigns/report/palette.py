"""One colour and one mark for each candidate, the same in every figure, light and dark.

The eight colours are at least 23 apart (CIE76) for normal sight and under protanopia, deuteranopia
and tritanopia (Machado 2009, full severity), and have a contrast of 2.9:1 or more on both papers.
Marks differ as well, and figures label directly: colour is never the only key.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

COLOURS: Final = (
    "#1f66d0",
    "#de740c",
    "#1ea69f",
    "#c90020",
    "#8c00ff",
    "#a1915d",
    "#8c4896",
    "#9f4958",
)
MARKS: Final = ("o", "s", "D", "^", "v", "P", "X", "h")
BASELINE_COLOURS: Final = ("#7d838c", "#5d6b62", "#8a7a70")

# Placeholders: on a page they become the theme's colours, in files they stay as they are.
INK: Final = "#1c1e22"
MUTED: Final = "#666c75"
RULE: Final = "#d3d7dd"
PAPER: Final = "#fdfdfe"
GAIN: Final = "#2b6cb8"
LOSS: Final = "#c8641b"


class Look(NamedTuple):
    """How a candidate is drawn and named."""

    label: str
    colour: str
    mark: str


def looks(
    panel: Sequence[str], everyone: Sequence[str], labels: Mapping[str, str]
) -> dict[str, Look]:
    """The looks of the panel by seat, and of all others, who are baselines, in greys. A panel of
    more than eight repeats the colours with other marks.
    """
    found: dict[str, Look] = {}
    for seat, name in enumerate(panel):
        turn = seat // len(COLOURS)
        mark = MARKS[(seat + turn) % len(MARKS)]
        found[name] = Look(labels.get(name, name), COLOURS[seat % len(COLOURS)], mark)
    for place, name in enumerate(each for each in everyone if each not in panel):
        colour = BASELINE_COLOURS[place % len(BASELINE_COLOURS)]
        found[name] = Look(labels.get(name, name), colour, "d")
    return found
