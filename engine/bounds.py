"""How much money a run can account for: what keeps its books within 64 bits, wherever they go.

No parameter alone bounds what customers pay: that follows from what they feel. So days are held to
limits from which all else follows. Nobody spends more than there was and came in, the day of an
exit apart, and a unit costs a cent or more: cash, Scores, stocks and the totals of a run then stay
below 2**63.
"""

from __future__ import annotations

from typing import Final

from engine.decision import company_name
from engine.records import CompanyDay
from engine.scenario import Scenario
from engine.score import salvage_cents
from engine.state import FirmState
from manifests.errors import InputError

MOST_CENTS: Final = 2**61
"""All that a company may take in during a run, spend on one day, or have in stock."""


class MarketOverflow(InputError):
    """A company of this scenario came to more money than the books can carry."""


def check_flows(scenario: Scenario, day: int, record: CompanyDay) -> None:
    """Raise MarketOverflow when a company-day moved more than a run can account for."""
    ledger = record.ledger
    taken_in, most_a_day = ledger.revenue_cents + ledger.refunds_cents, _most_a_day(scenario)
    if taken_in > most_a_day:
        raise MarketOverflow(
            f"On day {day} {company_name(record.seat)} took in {taken_in:,} cents; the books of "
            f"{scenario.horizon_days} days carry {most_a_day:,} a day.",
            "Let the scenario's customers mind prices: raise price_weight or outside_utility of "
            "its segments. Or lower units_per_day of its capacity.tiers.",
        )
    if ledger.outlays_cents > MOST_CENTS:
        raise MarketOverflow(
            f"On day {day} {company_name(record.seat)} spent {ledger.outlays_cents:,} cents; the "
            f"books carry {MOST_CENTS:,}.",
            "Lower the costs of the scenario, such as holding_cost_cents of its products, or the "
            "number of its segments and channels, each of which has a budget.",
        )


def check_stock(scenario: Scenario, day: int, seat: int, firm: FirmState) -> None:
    """Raise MarketOverflow when a company's goods are worth more than a Score can say."""
    value = salvage_cents(scenario, firm)
    if value > MOST_CENTS:
        raise MarketOverflow(
            f"On day {day} {company_name(seat)} has goods for {value:,} cents, at their "
            f"liquidation value; the books carry {MOST_CENTS:,}.",
            "Lower liquidation_value_cents of the scenario's products, or raise their "
            "purchase_cost_cents.",
        )


def _most_a_day(scenario: Scenario) -> int:
    return MOST_CENTS // scenario.horizon_days
