"""Decision health: how the settled windows of candidates closed (evaluation.md section 3)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from campaigns.analysis.conduct import Conduct


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the settled windows of a candidate, or of all under None, closed.

    `active` are its company-windows that are settled, so that the four statuses add up to it;
    `open` are those that are not. `fresh_attempts` came after failed ones, one for each.
    """

    candidate: str | None
    active: int
    sealed: int
    budget_exhausted: int
    timeout: int
    protocol_error: int
    open: int
    fresh_attempts: int

    @classmethod
    def of(cls, candidate: str | None, trajectories: Sequence[Conduct]) -> Self:
        """The health of these trajectories together."""

        def closed(status: str) -> int:
            return sum(each.statuses.get(status, 0) for each in trajectories)

        return cls(
            candidate=candidate,
            active=sum(each.active for each in trajectories),
            sealed=closed("sealed"),
            budget_exhausted=closed("budget_exhausted"),
            timeout=closed("timeout"),
            protocol_error=closed("protocol_error"),
            open=sum(each.open for each in trajectories),
            fresh_attempts=sum(each.fresh_attempts for each in trajectories),
        )

    @property
    def failed(self) -> int:
        """Windows that closed without a decision though the allowance was not spent: no reply came,
        or none that could be read.
        """
        return self.timeout + self.protocol_error

    @property
    def never_reached(self) -> bool:
        """Whether the candidate sealed nothing, and failures had a part in it: its Scores are not
        its own doing.
        """
        return self.sealed == 0 and self.failed > 0

    @property
    def mostly_unsealed(self) -> bool:
        """Whether fewer than half of its windows were sealed."""
        return 2 * self.sealed < self.active

    @property
    def unsealed_rate(self) -> float | None:
        """Windows that were not sealed, as a share of the active ones."""
        return float(Fraction(self.active - self.sealed, self.active)) if self.active else None

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON; each fresh attempt followed a failed one."""
        return asdict(self) | {
            "failed_attempts": self.fresh_attempts,
            "unsealed_rate": self.unsealed_rate,
        }


def decision_health(candidates: Sequence[str], trajectories: Sequence[Conduct]) -> list[Health]:
    """The candidates in the order given, then all of them together."""
    chosen = [each for each in trajectories if each.candidate in candidates]
    rows = [
        Health.of(name, [each for each in chosen if each.candidate == name]) for name in candidates
    ]
    return [*rows, Health.of(None, chosen)]
