"""Capacity quotes: what an adjustment costs and a cancellation returns (market.md section 5).

The quote that a company sees and the settlement that charges it run this code.
"""

from __future__ import annotations

from engine.scenario import Scenario
from engine.state import CapacityProject, FirmState


class CapacityUnavailable(ValueError):
    """A capacity action that the world does not allow; the text says why."""


def capacity_charge(scenario: Scenario, firm: FirmState, target_tier: int) -> int:
    """Cents to pay now for a move to ``target_tier``: capital difference up, fee for each tier
    down.

    Raises CapacityUnavailable for an unknown or the present tier, or while another change is
    pending.
    """
    tiers = scenario.capacity.tiers
    if not 0 <= target_tier < len(tiers):
        raise CapacityUnavailable(
            f"target_tier must be 0..{len(tiers) - 1}, received {target_tier}"
        )
    if target_tier == firm.tier:
        raise CapacityUnavailable(f"tier {target_tier} is already installed")
    pending = firm.pending_capacity
    if pending is not None:
        raise CapacityUnavailable(
            f"{pending.project_id} (to tier {pending.target_tier}, due on day {pending.due_day}) "
            f"is still pending"
        )
    if target_tier > firm.tier:
        return tiers[target_tier].capital_cents - tiers[firm.tier].capital_cents
    return scenario.capacity.downsizing_fee_cents * (firm.tier - target_tier)


def capacity_delay(scenario: Scenario, firm: FirmState, target_tier: int) -> int:
    """Days from decision to effect of a move to ``target_tier``."""
    if target_tier > firm.tier:
        return scenario.capacity.tiers[target_tier].construction_days
    return scenario.capacity.downsizing_days


def cancellation_refund(scenario: Scenario, firm: FirmState, project_id: str, day: int) -> int:
    """Cents returned for cancelling an expansion at the boundary of ``day``; 0 for one already
    canceled.

    Of the prepaid P, with e of L days elapsed: A = floor(fee P), I = A + floor((P - A) e / L), and
    the refund is [P - I - floor(retention P)]+ . Raises CapacityUnavailable for a project that
    cannot be canceled.
    """
    project = find_capacity_project(firm, project_id)
    if not project.is_expansion:
        raise CapacityUnavailable(f"{project_id} is a downsizing and cannot be canceled")
    if project.status == "canceled":
        return 0
    if project.status == "completed" or day >= project.due_day:
        raise CapacityUnavailable(
            f"{project_id} was due on day {project.due_day} and cannot be canceled"
        )
    prepaid = project.prepaid_cents
    fee = prepaid * scenario.capacity.cancellation_fee_basis_points // 10_000
    elapsed, length = day - project.started_day, project.due_day - project.started_day
    incurred = fee + (prepaid - fee) * elapsed // length
    retained = prepaid * scenario.capacity.cancellation_retention_basis_points // 10_000
    return max(0, prepaid - incurred - retained)


def find_capacity_project(firm: FirmState, project_id: str) -> CapacityProject:
    """The company's capacity project of that id, or CapacityUnavailable naming those that exist."""
    for project in firm.capacity_projects:
        if project.project_id == project_id:
            return project
    known = [project.project_id for project in firm.capacity_projects]
    raise CapacityUnavailable(
        f"there is no capacity project {project_id!r}; known: {known or 'none'}"
    )
