"""What a company may see, written down a second time, from the contract (interface.md sections 1
and 3) and the engine's raw records alone.

Nothing here uses observations or the project's tables. Of the company's own state it reads what
its books may show, of everything else what is public; each table is given in full, as it must
stand at a boundary.
"""

from collections.abc import Sequence
from typing import Any

from engine.records import CompanyDay, PublicDay
from engine.scenario import Scenario
from engine.state import FirmState, WorldState
from tests.orchestrator.session.played import Moment

Cells = dict[str, Any]


class Authorized:
    """What the company in ``seat`` may see at the last of some moments, the first being day 0."""

    def __init__(self, scenario: Scenario, moments: Sequence[Moment], seat: int) -> None:
        self.scenario = scenario
        self.seat = seat
        self.state: WorldState = moments[-1].state
        self.firm: FirmState = self.state.firms[seat - 1]
        self.first_tenders = moments[0].state.tenders
        self.own_days: list[tuple[int, CompanyDay]] = [
            (day.day, company)
            for moment in moments
            for day in moment.elapsed
            for company in day.companies
            if company.seat == seat
        ]
        self.public_days: list[tuple[int, PublicDay]] = [
            (day.day, day.public) for moment in moments for day in moment.elapsed
        ]
        self.receipts = [
            (number, receipt)
            for moment in moments
            for number, receipt in enumerate(moment.receipts.get(seat, []), start=1)
        ]
        self.projects = {
            project.project_id: project.tier
            for moment in moments
            for project in moment.state.firms[seat - 1].innovation_projects
        }

    @property
    def day(self) -> int:
        return self.state.day
