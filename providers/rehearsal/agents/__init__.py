"""The scripted agents, by the model id under which the gateway offers each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from providers.rehearsal.agents.analyst import analyst
from providers.rehearsal.agents.apprentice import apprentice
from providers.rehearsal.agents.bidder import bidder
from providers.rehearsal.agents.builder import builder
from providers.rehearsal.agents.diarist import diarist
from providers.rehearsal.agents.gambler import gambler
from providers.rehearsal.agents.minimalist import minimalist
from providers.rehearsal.agents.researcher import researcher
from providers.rehearsal.agents.script import Agent
from providers.rehearsal.agents.trader import trader

PREFIX: Final = "rehearsal-"

AGENTS: Final[Mapping[str, Agent]] = MappingProxyType(
    {
        f"{PREFIX}{agent.__name__}": agent
        for agent in (
            analyst,
            trader,
            builder,
            researcher,
            bidder,
            diarist,
            gambler,
            minimalist,
            apprentice,
        )
    }
)
