"""The search for Rule's profile (interface.md section 8), whole or on a chosen part of its grid."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from campaigns.definition import CampaignDefinition, Profile, load_definition, parse_definition

RULE_SEARCH: Final = "rule-search"


def profiles() -> tuple[Profile, ...]:
    """The grid of the library campaign: 24 profiles, numbered from 1, the cash floor fastest."""
    definition = load_definition(RULE_SEARCH)
    return definition.search.grid() if definition.search is not None else ()


def rule_search_definition(
    *,
    name: str = RULE_SEARCH,
    seeds: Sequence[int] | None = None,
    profiles: Sequence[int] | None = None,
    scenario: Path | None = None,
) -> CampaignDefinition:
    """The library campaign with other seeds, some of its profiles, or in another scenario.

    None keeps what the library says.

    Raises:
        InputError: a seed or profile twice, none of them, a negative seed, or a profile that the
            grid does not have.
    """
    data: dict[str, Any] = load_definition(RULE_SEARCH).model_dump(mode="json", exclude_unset=True)
    changes = {
        "name": name,
        "seeds": seeds,
        "scenario": None if scenario is None else str(scenario.absolute()),
    }
    data |= _given(changes)
    data["search"] |= _given({"profiles": profiles})
    return parse_definition(data, f"the search {name}")


def _given(changes: dict[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for key, value in changes.items()
        if value is not None
    }
