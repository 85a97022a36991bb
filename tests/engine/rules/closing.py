"""The evening before a tender closes."""

from engine.records import Award
from engine.scenario import Scenario, default_scenario
from engine.state import Bid, Tender, WorldState
from engine.streams import Streams
from tests.engine.worlds import (
    MEDIANS,
    B,
    new_world,
    settle_day,
)

SCENARIO = default_scenario()
UNITS, RESERVATION_PRICE, MINIMUM_QUALITY = 207, 9375, 0.68


def closing_world(
    scenario: Scenario, bids: list[Bid], firms: int = 1, product: int = B
) -> WorldState:
    """The evening before a tender for 207 units closes on day 7; delivery is due on day 14."""
    state = new_world(scenario, firms)
    state.day = state.version = 6
    state.tenders = [
        Tender("tender-000", product, UNITS, MINIMUM_QUALITY, RESERVATION_PRICE, 0, 7, 14, bids)
    ]
    return state


def award_of(scenario: Scenario, state: WorldState, luck: Streams = MEDIANS) -> Award:
    _, record = settle_day(scenario, state, luck=luck)
    (award,) = record.public.awards
    return award
