"""A world of the reference: the state, and what a day needs besides."""

from dataclasses import dataclass

from engine.parameters import Phase, Product, Segment
from engine.records import CompanyDay
from engine.scenario import Scenario
from engine.state import FirmState, Signal, WorldState
from engine.streams import Streams


@dataclass
class Company:
    """One company in its seat; `books` are open for the next day, or for today."""

    seat: int
    firm: FirmState
    books: CompanyDay
    capacity_left: int = 0


@dataclass
class Market:
    """One world; `signals` has those of all days since day 0."""

    scenario: Scenario
    streams: Streams
    state: WorldState
    companies: list[Company]
    signals: list[Signal]

    @property
    def day(self) -> int:
        return self.state.day

    @property
    def phase(self) -> Phase:
        return self.scenario.phases.states[self.state.phase]

    @property
    def products(self) -> tuple[Product, ...]:
        return self.scenario.products

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self.scenario.segments

    @property
    def active(self) -> list[Company]:
        """The companies that have not left, by seat."""
        return [company for company in self.companies if company.firm.active]


def units_per_day(market: Market, company: Company) -> int:
    """Q of the installed tier."""
    return market.scenario.capacity.tiers[company.firm.tier].units_per_day


def queued_units(company: Company) -> int:
    """All units in the queue, consumer and enterprise."""
    return sum(order.units for order in company.firm.queue)
