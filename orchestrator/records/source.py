"""A store as a source of records: one run's database is open at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, cast

from campaigns.plan import PlannedRun
from campaigns.records import (
    AttemptRecord,
    CompanyDayRecord,
    CompanyOutcome,
    CompanyWindowRecord,
    FailureRecord,
    MarketDayRecord,
    NoteRecord,
    QueryRecord,
    Record,
    ReplyRecord,
    Row,
    RunRecord,
)
from engine.scenario import Scenario
from manifests.errors import IntegrityError
from manifests.model import CampaignManifest, models_of
from orchestrator.bound import bound_scenario
from orchestrator.lifecycle import RunState
from orchestrator.records.accounts import company_days, market_days
from orchestrator.records.conduct import Journal, company_windows
from orchestrator.records.trajectories import StoredTrajectory
from orchestrator.store import RunStatus, RunStore, Store


class StoreSource:
    """The records of one campaign in an open store; it may be running meanwhile."""

    def __init__(self, store: Store, campaign: str) -> None:
        """Errors as those of `Catalogue.planned`."""
        self._store = store
        self._campaign = campaign
        self.manifest: CampaignManifest = store.catalogue.planned(campaign)[0]
        self._scenario = bound_scenario(self.manifest)

    @property
    def label(self) -> str:
        """The store's place."""
        return self._store.location

    @property
    def planned(self) -> Sequence[PlannedRun]:
        """Every planned run in scheduling order, as the catalogue has it."""
        return [row.planned for row in self._store.catalogue.runs(self._campaign)]

    has_conversations: Final = True
    """A store leaves nothing out."""

    @property
    def products(self) -> list[str]:
        """The product ids in the scenario's order."""
        return list(self._scenario.product_ids)

    @property
    def window_days(self) -> int:
        """Days between two boundaries."""
        return self._scenario.window_days

    @property
    def horizon_days(self) -> int:
        """Days of a whole run."""
        return self._scenario.horizon_days

    def runs(self) -> Iterator[StoredRun]:
        """The runs in scheduling order; the file of one is closed when the next is asked for."""
        models = frozenset(models_of(self.manifest))
        for row in self._store.catalogue.runs(self._campaign):
            run = self._store.run(row.key)
            try:
                yield StoredRun(run, row.planned, self._scenario, models)
            finally:
                run.close()


class StoredRun:
    """The records of one run."""

    def __init__(
        self, store: RunStore, planned: PlannedRun, scenario: Scenario, models: frozenset[str]
    ) -> None:
        self._store = store
        self._planned = planned
        self._scenario = scenario
        self._models = models

    @cached_property
    def run(self) -> RunRecord:
        """The run as it stood when it was first asked for.

        Raises:
            IntegrityError: the run is completed, but its outcomes are not there.
        """
        return _run_record(self._planned, self._status)

    def rows(self, table: type[Row]) -> Iterator[Row]:
        """The run's rows of one table, in the order of its key columns."""
        read = _READERS[table]
        return cast("Iterator[Row]", read(self))

    @property
    def trajectory(self) -> StoredTrajectory:
        """The run window by window."""
        return StoredTrajectory(self._store, self._scenario.product_ids)

    @cached_property
    def _status(self) -> RunStatus:
        status = self._store.status()
        if status.status is RunState.COMPLETED and not self._store.outcomes():
            raise IntegrityError(
                f"The {status.key} is completed, but its outcomes are not there.",
                "Put back the database that belongs to this run.",
            )
        return status

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self._store, self._planned)

    def _runs(self) -> Iterator[RunRecord]:
        yield self.run

    def _outcomes(self) -> Iterator[CompanyOutcome]:
        yield from self._store.outcomes()

    def _company_days(self) -> Iterator[CompanyDayRecord]:
        return company_days(self._store, self._planned)

    def _market_days(self) -> Iterator[MarketDayRecord]:
        return market_days(self._store, self._planned.run_id, len(self._planned.lineup))

    def _company_windows(self) -> Iterator[CompanyWindowRecord]:
        return company_windows(
            self._store, self._planned, self._journal, self._scenario.window_days, self._models
        )

    def _attempts(self) -> Iterator[AttemptRecord]:
        return self._journal.attempts()

    def _replies(self) -> Iterator[ReplyRecord]:
        return self._journal.replies()

    def _failures(self) -> Iterator[FailureRecord]:
        return self._journal.failures()

    def _queries(self) -> Iterator[QueryRecord]:
        return self._journal.queries()

    def _notes(self) -> Iterator[NoteRecord]:
        return self._journal.notes()


_READERS: Final[Mapping[type[Record], Callable[[Any], Iterator[Record]]]] = {
    RunRecord: StoredRun._runs,  # noqa: SLF001 - the class's own table of its methods
    CompanyOutcome: StoredRun._outcomes,  # noqa: SLF001
    CompanyDayRecord: StoredRun._company_days,  # noqa: SLF001
    MarketDayRecord: StoredRun._market_days,  # noqa: SLF001
    CompanyWindowRecord: StoredRun._company_windows,  # noqa: SLF001
    AttemptRecord: StoredRun._attempts,  # noqa: SLF001
    ReplyRecord: StoredRun._replies,  # noqa: SLF001
    FailureRecord: StoredRun._failures,  # noqa: SLF001
    QueryRecord: StoredRun._queries,  # noqa: SLF001
    NoteRecord: StoredRun._notes,  # noqa: SLF001
}


def _run_record(planned: PlannedRun, status: RunStatus) -> RunRecord:
    return RunRecord(
        run_id=planned.run_id,
        campaign=status.key.campaign,
        group=planned.group,
        repeat=planned.repeat,
        seed=planned.seed,
        lineup_label=planned.lineup_label,
        lineup=planned.lineup,
        replaced=planned.replaced,
        baseline=planned.baseline,
        stage=planned.stage,
        status=status.status.value,
        reason=status.reason,
        day=status.day,
        world_version=status.world_version,
    )
