"""A campaign on a cluster that nobody carries out any more, and that has not come to rest.

Where a new head node answers at the address of a lost one, Ray's client waits for ever for a
scheduler that the new one has never heard of. The store tells that nobody is at work.
"""

from typing import Final

MOST_ABSENT_SECONDS: Final = 60.0
"""How long Ray may take to start a scheduler again."""


class Absence:
    """For how long nobody has held a campaign's lease, by a clock that whoever looks reads."""

    def __init__(self) -> None:
        self._since: float | None = None

    def note(self, owner: str | None, now: float) -> None:
        """Take notice of who holds the lease."""
        if owner is not None:
            self._since = None
        elif self._since is None:
            self._since = now

    def lasted(self, now: float) -> float:
        """The seconds since it began; 0 while somebody holds the lease."""
        return 0.0 if self._since is None else now - self._since
