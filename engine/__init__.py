"""The economy ``ceos-market-v3``: pure rules, state in, state and records out.

No clock, no network, no database and no model in here. Everything that varies comes in as an
argument: a :class:`~engine.scenario.Scenario`, a seed through :class:`~engine.streams.Streams`,
and the companies' decisions.
"""

ECONOMY_VERSION = "ceos-market-v3"
"""Version of the rules (market.md); bound in every manifest."""

DECISION_VERSION = "ceos-decision-v9"
"""Version of the decision contract (interface.md); bound in every manifest."""
