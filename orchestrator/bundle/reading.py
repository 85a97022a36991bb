"""A bundle as what it was exported from: a source of records, and runs to be replayed.

Every file is checked against the statement before a row of it is used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from campaigns.plan import PlannedRun
from campaigns.records import (
    TABLES,
    CompanyDayRecord,
    CompanyOutcome,
    Record,
    RunRecord,
)
from engine.records import ActionReceipt, PublicDay
from engine.scenario import Scenario
from engine.state import WorldState, encode_state
from manifests.bundle import Bundle, checked
from manifests.errors import IntegrityError
from manifests.keys import PublicKey
from manifests.model import CampaignManifest
from manifests.rows import read_row
from orchestrator.bound import bound_scenario
from orchestrator.bundle import layout
from orchestrator.bundle.named import from_named
from orchestrator.bundle.parquet import DAMAGED, read_rows
from orchestrator.bundle.trajectories import BundledTrajectory
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.store import CompanyWindow, LeaseState, RunKey, RunStatus, StoredReceipt

_Row = TypeVar("_Row", bound=Record)
_Item = TypeVar("_Item")

_FILES: Final = {table: layout.table_file(name) for name, table in TABLES.items()}
_DECODERS: Final[Mapping[str, msgspec.json.Decoder[Any]]] = {
    # Not strict: an integer that is too large for some readers stands as a string of digits.
    name: msgspec.json.Decoder(row, strict=False)
    for name, row in layout.ROWS.items()
}
_PLANNED: Final = msgspec.json.Decoder(PlannedRun, strict=False)
_ACCOUNTS: Final = tuple(
    name
    for name in CompanyDayRecord.__struct_fields__
    if name not in {"run_id", "day", "seat", "candidate"}
)


class BundleSource:
    """The records of the campaign in a bundle."""

    def __init__(self, bundle: Bundle) -> None:
        """Raises IntegrityError when the statement of the bundle cannot be read."""
        self.bundle = bundle
        self.manifest: CampaignManifest = bundle.manifest

    @classmethod
    def open(cls, path: Path, keys: list[PublicKey]) -> "BundleSource":
        """The bundle at a path, after checking that its files are those of its statement; with keys
        also that their owners, and nobody else, have signed it.

        Raises:
            InputError: there is no bundle.
            IntegrityError: it is not as it was exported; says where.
        """
        return cls(checked(path, keys))

    @property
    def label(self) -> str:
        """The bundle's place."""
        return self.bundle.place

    @property
    def planned(self) -> list[PlannedRun]:
        """Every planned run in scheduling order."""
        return [run.planned for run in self.runs()]

    @property
    def has_conversations(self) -> bool:
        """Whether it was exported with conversations."""
        return self.bundle.predicate.conversations

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

    @cached_property
    def _scenario(self) -> Scenario:
        return bound_scenario(self.manifest)

    def runs(self) -> "Iterator[BundledRun]":
        """The runs in scheduling order."""
        campaign = self.manifest.provenance.campaign
        for name in self.bundle.subjects:
            folder, _, file = name.rpartition("/")
            if file == layout.PLANNED:
                yield BundledRun(self.bundle, folder, campaign, self._scenario.product_ids)


@dataclass(frozen=True, slots=True)
class BundledDay:
    """A settled day in a bundle, which has the digest of the market's day and, instead of the
    record, what everyone may know of it.
    """

    day: int
    version: int
    state_digest: str
    record_digest: str
    public: PublicDay
    details: None = None


@dataclass(frozen=True, slots=True)
class BundledCompanyDay:
    """The accounts of a company-day in a bundle; the record of the day is there as a digest."""

    day: int
    seat: int
    columns: Mapping[str, int]
    details: None = None


@dataclass(frozen=True, slots=True)
class BundledBoundary:
    """A window boundary in a bundle."""

    version: int
    day: int
    state: bytes
    state_digest: str


