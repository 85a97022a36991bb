"""A small campaign with real worlds of two companies, one of which soon goes bankrupt."""

import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome
from engine.decision import CompanyDecision, ProductSettings, ResearchRequest
from engine.scenario import default_scenario
from engine.settle import initial_state, settle_window
from engine.state import WorldState, decode_state, encode_state
from engine.streams import Streams
from manifests.model import CampaignManifest, freeze
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.store import CompanyWindow, Lease, RunKey, RunStore, Store, WindowCommit
from orchestrator.store.schema import metadata
from tests.manifests import samples

CAMPAIGN = "trial"
LINEUP = ("grower", "talker")
WINDOWS = 3
BANKRUPT_SEAT = 2
RUIN_CENTS = 10**9


def planned_run(run_id: str = "trial-s11-reference", position: int = 0) -> PlannedRun:
    return PlannedRun(
        run_id=run_id,
        position=position,
        group="trial",
        repeat=1,
        seed=11,
        seed_position=0,
        lineup_label="reference",
        lineup=LINEUP,
    )


RUNS = (planned_run(), planned_run("trial-s11-without-talker", 1))
KEY = RunKey(CAMPAIGN, RUNS[0].run_id)
OTHER_KEY = RunKey(CAMPAIGN, RUNS[1].run_id)


def manifest_of(
    planned: Sequence[PlannedRun] = RUNS, campaign: str = CAMPAIGN, release: str = "spring"
) -> CampaignManifest:
    runs = tuple(
        samples.run(run.run_id, run.position, run.seed, dict(enumerate(LINEUP, start=1)))
        for run in planned
    )
    return freeze(
        samples.decisive(runs=runs, release=release), samples.provenance(campaign=campaign)
    )


def create_campaign(store: Store, campaign: str = CAMPAIGN) -> None:
    store.catalogue.create_campaign(manifest_of(campaign=campaign), RUNS)


def first_state() -> WorldState:
    return initial_state(default_scenario(), Streams(11), len(LINEUP))


def decision(seat: int, version: int) -> CompanyDecision:
    """What the company in a seat decides: the second one ruins itself in its second window."""
    ruin = seat == BANKRUPT_SEAT and version == 1
    return CompanyDecision(
        company_id=f"company-{seat}",
        world_version=version,
        products={"A": ProductSettings(price_cents=5_000 + 10 * version)},
        support_budget_cents=RUIN_CENTS if ruin else 1_000,
        research=(ResearchRequest(segment_id="value", level=1),),
    )


@cache
def _played(windows: int) -> tuple[bytes, WindowCommit]:
    before = first_state() if windows == 0 else decode_state(_played(windows - 1)[0])
    closed = [
        CompanyWindow.closed(
            version=windows,
            seat=seat,
            status=CompanyWindowStatus.SEALED,
            candidate=LINEUP[seat - 1],
            identity=f"{LINEUP[seat - 1]}-v1",
            decision=decision(seat, windows),
        )
        for seat, firm in enumerate(before.firms, start=1)
        if firm.active
    ]
    settled = settle_window(
        default_scenario(), Streams(11), before, {window.seat: window.decision for window in closed}
    )
    return encode_state(settled.state), WindowCommit(
        version_before=windows,
        decisions=closed,
        receipts=settled.receipts,
        days=settled.days,
        state=settled.state,
        outcomes=outcomes() if windows == WINDOWS - 1 else None,
    )


def window(version: int) -> WindowCommit:
    """The window that opens at a world version; that of version 2 is the last one."""
    return _played(version)[1]


def outcomes(run: PlannedRun = RUNS[0]) -> list[CompanyOutcome]:
    return [
        CompanyOutcome(
            campaign=CAMPAIGN,
            run_id=run.run_id,
            group=run.group,
            repeat=run.repeat,
            seed=run.seed,
            lineup_label=run.lineup_label,
            seat=seat,
            candidate=candidate,
            score_cents=-(2**60) if seat == BANKRUPT_SEAT else 12_345,
            initial_cash_cents=50_000_000,
            initial_stock_cents=1_600_000,
            revenue_cents=7,
            net_outlays_cents=8,
            terminal_cash_cents=-9,
            salvage_cents=10,
            exit_day=8 if seat == BANKRUPT_SEAT else None,
            consumer_orders=11,
            fulfilled_units=12,
        )
        for seat, candidate in enumerate(run.lineup, start=1)
    ]


def start(run: RunStore, owner: str = "host-1", seconds: float = 60) -> Lease:
    """Take a run and bring it to its first boundary."""
    lease = run.acquire(owner, seconds)
    run.set_status(lease, RunState.QUEUED, "")
    run.set_status(lease, RunState.RUNNING, "")
    run.begin(lease, first_state())
    return lease


def play(run: RunStore, lease: Lease, windows: int = WINDOWS) -> None:
    """Commit windows from the last stored boundary up to world version `windows`."""
    latest = run.latest()
    assert latest is not None
    for version in range(latest.version, windows):
        run.commit_window(lease, window(version))


def rewind(path: Path) -> None:
    """Make a database look as it did before the first revision."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        for table in reversed(metadata.sorted_tables):
            connection.execute(f"DROP TABLE {table.name}")
        connection.execute("DELETE FROM alembic_version")
    connection.close()
