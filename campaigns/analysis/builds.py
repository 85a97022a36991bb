"""Which builds of its model have served a candidate (providers.md section 2)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from campaigns.analysis.conduct import Conduct


@dataclass(frozen=True, slots=True)
class ServedBuilds:
    """How many replies each build has given, in the order of runs and windows; empty where a
    service does not tell its builds. More than one: the vendor changed the model during the
    campaign.
    """

    candidate: str
    replies: dict[str, int]

    @property
    def changed(self) -> bool:
        return len(self.replies) > 1

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON."""
        return asdict(self) | {"changed": self.changed}


def served_builds(
    candidates: Sequence[str], trajectories: Sequence[Conduct]
) -> tuple[ServedBuilds, ...]:
    """The builds of each candidate, in the order given."""
    found: dict[str, Counter[str]] = {candidate: Counter() for candidate in candidates}
    for trajectory in trajectories:
        if trajectory.candidate in found:
            found[trajectory.candidate].update(trajectory.builds)
    return tuple(ServedBuilds(candidate, dict(builds)) for candidate, builds in found.items())
