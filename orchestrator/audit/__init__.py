"""The audit of a store: all that it repeats, digests or sums is compared (runtime.md section 3).

Nothing is changed, no model is asked, and no day is settled again: that is the replay's part.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from engine.scenario import Scenario
from manifests.errors import ArenaError
from manifests.model import CampaignManifest
from orchestrator.audit.plan import plan_faults
from orchestrator.audit.sessions import session_faults
from orchestrator.audit.settled import settled_faults
from orchestrator.audit.spending import SpendingAudit
from orchestrator.bound import bound_scenario
from orchestrator.store import CampaignRow, RunRow, RunStore, Store


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where: a file, a campaign or a run."""

    place: str
    fault: str

    def __str__(self) -> str:
        return f"{self.place}: {self.fault}"


@dataclass(slots=True)
class AuditReport:
    """What an audit went through, and the problems that it found, in the order of the store."""

    campaigns: int = 0
    runs: int = 0
    windows: int = 0
    days: int = 0
    attempts: int = 0
    problems: list[Problem] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON; `clean` says that there are no problems."""
        return {"clean": not self.problems, **asdict(self)}


def audit_store(store: Store, audited: Callable[[RunRow], None]) -> AuditReport:
    """Audit a whole store; `audited` hears of every run that is done.

    Runs may be played meanwhile: what they settled before they were looked at is audited.
    """
    report = AuditReport()
    report.problems += [Problem(place, fault) for place, fault in store.faults()]
    for campaign in store.catalogue.campaigns():
        report.campaigns += 1
        _audit_campaign(store, campaign, report, audited)
    return report


def _audit_campaign(
    store: Store, campaign: CampaignRow, report: AuditReport, audited: Callable[[RunRow], None]
) -> None:
    name, place = campaign.name, f"campaign {campaign.name}"
    try:
        manifest = store.catalogue.manifest(name)
        scenario = bound_scenario(manifest)
        rows = store.catalogue.runs(name)
    except ArenaError as error:
        report.problems.append(Problem(place, error.message))
        return
    if campaign.plan_hash != manifest.plan_hash:
        report.problems.append(Problem(place, "the catalogue has it under another plan hash"))
    report.problems += [Problem(place, fault) for fault in plan_faults(manifest, rows)]
    spending = SpendingAudit.begin(store, manifest)
    for row in rows:
        report.runs += 1
        run = store.run(row.key)
        try:
            _audit_run(run, row, manifest, scenario, spending, report)
        finally:
            run.close()
        audited(row)
    report.problems += [Problem(place, fault) for fault in spending.ledger_faults(store, name)]


def _audit_run(
    run: RunStore,
    row: RunRow,
    manifest: CampaignManifest,
    scenario: Scenario,
    spending: SpendingAudit,
    report: AuditReport,
) -> None:
    def settled() -> Iterator[str]:
        status = run.status()
        report.windows += status.world_version
        report.days += status.day
        yield from settled_faults(run, row.planned, manifest, scenario, status)

    def sessions() -> Iterator[str]:
        report.attempts += yield from session_faults(run, manifest, row.planned, spending)

    for faults in (settled(), sessions()):
        for fault in _told(faults):
            problem = Problem(str(row.key), fault)
            # What cannot be opened is told once.
            if problem not in report.problems:
                report.problems.append(problem)


def _told(faults: Iterator[str]) -> Iterator[str]:
    """The faults, and as the last one what keeps the audit from looking further."""
    try:
        yield from faults
    except ArenaError as error:
        yield error.message
