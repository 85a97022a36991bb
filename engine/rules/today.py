"""The working frame: what the rules share while they settle a window, day by day. It ends with
the window.
"""

from __future__ import annotations

import math

from engine.records import CompanyDay
from engine.rules.conditions import Conditions
from engine.rules.knowledge import product_quality
from engine.scenario import Scenario
from engine.state import FirmState, WorldState
from engine.streams import Streams


class Company:
    """One active company during a window: its state, today's record, and what is left of today's
    capacity.

    Effective prices hold for the whole window: only a decision changes them.
    """

    __slots__ = ("capacity_left", "firm", "log_awareness", "prices", "quality", "record", "seat")

    def __init__(self, seat: int, firm: FirmState) -> None:
        self.seat = seat
        self.firm = firm
        self.prices = [
            price - promotion
            for price, promotion in zip(firm.price_cents, firm.promotion_cents, strict=True)
        ]
        self.record: CompanyDay
        self.capacity_left = 0
        self.quality: list[float] = []
        self.log_awareness: list[float] = []

    def prepare_to_sell(self, scenario: Scenario) -> None:
        """Fix today's capacity, qualities and awareness, once steps 2 and 3 have updated them
        (section 1).
        """
        firm = self.firm
        self.capacity_left = scenario.capacity.tiers[firm.tier].units_per_day
        self.record.capacity_units = self.capacity_left
        self.quality = [
            product_quality(scenario, product, knowledge)
            for product, knowledge in enumerate(firm.knowledge_cents)
        ]
        floor = scenario.advertising.awareness_floor
        self.log_awareness = [
            math.log(max(1.0 - math.exp(-goodwill), floor)) for goodwill in firm.goodwill
        ]


class Today:
    """One day of one world; ``companies`` are those active at its beginning, in seat order."""

    __slots__ = ("companies", "conditions", "day", "scenario", "state", "streams")

    def __init__(
        self,
        scenario: Scenario,
        streams: Streams,
        state: WorldState,
        conditions: Conditions,
        companies: list[Company],
    ) -> None:
        self.scenario = scenario
        self.streams = streams
        self.state = state
        self.day = state.day
        self.conditions = conditions
        self.companies = companies
