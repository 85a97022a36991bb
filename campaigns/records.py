"""What a finished run leaves for the analysis: one record for each company."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanyOutcome:
    """How one company ended in one run; money in integer US cents.

    The first group of fields is the run's place in the campaign, as in `plan.PlannedRun`.
    `exit_day` is the day of bankruptcy or None. `net_outlays_cents` are all outlays less all
    refunds. On-hand and paid inbound stock at the end make `salvage_cents`, stock on day 0 makes
    `initial_stock_cents`, both at liquidation value. `consumer_orders` counts the units that
    consumers ordered, `fulfilled_units` the consumer and enterprise units delivered.
    """

    campaign: str
    run_id: str
    group: str
    repeat: int
    seed: int
    lineup_label: str
    replaced: str | None = None
    baseline: str | None = None
    stage: str | None = None
    seat: int
    candidate: str
    score_cents: int
    initial_cash_cents: int
    initial_stock_cents: int
    revenue_cents: int
    net_outlays_cents: int
    terminal_cash_cents: int
    salvage_cents: int
    exit_day: int | None = None
    consumer_orders: int
    fulfilled_units: int

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
        return asdict(self)
