"""No Action: the CEO that never changes anything (interface.md section 8)."""

from __future__ import annotations

from typing import ClassVar

from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.base import Policy


class NoAction(Policy):
    """An empty decision every window: standing policies stay as the scenario set them."""

    name: ClassVar[str] = "no-action"
    version: ClassVar[str] = "v1"

    @property
    def identity(self) -> str:
        """``rule-ceo-noop-v1``; there are no parameters to hash."""
        return f"rule-ceo-noop-{self.version}"

    def decide(self, observation: Observation) -> CompanyDecision:
        return self.hold(observation)
