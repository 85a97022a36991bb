"""Which market is played: the evaluated one, or a scenario of one's own and where it differs."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from engine.scenario import Scenario, default_scenario, load_scenario
from manifests.errors import InputError

LONGEST_HORIZON: Final = 100_000
"""The most days that a scenario may last."""


@dataclass(frozen=True, slots=True)
class Change:
    """A parameter that differs from the evaluated market; None where one side lacks it."""

    path: str
    evaluated: Any
    here: Any

    def __str__(self) -> str:
        return f"{self.path}: {json.dumps(self.evaluated)} -> {json.dumps(self.here)}"


@dataclass(frozen=True, slots=True)
class PlayedMarket:
    """The market of a world or campaign; `evaluated` says whether its parameters are those of the
    evaluated market, for however many days.
    """

    scenario: str
    digest: str
    days: int
    evaluated: bool

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """What a scenario is."""
        evaluated = scenario == default_scenario().with_horizon(scenario.horizon_days)
        return cls(scenario.name, scenario.digest, scenario.horizon_days, evaluated)

    def __str__(self) -> str:
        own = "" if self.evaluated else f", a market of your own ({self.digest[:19]}...)"
        return f"{self.scenario}, {self.days} days{own}"

    def to_json(self) -> dict[str, Any]:
        """The market as plain JSON, keys as the fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """A valid scenario file, and how its market differs from the evaluated one."""

    name: str
    digest: str
    days: int
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON, keys as the fields."""
        return asdict(self)


def chosen_scenario(file: Path | None, days: int | None) -> Scenario:
    """The scenario of a file, or the evaluated one, for a number of days if one is given.

    Raises:
        InputError: an unreadable or invalid file, or a number of days that no world can last.
    """
    scenario = default_scenario() if file is None else load_scenario(file)
    if days is None:
        return scenario
    if not 1 <= days <= LONGEST_HORIZON:
        raise InputError(
            f"--days: a world cannot last {days} days.", f"Give 1 to {LONGEST_HORIZON:,} days."
        )
    return scenario.with_horizon(days)


def scenario_report(file: Path) -> ScenarioReport:
    """Check a scenario file and compare it, parameter by parameter. Raises InputError."""
    scenario = load_scenario(file)
    here = dict(_leaves("", scenario.to_data()))
    evaluated = dict(_leaves("", default_scenario().to_data()))
    changes = tuple(
        Change(path, evaluated.get(path), here.get(path))
        for path in dict.fromkeys([*evaluated, *here])
        if evaluated.get(path) != here.get(path)
    )
    return ScenarioReport(scenario.name, scenario.digest, scenario.horizon_days, changes)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parameters by path, such as `segments.premium.price_weight`."""
    match value:
        case dict():
            for key, member in value.items():
                yield from _leaves(f"{path}.{key}" if path else key, member)
        case list():
            for number, member in enumerate(value):
                name = member["id"] if isinstance(member, dict) and "id" in member else number
                yield from _leaves(f"{path}.{name}", member)
        case _:
            yield path, value