class BundledRun:
    """One run in a bundle: its records, and everything that a replay compares."""

    def __init__(self, bundle: Bundle, folder: str, campaign: str, products: Sequence[str]) -> None:
        self._bundle = bundle
        self._products = products
        self._folder = folder
        self._campaign = campaign

    @cached_property
    def planned(self) -> PlannedRun:
        """The run with the lineup that played it. Raises IntegrityError."""
        name = f"{self._folder}/{layout.PLANNED}"
        return read_row(_PLANNED, self._bundle.content(name), name)

    @cached_property
    def run(self) -> RunRecord:
        """The run as it stood when it was exported. Raises IntegrityError."""
        found = list(self.rows(RunRecord))
        if [row.run_id for row in found] != [self.planned.run_id]:
            raise IntegrityError(
                f"{self._folder} does not have the one run that it is planned for.",
                DAMAGED,
            )
        return found[0]

    @property
    def key(self) -> RunKey:
        return RunKey(self._campaign, self.planned.run_id)

    def rows(self, table: type[_Row]) -> Iterator[_Row]:
        """The run's rows of one table. Raises IntegrityError."""
        name = f"{self._folder}/{_FILES[table]}"
        return read_rows(table, self._bundle.content(name), name)

    @property
    def trajectory(self) -> BundledTrajectory:
        """The run window by window."""
        return BundledTrajectory(self, self._products)

    def status(self) -> RunStatus:
        """How the run stood when it was exported; nobody holds a run in a bundle."""
        run = self.run
        return RunStatus(
            key=self.key,
            status=RunState(run.status),
            reason=run.reason,
            world_version=run.world_version,
            day=run.day,
            exits={row.seat: row.day for row in self.rows(CompanyDayRecord) if row.exited},
            lease=LeaseState(None, 0, 0.0),
            updated_at=None,
        )

    def company_windows(self) -> Iterator[CompanyWindow]:
        """All closed windows, by world version and seat."""
        return self._lines(layout.DECISIONS, _company_window)

    def receipts(self) -> Iterator[StoredReceipt]:
        """All action receipts, by world version, seat and number."""
        return self._lines(layout.RECEIPTS, _receipt)

    def days(self) -> Iterator[BundledDay]:
        """All settled days."""
        return self._lines(
            layout.DAYS,
            lambda row: BundledDay(
                row.day,
                row.world_version,
                row.state_digest,
                row.record_digest,
                from_named(row.public, PublicDay),
            ),
        )

    def checkpoints(self) -> Iterator[BundledBoundary]:
        """The world at every boundary, day 0 first."""
        return self._lines(
            layout.BOUNDARIES,
            lambda row: BundledBoundary(
                row.world_version,
                row.day,
                encode_state(from_named(row.state, WorldState)),
                row.state_digest,
            ),
        )

    def company_days(self) -> Iterator[BundledCompanyDay]:
        """All company-days, by day and seat."""
        for row in self.rows(CompanyDayRecord):
            accounts = {name: getattr(row, name) for name in _ACCOUNTS}
            yield BundledCompanyDay(row.day, row.seat, accounts)

    def conversations(self) -> Iterator[layout.ConversationRow]:
        """What was said in attempts, by world version, seat, attempt and number, then late replies;
        nothing in a bundle without conversations.
        """
        if self._bundle.predicate.conversations:
            yield from self._lines(layout.CONVERSATIONS, lambda row: row)

    def attempt_failures(self) -> Iterator[layout.AttemptFailureRow]:
        """Attempts that failed, by world version, seat, attempt and event."""
        return self._lines(layout.ATTEMPT_FAILURES, lambda row: row)

    def outcomes(self) -> list[CompanyOutcome]:
        """How each company ended, by seat."""
        return list(self.rows(CompanyOutcome))

    def _lines(self, file: str, read: Callable[[Any], _Item]) -> Iterator[_Item]:
        name = f"{self._folder}/{file}"
        for number, line in enumerate(self._bundle.lines(name), start=1):
            yield read(read_row(_DECODERS[file], line, f"{name}, line {number}"))


def _company_window(row: layout.DecisionRow) -> CompanyWindow:
    sealed = bytes(row.decision)
    return CompanyWindow(
        version=row.world_version,
        seat=row.seat,
        status=CompanyWindowStatus(row.status),
        candidate=row.candidate,
        identity=row.identity,
        decision_json=None if sealed == b"null" else sealed,
        decision_digest=row.decision_digest,
    )


def _receipt(row: layout.ReceiptRow) -> StoredReceipt:
    fields = (getattr(row, name) for name in ActionReceipt.__struct_fields__)
    return StoredReceipt(row.world_version, row.seat, row.number, ActionReceipt(*fields))
