"""A policy that takes its time, so that there is time to do something to its campaign meanwhile."""

import time
from typing import Final

from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.price_follower import PriceFollower

SECONDS: Final = 0.1


class Patient(PriceFollower):
    """Decides as the price follower does, later."""

    name = "patient"

    def decide(self, observation: Observation) -> CompanyDecision:
        time.sleep(SECONDS)
        return super().decide(observation)
