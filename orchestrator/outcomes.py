"""How the companies of a run ended: totals over its days and the terminal valuation.

Used by the world that plays a run and by the replay that checks it, each on its own records.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.score import salvage_cents, score_cents
from engine.state import WorldState
from manifests.errors import DEFECT, IntegrityError


@dataclass(slots=True)
class CompanyTotals:
    """One company's sums over some days; money in cents."""

    revenue_cents: int = 0
    net_outlays_cents: int = 0
    consumer_orders: int = 0
    fulfilled_units: int = 0


class Totals:
    """The sums of every company of a world over the days that were added, in any order."""

    def __init__(self, companies: int) -> None:
        self.companies = [CompanyTotals() for _ in range(companies)]

    def add(self, days: Iterable[DayRecord]) -> None:
        """Count these days; a day must not be added twice."""
        for day in days:
            for company in day.companies:
                totals, ledger = self.companies[company.seat - 1], company.ledger
                totals.revenue_cents += ledger.revenue_cents
                totals.net_outlays_cents += ledger.outlays_cents - ledger.refunds_cents
                for product in company.products:
                    totals.consumer_orders += product.orders
                    totals.fulfilled_units += product.fulfilled_units


def company_outcomes(
    campaign: str, planned: PlannedRun, scenario: Scenario, state: WorldState, totals: Totals
) -> list[CompanyOutcome]:
    """The outcome of every company, by seat; `totals` covers all days up to the terminal `state`.

    Raises:
        IntegrityError: a company's cash or Score does not follow from its flows, to the cent.
    """
    initial_stock = scenario.initial_value_cents - scenario.initial_cash_cents
    outcomes = [
        CompanyOutcome(
            campaign=campaign,
            run_id=planned.run_id,
            group=planned.group,
            repeat=planned.repeat,
            seed=planned.seed,
            lineup_label=planned.lineup_label,
            replaced=planned.replaced,
            baseline=planned.baseline,
            stage=planned.stage,
            seat=seat,
            candidate=candidate,
            score_cents=score_cents(scenario, firm),
            initial_cash_cents=scenario.initial_cash_cents,
            initial_stock_cents=initial_stock,
            revenue_cents=sums.revenue_cents,
            net_outlays_cents=sums.net_outlays_cents,
            terminal_cash_cents=firm.cash_cents,
            salvage_cents=salvage_cents(scenario, firm),
            exit_day=firm.exit_day,
            consumer_orders=sums.consumer_orders,
            fulfilled_units=sums.fulfilled_units,
        )
        for seat, (candidate, firm, sums) in enumerate(
            zip(planned.lineup, state.firms, totals.companies, strict=True), start=1
        )
    ]
    for outcome in outcomes:
        if outcome.cash_gap_cents or outcome.score_gap_cents:
            raise IntegrityError(
                f"The accounts of company-{outcome.seat} in run {planned.run_id} do not close: "
                f"{outcome.cash_gap_cents} cents of cash and {outcome.score_gap_cents} cents of "
                "Score are unexplained.",
                DEFECT,
            )
    return outcomes
