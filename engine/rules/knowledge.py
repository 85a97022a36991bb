"""Knowledge capital, quality, and innovation projects (market.md section 4)."""

from __future__ import annotations

import math

from engine.distributions import normal
from engine.records import CompanyDay, Completion
from engine.scenario import Scenario
from engine.state import FirmState, InnovationProject, Maturing
from engine.streams import Streams


def product_quality(scenario: Scenario, product: int, knowledge_cents: float) -> float:
    """q = q0 + gain ln(1 + K / scale)."""
    knowledge = scenario.knowledge
    gained = math.log(1.0 + knowledge_cents / knowledge.scale_cents)
    return scenario.products[product].base_quality + knowledge.quality_gain * gained


def start_innovation(
    scenario: Scenario, streams: Streams, firm: FirmState, seat: int, tier: int, day: int
) -> InnovationProject:
    """Place a project at boundary ``day``; its length and gain are drawn now and stay hidden.

    Length is max(1, round(L e^Z)) days, the gain max(1, round(J e^Z')) cents with a
    mean-correcting shift of Z'.
    """
    innovation = scenario.innovation
    terms = innovation.tiers[tier - 1]
    length_draw, gain_draw = streams.bounded("innovation", seat, day, 2)
    length = terms.median_days * math.exp(innovation.duration_log_sd * normal(length_draw))
    shift = -(innovation.gain_log_sd**2) / 2.0
    gain = terms.expected_gain_cents * math.exp(shift + innovation.gain_log_sd * normal(gain_draw))
    project = InnovationProject(
        project_id=f"innovation-{day:03d}",
        tier=tier,
        started_day=day,
        due_day=day + max(1, round(length)),
        gain_cents=max(1, round(gain)),
    )
    firm.innovation_projects.append(project)
    return project


def mature(scenario: Scenario, firm: FirmState, day: int, record: CompanyDay) -> list[float]:
    """Complete what is due today; returns the knowledge that takes effect, cents by product."""
    products = len(scenario.products)
    matured = [0.0] * products
    if firm.maturing and firm.maturing[0].due_day <= day:
        for item in firm.maturing:
            if item.due_day == day:
                matured[item.product] += item.knowledge_cents
        firm.maturing = [item for item in firm.maturing if item.due_day > day]
    if firm.innovation_projects:
        for project in firm.innovation_projects:
            if project.due_day == day:
                for product in range(products):
                    matured[product] += project.gain_cents / products
                record.completions.append(
                    Completion(
                        "innovation_project",
                        project.project_id,
                        knowledge_gain_cents=project.gain_cents,
                    )
                )
        firm.innovation_projects = [
            project for project in firm.innovation_projects if project.due_day > day
        ]
    return matured


def update_knowledge(scenario: Scenario, firm: FirmState, matured: list[float]) -> None:
    """K = (1 - depreciation) (K + matured); never rounded."""
    retained = 1.0 - scenario.knowledge.depreciation
    knowledge = firm.knowledge_cents
    for product, gain in enumerate(matured):
        if knowledge[product] or gain:
            knowledge[product] = retained * (knowledge[product] + gain)


def buy_development(scenario: Scenario, firm: FirmState, day: int) -> int:
    """Place today's development spend in the pipeline; returns the cents spent."""
    spent = 0
    for product, budget in enumerate(firm.development_cents):
        if budget > 0:
            spent += budget
            bought = max(1, round(scenario.knowledge.development_yield * budget))
            firm.maturing.append(
                Maturing(day + scenario.knowledge.maturation_days, product, bought)
            )
    return spent
