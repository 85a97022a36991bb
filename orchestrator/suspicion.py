"""Which run ends its hosts: a pure account of deaths, kept by the scheduler.

When a host dies, each of its runs may have been the reason. A run that made no progress between
two such deaths is suspected and plays alone; a death then can be nobody else's fault. Progress
acquits it.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

_DEATHS_BEFORE_SUSPICION: Final = 2


class Standing(Enum):
    """What is thought of a run."""

    FREE = "free"
    SUSPECTED = "suspected"
    GUILTY = "guilty"


@dataclass(frozen=True, slots=True)
class _Record:
    version: int
    deaths: int
    alone: bool


class Suspicion:
    """The runs that were on hosts that died, at which world version, how often in a row."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def died(self, run_id: str, version: int, alone: bool) -> Standing:
        """A host died while the run stood at this world version, `alone` on it or among others."""
        before = self._records.get(run_id)
        earlier = before.deaths if before is not None and before.version == version else 0
        self._records[run_id] = _Record(version, earlier + 1, alone)
        return self.standing(run_id)

    def progressed(self, run_id: str, version: int) -> bool:
        """Whether a suspected run stands beyond the version of its deaths, and so is free again."""
        found = self._records.get(run_id)
        if found is None or version <= found.version:
            return False
        del self._records[run_id]
        return True

    def standing(self, run_id: str) -> Standing:
        """What is thought of a run now."""
        found = self._records.get(run_id)
        if found is None or found.deaths < _DEATHS_BEFORE_SUSPICION:
            return Standing.FREE
        guilty = found.alone and found.deaths > _DEATHS_BEFORE_SUSPICION
        return Standing.GUILTY if guilty else Standing.SUSPECTED

    def deaths(self, run_id: str) -> int:
        """How often in a row the run lost its host where it stands."""
        found = self._records.get(run_id)
        return 0 if found is None else found.deaths

    def acquit(self, run_id: str) -> None:
        """Forget what was: a person looked, or the run is at rest."""
        self._records.pop(run_id, None)
