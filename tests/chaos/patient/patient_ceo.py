"""A policy that takes its time, so that there is time to do something to its campaign meanwhile; it
waits for ever while its test holds it.
"""

import tempfile
import time
from pathlib import Path
from typing import Final

from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.price_follower import PriceFollower

SECONDS: Final = 0.1
HOLD: Final = Path(tempfile.gettempdir()) / "hold"
"""Nobody decides while this file is there; every test has a temporary directory of its own."""


class Patient(PriceFollower):
    """Decides as the price follower does, later."""

    name = "patient"

    def decide(self, observation: Observation) -> CompanyDecision:
        time.sleep(SECONDS)
        while HOLD.exists():
            time.sleep(SECONDS)
        return super().decide(observation)
