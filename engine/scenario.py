"""A scenario: every number of the market as frozen, validated data with a digest (market.md).

Rules read their parameters from here and hold no literal of their own. Money is in integer cents,
rates are per day, shares of money are integer basis points so that they are exact. Segments,
products and channels stand in identifier order, because that order decides who gets the last unit
of capacity (market.md section 1).
"""

from __future__ import annotations

import json
import math
from functools import cached_property
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass

from engine.parameters import (
    LARGEST,
    STRICT,
    Advertising,
    Capacity,
    Cents,
    Choice,
    Days,
    Identifier,
    Information,
    Innovation,
    Knowledge,
    Macro,
    Phases,
    Product,
    QualityTrend,
    Segment,
    Service,
    Tenders,
)
from manifests.canonical import digest, parse_json
from manifests.errors import InputError
from manifests.validation import input_error

_MOST_BUYERS = 10**9
"""Of one day, at the best of times; their units are drawn one distribution at a time."""

_WIDEST_DRAW = 8.3
"""Standard deviations; the streams' uniforms reach no further than 8.21."""

_REMEDY = "`ceo-arena scenario show` prints a complete scenario to start from."


@dataclass(frozen=True, config=STRICT)
class Scenario:
    """A complete market definition. ``digest`` identifies it; two equal scenarios have equal
    digests.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    horizon_days: Annotated[int, Field(ge=1, le=100_000)]
    window_days: Days
    initial_cash_cents: Cents
    initial_capacity_tier: Annotated[int, Field(ge=0, le=LARGEST)]
    macro: Macro
    phases: Phases
    quality_trend: QualityTrend
    segments: tuple[Segment, ...]
    products: tuple[Product, ...]
    channels: tuple[Identifier, ...]
    capacity: Capacity
    advertising: Advertising
    knowledge: Knowledge
    innovation: Innovation
    choice: Choice
    tenders: Tenders
    service: Service
    information: Information

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        segments = _ordered("segments", [segment.id for segment in self.segments])
        products = _ordered("products", [product.id for product in self.products])
        channels = _ordered("channels", list(self.channels))
        phases = [phase.id for phase in self.phases.states]
        if len(set(phases)) != len(phases):
            raise ValueError("phases.states: each id may occur once")
        if self.phases.initial not in phases:
            raise ValueError(f"phases.initial: {self.phases.initial!r} is none of {phases}")
        for phase in self.phases.states:
            _same_keys(f"phases.states.{phase.id}.mix", phase.mix, segments)
        for segment in self.segments:
            _same_keys(f"segments.{segment.id}.product_match", segment.product_match, products)
            _same_keys(f"segments.{segment.id}.channel_effect", segment.channel_effect, channels)
        self._consistent_expectations()
        self._consistent_ladders()
        self._consistent_magnitudes()
        return self

    def _consistent_expectations(self) -> None:
        for phase in self.phases.states:
            for segment in self.segments:
                if segment.expected_quality + phase.quality_shift <= 0:
                    raise ValueError(
                        f"phases.states.{phase.id}.quality_shift: makes the expected quality of "
                        f"segment {segment.id} zero or negative"
                    )

    def _consistent_ladders(self) -> None:
        tiers = self.capacity.tiers
        if not tiers:
            raise ValueError("capacity.tiers: at least tier 0 is needed")
        if any(low.capital_cents > high.capital_cents for low, high in pairwise(tiers)):
            raise ValueError(
                "capacity.tiers: capital_cents is cumulative and may not fall from tier to tier"
            )
        if self.initial_capacity_tier >= len(tiers):
            raise ValueError(f"initial_capacity_tier: tiers are 0..{len(tiers) - 1}")
        if self.tenders.minimum_share > self.tenders.maximum_share:
            raise ValueError("tenders.minimum_share: may not exceed maximum_share")
        if self.service.failure_floor > self.service.failure_base:
            raise ValueError("service.failure_floor: may not exceed failure_base")

    def _consistent_magnitudes(self) -> None:
        if self.initial_value_cents > LARGEST:
            raise ValueError(
                f"initial_cash_cents: with the initial stock at its liquidation value it is beyond "
                f"{LARGEST} cents"
            )
        self._consistent_projects()
        macro = self.macro
        # No path comes this high: the sum of all shocks, without reversion, at eight deviations.
        peak = max(macro.mean, macro.floor)
        peak += 8.0 * macro.volatility * math.sqrt(self.horizon_days)
        buyers = sum(
            segment.baseline_demand
            * max(macro.response_floor, 1 + segment.macro_sensitivity * peak)
            for segment in self.segments
        )
        buyers *= 2.0 * max(phase.demand for phase in self.phases.states)
        if buyers > _MOST_BUYERS:
            raise ValueError(
                f"segments: up to {buyers:.1e} purchases a day could be considered, more than "
                f"{_MOST_BUYERS:,}; lower baseline_demand, the demand of a phase, or macro's reach"
            )

    def _consistent_projects(self) -> None:
        innovation = self.innovation
        for number, tier in enumerate(innovation.tiers):
            for field, middle, log_sd in (
                ("median_days", tier.median_days, innovation.duration_log_sd),
                ("expected_gain_cents", tier.expected_gain_cents, innovation.gain_log_sd),
            ):
                if middle * math.exp(_WIDEST_DRAW * log_sd) > LARGEST:
                    raise ValueError(
                        f"innovation.tiers[{number}].{field}: a project may draw more than "
                        f"{LARGEST}; lower it, or the log_sd of its draw"
                    )

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` over the canonical JSON of all parameters."""
        return digest(self.to_data())

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def product_ids(self) -> tuple[str, ...]:
        return tuple(product.id for product in self.products)

    @cached_property
    def segment_ids(self) -> tuple[str, ...]:
        return tuple(segment.id for segment in self.segments)

    @cached_property
    def windows(self) -> int:
        """Number of decision windows: 72 for 500 days of seven (the last has three)."""
        return -(-self.horizon_days // self.window_days)

    @cached_property
    def initial_value_cents(self) -> int:
        """V_0: initial cash plus initial stock at liquidation value (evaluation.md section 2)."""
        stock = sum(
            product.initial_stock * product.liquidation_value_cents for product in self.products
        )
        return self.initial_cash_cents + stock

    def with_horizon(self, days: int) -> Scenario:
        """The same market for ``days`` days; validated like any other."""
        return parse_scenario(self.to_data() | {"horizon_days": days}, "the scenario")

    def to_json(self) -> str:
        """The scenario as an editable JSON document."""
        return json.dumps(self.to_data(), indent=2) + "\n"

    def to_data(self) -> dict[str, Any]:
        """All parameters as JSON values; :func:`parse_scenario` is the inverse."""
        data: dict[str, Any] = _adapter.dump_python(self, mode="json")
        return data


_adapter: TypeAdapter[Scenario] = TypeAdapter(Scenario)


def _ordered(place: str, identifiers: list[str]) -> set[str]:
    if not identifiers:
        raise ValueError(f"{place}: at least one is needed")
    if identifiers != sorted(set(identifiers)):
        raise ValueError(f"{place}: must be unique and in identifier order, got {identifiers}")
    return set(identifiers)


def _same_keys(place: str, mapping: dict[str, float], expected: set[str]) -> None:
    if set(mapping) != expected:
        raise ValueError(f"{place}: needs exactly {sorted(expected)}, got {sorted(mapping)}")


def parse_scenario(data: Any, source: str) -> Scenario:
    """Validate decoded JSON. Raises InputError with one line per problem; ``source`` names the
    document.
    """
    try:
        return _adapter.validate_json(json.dumps(data))
    except ValidationError as error:
        raise input_error(source, error, _REMEDY, repeat_values=True) from None


def load_scenario(path: Path) -> Scenario:
    """Read and validate a scenario file (JSON, UTF-8). Raises InputError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"The scenario file {path} is no text in UTF-8.", _REMEDY) from None
    except OSError as error:
        raise InputError(
            f"The scenario file {path} cannot be read: {error.strerror}.", "Check the path."
        ) from None
    return parse_scenario(parse_json(text, str(path)), str(path))


def default_scenario() -> Scenario:
    """The evaluated market with every number of market.md."""
    text = (
        resources.files("engine").joinpath("data/default_scenario.json").read_text(encoding="utf-8")
    )
    return parse_scenario(json.loads(text), "the default scenario")
