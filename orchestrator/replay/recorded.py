"""A run as it was recorded: what a replay reads, from a store or from a bundle."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from campaigns.records import CompanyOutcome
from engine.records import PublicDay
from orchestrator.store import CompanyWindow, RunKey, RunStatus, StoredReceipt


class RecordedDay(Protocol):
    """A settled day; `details` is the record of the market's day where it is kept, `public` what
    everyone may know of it where that is kept apart.
    """

    @property
    def day(self) -> int: ...

    @property
    def version(self) -> int: ...

    @property
    def state_digest(self) -> str: ...

    @property
    def record_digest(self) -> str: ...

    @property
    def details(self) -> bytes | None: ...

    @property
    def public(self) -> PublicDay | None: ...


class RecordedCompanyDay(Protocol):
    """A company-day: its accounts by name, and the whole record where it is kept."""

    @property
    def day(self) -> int: ...

    @property
    def seat(self) -> int: ...

    @property
    def columns(self) -> Mapping[str, int]: ...

    @property
    def details(self) -> bytes | None: ...


class RecordedBoundary(Protocol):
    """The whole world at a window boundary, as `engine.state` encodes it."""

    @property
    def version(self) -> int: ...

    @property
    def day(self) -> int: ...

    @property
    def state(self) -> bytes: ...

    @property
    def state_digest(self) -> str: ...


class RecordedRun(Protocol):
    """Everything recorded about a run, each kind in its order."""

    @property
    def key(self) -> RunKey: ...

    def status(self) -> RunStatus: ...

    def company_windows(self) -> Iterator[CompanyWindow]: ...

    def receipts(self) -> Iterator[StoredReceipt]: ...

    def days(self) -> Iterator[RecordedDay]: ...

    def company_days(self) -> Iterator[RecordedCompanyDay]: ...

    def checkpoints(self) -> Iterator[RecordedBoundary]: ...

    def outcomes(self) -> Iterable[CompanyOutcome]: ...
