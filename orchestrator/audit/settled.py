"""What a run settled: windows, days and boundaries follow each other, and the accounts close."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from campaigns.plan import PlannedRun
from engine.decision import company_name
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.state import WorldState
from manifests.canonical import canonical_json
from manifests.errors import IntegrityError
from manifests.model import CampaignManifest
from orchestrator.lifecycle import SETTLED, CompanyWindowStatus, RunState
from orchestrator.outcomes import Totals, company_outcomes
from orchestrator.store import RunStatus, RunStore, company_day_columns


def settled_faults(
    run: RunStore,
    planned: PlannedRun,
    manifest: CampaignManifest,
    scenario: Scenario,
    status: RunStatus,
) -> Iterator[str]:
    """What contradicts itself in the settled part of a run, up to the `status` that was read first.

    Raises:
        IntegrityError: something cannot be read, or does not have its digest.
    """
    yield from _binding_faults(run, manifest)
    yield from _lease_faults(run, status)
    worlds = _Boundaries()
    yield from worlds.read(run, status)
    yield from _window_faults(run, planned, status, worlds)
    accounts = _Accounts(scenario, len(planned.lineup))
    yield from accounts.read(run, status, worlds)
    yield from _outcome_faults(run, planned, scenario, status, worlds, accounts)


def _binding_faults(run: RunStore, manifest: CampaignManifest) -> Iterator[str]:
    own = run.manifest_json()
    if own is not None and own != canonical_json(manifest.model_dump(mode="json")):
        yield "its copy of the manifest is not that of the catalogue"


def _lease_faults(run: RunStore, status: RunStatus) -> Iterator[str]:
    epochs = [point.epoch for point in run.checkpoints()]
    for version, (earlier, later) in enumerate(pairwise(epochs), start=1):
        if later < earlier:
            yield f"world version {version} was committed under epoch {later}, after {earlier}"
    played = [epoch for epoch, _ in run.environments()]
    for epoch in {*epochs, *played}:
        if epoch > status.lease.epoch:
            yield f"its lease has epoch {status.lease.epoch}, and epoch {epoch} has written"
            return


class _Boundaries:
    """The worlds at the boundaries of a run, each checked as it is read; the last one is kept."""

    def __init__(self) -> None:
        self.digests: dict[int, str] = {}
        self.active: dict[int, frozenset[int]] = {}
        self.last: WorldState | None = None

    def read(self, run: RunStore, status: RunStatus) -> Iterator[str]:
        found = -1
        for found, point in enumerate(
            takewhile(lambda point: point.version <= status.world_version, run.checkpoints())
        ):
            world = point.world()
            if (point.version, world.version, world.day) != (found, found, point.day):
                yield f"the world at version {found} is stored as another one"
            self.digests[point.day] = point.state_digest
            self.active[point.version] = frozenset(
                seat for seat, firm in enumerate(world.firms, start=1) if firm.active
            )
            self.last = world
        if found == -1 and status.world_version == 0:
            # Nobody has taken it, or it was left before its first boundary was stored.
            return
        if found != status.world_version:
            yield f"it stands at world version {status.world_version}, and has worlds up to {found}"
        elif self.last is not None and self.last.day != status.day:
            yield f"it stands on day {status.day}, and its last world on day {self.last.day}"


def _window_faults(
    run: RunStore, planned: PlannedRun, status: RunStatus, worlds: _Boundaries
) -> Iterator[str]:
    seats: dict[int, set[int]] = defaultdict(set)
    for window in run.company_windows():
        if window.version >= status.world_version:
            break
        place = f"{company_name(window.seat)} at world version {window.version}"
        seats[window.version].add(window.seat)
        if window.status not in SETTLED:
            yield f"the window of {place} is settled as {window.status}"
        # Decoding checks the decision against its digest.
        if (window.decision is None) is (window.status is CompanyWindowStatus.SEALED):
            yield f"the window of {place} is {window.status}, and a decision does not fit that"
        if window.candidate != planned.lineup[window.seat - 1]:
            yield f"{place} was played by {window.candidate}, who does not sit there"
    for version in range(status.world_version):
        if frozenset(seats[version]) != worlds.active.get(version):
            yield f"the companies that decided at world version {version} are not those in business"


class _Accounts:
    """The companies' cash from day to day, and their totals."""

    def __init__(self, scenario: Scenario, companies: int) -> None:
        self.totals = Totals(companies)
        self.exits: dict[int, int] = {}
        self._cash = dict.fromkeys(range(1, companies + 1), scenario.initial_cash_cents)

    def read(self, run: RunStore, status: RunStatus, worlds: _Boundaries) -> Iterator[str]:
        days = takewhile(lambda day: day.day <= status.day, run.day_records())
        last = 0
        for last, record in enumerate(days, start=1):
            if record.day != last:
                yield f"day {last} is missing"
                return
            if worlds.digests.get(last, record.state_digest) != record.state_digest:
                yield f"day {last} ends in another world than the one that is stored"
            yield from self._day_faults(record)
        if last != status.day:
            yield f"it stands on day {status.day}, and has {last} days"
        yield from _column_faults(run, status)
        if dict(status.exits) != self.exits:
            yield "the companies that left are not those whose records say so"

    def _day_faults(self, record: DayRecord) -> Iterator[str]:
        self.totals.add([record])
        for company in record.companies:
            place = f"the accounts of {company_name(company.seat)} on day {record.day}"
            gap = company.opening_cash_cents - self._cash[company.seat]
            if gap:
                yield f"{place} open {gap} cents away from where the day before closed"
            gap = company.closing_cash_cents - company.opening_cash_cents - company.ledger.net_cents
            if gap:
                yield f"{place} do not close: {gap} cents are unexplained"
            self._cash[company.seat] = company.closing_cash_cents
            if company.exited:
                self.exits[company.seat] = record.day


def _column_faults(run: RunStore, status: RunStatus) -> Iterator[str]:
    for day in run.company_days():
        if day.day <= status.day and dict(day.columns) != company_day_columns(day.record()):
            yield f"the columns of {company_name(day.seat)} on day {day.day} are not its record's"


def _outcome_faults(
    run: RunStore,
    planned: PlannedRun,
    scenario: Scenario,
    status: RunStatus,
    worlds: _Boundaries,
    accounts: _Accounts,
) -> Iterator[str]:
    found: Sequence[object] = run.outcomes()
    if status.status is not RunState.COMPLETED:
        if found and run.status().status is not RunState.COMPLETED:
            yield f"it is {status.status}, and has outcomes"
        return
    if status.day != scenario.horizon_days or worlds.last is None:
        yield f"it is completed on day {status.day} of {scenario.horizon_days}"
        return
    campaign = run.key.campaign
    try:
        due = company_outcomes(campaign, planned, scenario, worlds.last, accounts.totals)
    except IntegrityError as error:
        yield error.message
        return
    if found != due:
        yield "its outcomes do not follow from its days"
