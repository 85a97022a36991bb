"""Score and its accounting identity (evaluation.md section 2)."""

from __future__ import annotations

from engine.scenario import Scenario
from engine.state import FirmState


def salvage_cents(scenario: Scenario, firm: FirmState) -> int:
    """Liquidation value of stock on hand and paid inbound stock, cents."""
    return sum(
        (firm.stock[product] + firm.inbound_units(product)) * terms.liquidation_value_cents
        for product, terms in enumerate(scenario.products)
    )


def score_cents(scenario: Scenario, firm: FirmState) -> int:
    """S = C_T + salvage - V_0, integer cents; a bankrupt company is valued the same way."""
    return firm.cash_cents + salvage_cents(scenario, firm) - scenario.initial_value_cents
