"""market.md section 5: capacity changes."""

from engine.records import Completion
from engine.state import CapacityProject
from tests.engine.reference.accounts import earn, pay
from tests.engine.reference.market import Company, Market


def pending_change(company: Company) -> CapacityProject | None:
    """The one change under way."""
    for project in company.firm.capacity_projects:
        if project.status == "pending":
            return project
    return None


def project_named(company: Company, project_id: str) -> CapacityProject | None:
    for project in company.firm.capacity_projects:
        if project.project_id == project_id:
            return project
    return None


def charge_for(market: Market, company: Company, target: int) -> int:
    """The cumulative capital difference upwards, $1,000 per tier downwards."""
    capacity, tier = market.scenario.capacity, company.firm.tier
    if target > tier:
        return capacity.tiers[target].capital_cents - capacity.tiers[tier].capital_cents
    return capacity.downsizing_fee_cents * (tier - target)


def change_capacity(market: Market, company: Company, target: int) -> None:
    """Charge a change now; it acts after the target's construction delay, or after seven days."""
    capacity, firm = market.scenario.capacity, company.firm
    expands = target > firm.tier
    charge = charge_for(market, company, target)
    delay = capacity.tiers[target].construction_days if expands else capacity.downsizing_days
    pay(company, "capacity_cents", charge)
    firm.capacity_projects.append(
        CapacityProject(
            project_id=f"capacity-{market.day:03d}",
            from_tier=firm.tier,
            target_tier=target,
            started_day=market.day,
            due_day=market.day + delay,
            prepaid_cents=charge if expands else 0,
        )
    )


def may_cancel(market: Market, project: CapacityProject) -> bool:
    """Finished, due, and downsizing projects cannot; a canceled one can again, for nothing."""
    expands = project.target_tier > project.from_tier
    unfinished = project.status == "pending" and market.day < project.due_day
    return expands and (unfinished or project.status == "canceled")


def refund_for(market: Market, project: CapacityProject) -> int:
    """[P - I - floor(0.05 P)]+ with A = floor(0.10 P) and I = A + floor((P - A) e / L)."""
    if project.status == "canceled":
        return 0
    capacity, prepaid = market.scenario.capacity, project.prepaid_cents
    elapsed = market.day - project.started_day
    length = project.due_day - project.started_day
    fee = prepaid * capacity.cancellation_fee_basis_points // 10_000
    incurred = fee + (prepaid - fee) * elapsed // length
    retained = prepaid * capacity.cancellation_retention_basis_points // 10_000
    return max(0, prepaid - incurred - retained)


def cancel(market: Market, company: Company, project_id: str) -> None:
    project = project_named(company, project_id)
    assert project is not None
    earn(company, "refunds_cents", refund_for(market, project))
    project.status = "canceled"


def complete_change(market: Market, company: Company) -> None:
    project = pending_change(company)
    if project is not None and project.due_day == market.day:
        project.status = "completed"
        company.firm.tier = project.target_tier
        company.books.completions.append(
            Completion("capacity_project", project.project_id, tier=project.target_tier)
        )


def units_on(market: Market, company: Company, day: int) -> int:
    """The capacity of a coming day, the scheduled change included."""
    tier, project = company.firm.tier, pending_change(company)
    if project is not None and project.due_day <= day:
        tier = project.target_tier
    return market.scenario.capacity.tiers[tier].units_per_day
