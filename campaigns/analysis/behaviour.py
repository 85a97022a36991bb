"""What candidates wrote and asked (evaluation.md sections 2 and 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from campaigns.analysis.conduct import SETTINGS, Conduct


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One candidate over its settled windows.

    `settings` counts what sealed decisions write by kind, `statements` the if-then statements of
    `notes` (a file as one write or edit left it) by the rule of `statements`.
    """

    candidate: str
    windows: int
    unsealed: int
    settings: Mapping[str, int]
    queries: int
    notes: int
    statements: int

    def per_window(self, count: int) -> Fraction | None:
        """A count by settled window, exact; None without a window."""
        return Fraction(count, self.windows) if self.windows else None

    @property
    def statements_per_note(self) -> Fraction | None:
        """If-then statements by note, exact; None without a note."""
        return Fraction(self.statements, self.notes) if self.notes else None


def behaviour(candidates: Sequence[str], trajectories: Sequence[Conduct]) -> list[Behaviour]:
    """The candidates in the order given."""
    return [
        _behaviour(name, [each for each in trajectories if each.candidate == name])
        for name in candidates
    ]


def _behaviour(candidate: str, own: Sequence[Conduct]) -> Behaviour:
    windows = sum(each.active for each in own)
    return Behaviour(
        candidate=candidate,
        windows=windows,
        unsealed=windows - sum(each.statuses.get("sealed", 0) for each in own),
        settings={name: sum(each.settings[name] for each in own) for name in SETTINGS},
        queries=sum(each.queries for each in own),
        notes=sum(each.notes for each in own),
        statements=sum(each.statements for each in own),
    )
