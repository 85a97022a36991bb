"""Where records come from: a live store, or a bundle."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from campaigns.plan import PlannedRun
from campaigns.records.columns import Record
from campaigns.records.runs import RunRecord
from manifests.model import CampaignManifest

Row = TypeVar("Row", bound=Record)


class RunRecords(Protocol):
    """The records of one run, as far as it has been played."""

    @property
    def run(self) -> RunRecord:
        """The run and how it stands."""
        ...

    def rows(self, table: type[Row]) -> Iterator[Row]:
        """The run's rows of one table, in the order of its key columns.

        Raises:
            IntegrityError: what is stored is not what was settled.
        """
        ...


class RecordSource(Protocol):
    """The records of one campaign in one place. Reading holds one run at a time, so that memory
    does not grow with the number of runs.
    """

    @property
    def label(self) -> str:
        """The place, as messages and reports name it."""
        ...

    @property
    def manifest(self) -> CampaignManifest:
        """The campaign's frozen manifest."""
        ...

    @property
    def planned(self) -> Sequence[PlannedRun]:
        """Every planned run in scheduling order, with the lineup it is played with."""
        ...

    def runs(self) -> Iterator[RunRecords]:
        """The runs in scheduling order. One is readable until the next is asked for."""
        ...
