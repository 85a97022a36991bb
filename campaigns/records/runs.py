"""The runs of a campaign as they stand, and how each of their companies ended."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from campaigns.records.columns import CandidateId, Cents, Count, Record, RunId, Seat


class RunRecord(Record, frozen=True, kw_only=True):
    """One planned run: its place in the campaign, as in `plan.PlannedRun`, and how far it is."""

    run_id: RunId
    campaign: str
    group: str
    repeat: Annotated[int, Meta(description="Counted from 1.", ge=1)]
    seed: int
    lineup_label: str
    lineup: Annotated[tuple[str, ...], Meta(description="Candidates by seat, seat 1 first.")]
    replaced: Annotated[str | None, Meta(description="The candidate left out, null for none.")]
    baseline: Annotated[str | None, Meta(description="Who has the seat of the one left out.")]
    stage: Annotated[str | None, Meta(description="In a search: development or validation.")]
    status: Annotated[str, Meta(description="planned, queued, running, paused, ...")]
    reason: Annotated[str, Meta(description="Why it is paused or stopped, else empty.")]
    day: Annotated[int, Meta(description="Days that are settled.", ge=0)]
    world_version: Annotated[int, Meta(description="Windows that are settled.", ge=0)]


class CompanyOutcome(Record, frozen=True, kw_only=True):
    """How one company ended in one run; money in integer US cents.

    The first group of fields is the run's place in the campaign, as in `plan.PlannedRun`.
    """

    campaign: str
    run_id: RunId
    group: str
    repeat: int
    seed: int
    lineup_label: str
    replaced: str | None = None
    baseline: str | None = None
    stage: str | None = None
    seat: Seat
    candidate: CandidateId
    score_cents: Cents
    initial_cash_cents: Cents
    initial_stock_cents: Annotated[
        int, Meta(description="Stock on day 0 at liquidation value, cents.")
    ]
    revenue_cents: Cents
    net_outlays_cents: Annotated[int, Meta(description="All outlays less all refunds, cents.")]
    terminal_cash_cents: Cents
    salvage_cents: Annotated[
        int,
        Meta(description="Stock on hand and paid inbound at the end, at liquidation value."),
    ]
    exit_day: Annotated[int | None, Meta(description="The day of bankruptcy, null for none.")] = (
        None
    )
    consumer_orders: Annotated[int, Meta(description="Units that consumers ordered.")]
    fulfilled_units: Annotated[int, Meta(description="Consumer and enterprise units delivered.")]

    @property
    def initial_value_cents(self) -> int:
        """V_0: initial cash and initial stock at liquidation value (evaluation.md section 2)."""
        return self.initial_cash_cents + self.initial_stock_cents

    @property
    def cash_gap_cents(self) -> int:
        """Zero when cash moved by revenue and net outlays alone (market.md section 9)."""
        moved = self.revenue_cents - self.net_outlays_cents
        return self.terminal_cash_cents - self.initial_cash_cents - moved

    @property
    def score_gap_cents(self) -> int:
        """Zero when S = C_T + salvage - V_0 (evaluation.md section 2).

        With both gaps zero also S = revenue - net outlays + salvage - initial stock value.
        """
        valued = self.terminal_cash_cents + self.salvage_cents - self.initial_value_cents
        return self.score_cents - valued

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON, keys as the fields."""
        return msgspec.structs.asdict(self)


class CompanyDayRecord(Record, frozen=True, kw_only=True):
    """The accounts of one company on one settled day: gross cash flows by category, in cents, and
    units. A company has rows up to its exit, the day of the exit included.
    """

    run_id: RunId
    day: Annotated[int, Meta(description="The settled day, counted from 1.", ge=1)]
    seat: Seat
    candidate: CandidateId
    opening_cash_cents: Cents
    closing_cash_cents: Cents
    revenue_cents: Cents
    refunds_cents: Cents
    procurement_cents: Cents
    holding_cents: Cents
    marketing_cents: Cents
    development_cents: Annotated[int, Meta(description="Daily product development, cents.")]
    reliability_cents: Cents
    support_cents: Cents
    overhead_cents: Annotated[int, Meta(description="Overhead of the capacity tier, cents.")]
    projects_cents: Annotated[int, Meta(description="Innovation projects, cents.")]
    capacity_cents: Annotated[int, Meta(description="Capacity capital and fees, cents.")]
    research_cents: Annotated[int, Meta(description="Market research, cents.")]
    remediation_cents: Cents
    penalties_cents: Cents
    consumer_orders: Count
    stockouts: Annotated[int, Meta(description="Consumer units that were asked for and not met.")]
    fulfilled_units: Annotated[int, Meta(description="Consumer and enterprise units delivered.")]
    enterprise_units: Annotated[int, Meta(description="Enterprise units among the delivered.")]
    capacity_units: Annotated[int, Meta(description="Units that could be fulfilled this day.")]
    support_queue: Annotated[int, Meta(description="Tickets waiting at the day's end.")]
    exited: Annotated[bool, Meta(description="Whether the company left the market this day.")]


class MarketDayRecord(Record, frozen=True, kw_only=True):
    """What everyone may know of one settled day. The signal comes late: it is that of
    `signal_day`.
    """

    run_id: RunId
    day: Annotated[int, Meta(description="The settled day, counted from 1.", ge=1)]
    state_digest: Annotated[str, Meta(description="Digest of the world's state at its end.")]
    active_companies: Annotated[int, Meta(description="Companies active when the day began.")]
    signal_day: int
    macro: float
    demand_index: float
    quality_index: float
    tenders_opened: Count
    tenders_awarded: Annotated[int, Meta(description="Tenders closed with a winner this day.")]
    tenders_unfilled: Annotated[int, Meta(description="Tenders closed without one this day.")]
