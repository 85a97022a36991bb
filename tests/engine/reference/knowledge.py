"""market.md section 4: knowledge and innovation."""

import math

from engine.records import Completion
from engine.state import InnovationProject, Maturing
from tests.engine.reference import draws
from tests.engine.reference.accounts import pay
from tests.engine.reference.market import Company, Market


def quality(market: Market, company: Company, product: int) -> float:
    """q_ijt = q0_j + 0.18 ln(1 + K_ijt / $50,000)."""
    terms = market.scenario.knowledge
    capital = company.firm.knowledge_cents[product] / terms.scale_cents
    return market.products[product].base_quality + terms.quality_gain * math.log(1 + capital)


def develop(market: Market, company: Company) -> None:
    """Charge today's development budgets, which mature seven days later."""
    terms = market.scenario.knowledge
    for product, budget in enumerate(company.firm.development_cents):
        if budget:
            pay(company, "development_cents", budget)
            bought = max(1, round(terms.development_yield * budget))
            due = market.day + terms.maturation_days
            company.firm.maturing.append(Maturing(due, product, bought))


def start_project(market: Market, company: Company, tier: int) -> None:
    """Pay for an innovation project; its length and its gain are drawn at once."""
    innovation = market.scenario.innovation
    terms = innovation.tiers[tier - 1]
    pay(company, "projects_cents", terms.cost_cents)
    length_shock, gain_shock = draws.innovation(market, company)
    length = terms.median_days * math.exp(innovation.duration_log_sd * length_shock)
    mean = -(innovation.gain_log_sd**2) / 2
    gain = terms.expected_gain_cents * math.exp(mean + innovation.gain_log_sd * gain_shock)
    company.firm.innovation_projects.append(
        InnovationProject(
            project_id=f"innovation-{market.day:03d}",
            tier=tier,
            started_day=market.day,
            due_day=market.day + max(1, round(length)),
            gain_cents=max(1, round(gain)),
        )
    )


def complete_development(market: Market, company: Company) -> None:
    firm = company.firm
    for item in firm.maturing:
        if item.due_day == market.day:
            firm.knowledge_cents[item.product] += item.knowledge_cents
    firm.maturing = [item for item in firm.maturing if item.due_day != market.day]


def complete_projects(market: Market, company: Company) -> None:
    """A project's gain is shared equally by the products."""
    firm = company.firm
    for project in firm.innovation_projects:
        if project.due_day == market.day:
            for product in range(len(market.products)):
                firm.knowledge_cents[product] += project.gain_cents / len(market.products)
            company.books.completions.append(
                Completion(
                    "innovation_project",
                    project.project_id,
                    knowledge_gain_cents=project.gain_cents,
                )
            )
    firm.innovation_projects = [
        project for project in firm.innovation_projects if project.due_day != market.day
    ]


def depreciate(market: Market, company: Company) -> None:
    """K_ijt = (1 - 0.00045) (K_ij,t-1 + matured_ijt), never rounded."""
    kept = 1 - market.scenario.knowledge.depreciation
    company.firm.knowledge_cents = [kept * capital for capital in company.firm.knowledge_cents]
