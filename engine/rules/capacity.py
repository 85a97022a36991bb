"""The life of a capacity change: placed, completed, canceled (market.md section 5). Amounts
come from the quotes.
"""

from __future__ import annotations

from engine.quotes import capacity_charge, capacity_delay, find_capacity_project
from engine.records import CompanyDay, Completion
from engine.scenario import Scenario
from engine.state import CapacityProject, FirmState


def place_capacity_change(
    scenario: Scenario, firm: FirmState, target_tier: int, day: int
) -> CapacityProject:
    """Start an expansion or a downsizing at boundary ``day``; only an expansion prepays
    something refundable.
    """
    charge = capacity_charge(scenario, firm, target_tier)
    project = CapacityProject(
        project_id=f"capacity-{day:03d}",
        from_tier=firm.tier,
        target_tier=target_tier,
        started_day=day,
        due_day=day + capacity_delay(scenario, firm, target_tier),
        prepaid_cents=charge if target_tier > firm.tier else 0,
    )
    firm.capacity_projects.append(project)
    return project


def cancel_capacity_project(firm: FirmState, project_id: str) -> None:
    """A canceled project never completes."""
    find_capacity_project(firm, project_id).status = "canceled"


def complete_capacity_change(firm: FirmState, day: int, record: CompanyDay) -> None:
    """Install the tier of a change that is due today."""
    pending = firm.pending_capacity
    if pending is not None and pending.due_day == day:
        pending.status = "completed"
        firm.tier = pending.target_tier
        record.completions.append(
            Completion("capacity_project", pending.project_id, tier=pending.target_tier)
        )


def scheduled_capacity(scenario: Scenario, firm: FirmState, first_day: int, last_day: int) -> int:
    """Units that can be fulfilled on the days first..last together, with the pending change
    taking effect.
    """
    tiers = scenario.capacity.tiers
    days = last_day - first_day + 1
    pending = firm.pending_capacity
    if pending is None or pending.due_day > last_day:
        return days * tiers[firm.tier].units_per_day
    before = max(0, pending.due_day - first_day)
    after = days - before
    return (
        before * tiers[firm.tier].units_per_day + after * tiers[pending.target_tier].units_per_day
    )
