"""What the store takes and gives: keys, rows, and the settled things as they are stored.

Stored things keep the bytes of the database beside the way to decode them, so that a replay can
compare bytes and name the field in which a damaged one differs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple, Self

from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome
from engine.decision import CompanyDecision
from engine.records import ActionReceipt, CompanyDay, DayRecord
from engine.state import WorldState, decode_state, encoded_state_digest
from manifests.canonical import digest_bytes
from manifests.errors import RESTORE, IntegrityError
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.store import codec
from orchestrator.store.leases import LeaseState


class RunKey(NamedTuple):
    """A run's place in a store: run ids are unique within their campaign."""

    campaign: str
    run_id: str

    def __str__(self) -> str:
        return f"run {self.run_id} of campaign {self.campaign}"


@dataclass(frozen=True, slots=True)
class Target:
    """What an act is about: a campaign, one of its runs, or a company-window of a run."""

    campaign: str
    run_id: str | None = None
    version: int | None = None
    seat: int | None = None

    def __str__(self) -> str:
        if self.run_id is None:
            return f"campaign {self.campaign}"
        if self.version is None:
            return f"run {self.run_id}"
        return f"company-{self.seat} of run {self.run_id} at world version {self.version}"


MADE_AGAIN: Final = "make again"
"""The act by which a campaign came into a catalogue that was lost and made again from the runs."""


class DesiredState(StrEnum):
    """What the operator wants of a campaign, a run or a company-window."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """A campaign as the catalogue has it; `reason` belongs to the last change of `desired`, and
    `last_act` is the number of the last thing that a person did.
    """

    name: str
    plan_hash: str
    created_at: datetime
    desired: DesiredState
    reason: str
    changed_at: datetime
    runs: int
    last_act: int
    lease: LeaseState


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the catalogue has it."""

    key: RunKey
    planned: PlannedRun


@dataclass(frozen=True, slots=True)
class Act:
    """Something a person did to a campaign or one of its runs."""

    number: int
    at: datetime
    act: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How a run stands: `world_version` windows and `day` days are settled.

    `exits` maps the seats of bankrupt companies to the day of their exit; `updated_at` is None
    before the run was first taken.
    """

    key: RunKey
    status: RunState
    reason: str
    world_version: int
    day: int
    exits: Mapping[int, int]
    lease: LeaseState
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunTransition:
    """A change of a run's status, and why it came."""

    at: datetime
    status: RunState
    reason: str


@dataclass(frozen=True)
class CompanyWindow:
    """One company's closed window, opened at world `version`; no draft accepted, no decision.

    `candidate` is the id of who sits in the seat, `identity` the name under which it decided.
    """

    version: int
    seat: int
    status: CompanyWindowStatus
    candidate: str
    identity: str
    decision_json: bytes | None
    decision_digest: str | None

    @classmethod
    def closed(
        cls,
        *,
        version: int,
        seat: int,
        status: CompanyWindowStatus,
        candidate: str,
        identity: str,
        decision: CompanyDecision | None = None,
    ) -> Self:
        """The window of a company that just closed it, with its decision in the stored form."""
        content = None if decision is None else codec.decision_json(decision)
        digest = None if content is None else digest_bytes(content)
        return cls(version, seat, status, candidate, identity, content, digest)

    @cached_property
    def decision(self) -> CompanyDecision | None:
        """The decision as it is read back from its stored form: what is settled and replayed.

        Raises:
            IntegrityError: the bytes do not have their digest, or are no decision.
        """
        if self.decision_json is None:
            return None
        place = f"the decision of company-{self.seat} at world version {self.version}"
        if digest_bytes(self.decision_json) != self.decision_digest:
            raise IntegrityError(f"{place} is not what was sealed: its digest differs.", RESTORE)
        return codec.read_decision(self.decision_json, place)


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """One action receipt of a company's window that opened at world `version`."""

    version: int
    seat: int
    number: int
    receipt: ActionReceipt


@dataclass(frozen=True, slots=True)
class StoredDay:
    """One settled day: digests of the world's state and of the whole DayRecord, companies included;
    `details` is the encoding of the record without its companies, `public` included."""

    day: int
    version: int
    state_digest: str
    record_digest: str
    details: bytes
    public: None = None

    def record(self, companies: Sequence["StoredCompanyDay"]) -> DayRecord:
        """The day's record put together again.

        Raises:
            IntegrityError: the parts do not have the digest under which the day was stored.
        """
        record = codec.read_day(self.details, f"the record of day {self.day}")
        record.companies = [company.record() for company in companies]
        if codec.day_digest(record) != self.record_digest:
            raise IntegrityError(
                f"The record of day {self.day} is not what was settled: its digest differs.",
                RESTORE,
            )
        return record


@dataclass(frozen=True, slots=True)
class StoredCompanyDay:
    """One company-day: `columns` are the query columns, `details` the encoded CompanyDay."""

    day: int
    seat: int
    columns: Mapping[str, int]
    details: bytes

    def record(self) -> CompanyDay:
        """The decoded record. Raises IntegrityError when the bytes are none."""
        return codec.read_company_day(self.details, f"day {self.day} of company-{self.seat}")


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """The whole world at a window boundary, encoded as `engine.state` says."""

    version: int
    day: int
    state: bytes
    state_digest: str
    epoch: int
    committed_at: datetime

    def world(self) -> WorldState:
        """The decoded state.

        Raises:
            IntegrityError: the bytes do not have their digest.
        """
        if encoded_state_digest(self.state) != self.state_digest:
            raise IntegrityError(
                f"The state at world version {self.version}, day {self.day}, is not what was "
                "settled: its digest differs.",
                RESTORE,
            )
        return decode_state(self.state)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last boundary of a run: the world's state, and of the window before it the days and each
    company's receipts by seat.
    """

    version: int
    day: int
    state: WorldState
    elapsed: list[DayRecord]
    receipts: Mapping[int, Sequence[ActionReceipt]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCommit:
    """All that one barrier settles, from world version `version_before` to the next.

    `decisions` has the closed window of every company that was active, `receipts` what became of
    their actions by seat, `days` the settled days and `state` the world at their end. `outcomes`,
    one for each seat, come with the last window of the run, and only with it.
    """

    version_before: int
    decisions: Sequence[CompanyWindow]
    receipts: Mapping[int, Sequence[ActionReceipt]]
    days: Sequence[DayRecord]
    state: WorldState
    outcomes: Sequence[CompanyOutcome] | None = None
