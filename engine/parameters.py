"""The parameters of a market, by mechanism: frozen data, each value within what rules can bear.

Money is in integer cents, rates are per day, shares of money are integer basis points so that they
are exact. The sections are those of market.md.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.dataclasses import dataclass

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")]
# Canonical JSON, and so the digest, carries integers exactly up to here.
LARGEST = 2**53 - 1
Cents = Annotated[int, Field(ge=0, le=LARGEST)]
# A thousand million units at ten million dollars each are still a signed 64-bit number of cents.
CentsPerUnit = Annotated[int, Field(ge=0, le=10**9)]
Units = Annotated[int, Field(ge=0, le=10**9)]
TenderUnits = Annotated[int, Field(ge=1, le=10**7)]
Days = Annotated[int, Field(ge=1, le=LARGEST)]
AtLeastOne = Annotated[int, Field(ge=1, le=LARGEST)]
BasisPoints = Annotated[int, Field(ge=0, le=10_000)]
# No rule leaves the range of floating-point numbers within these bounds.
Real = Annotated[float, Field(ge=-1e6, le=1e6)]
Nonnegative = Annotated[float, Field(ge=0, le=1e6)]
Positive = Annotated[float, Field(gt=0, le=1e6)]
Factor = Annotated[float, Field(gt=0, le=100)]
Rate = Annotated[float, Field(ge=0, le=100)]
Exponent = Annotated[float, Field(gt=0, le=4)]
LogDeviation = Annotated[float, Field(ge=0, le=5)]
Share = Annotated[float, Field(ge=0, le=1)]


STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
"""An unknown field, a wrong type, NaN or infinity is an error."""


@dataclass(frozen=True, config=STRICT)
class Macro:
    """Mean-reverting macro index m (section 2)."""

    mean: Factor
    reversion: Share
    volatility: Rate
    floor: Factor
    response_floor: Factor


@dataclass(frozen=True, config=STRICT)
class Phase:
    """One market phase z; ``mix`` is omega_hz by segment (section 2)."""

    id: Identifier
    demand: Factor
    mix: dict[Identifier, Positive]
    price_weight: Positive
    quality_weight: Positive
    service_weight: Positive
    quality_shift: Real


@dataclass(frozen=True, config=STRICT)
class Phases:
    """The phase chain; ``mean_days`` null means that the initial phase never ends (section 2)."""

    initial: Identifier
    mean_days: Annotated[float, Field(ge=1)] | None
    states: tuple[Phase, ...]


@dataclass(frozen=True, config=STRICT)
class QualityTrend:
    """Growth of the quality that customers expect: min(cap, per_day * t) (section 2)."""

    per_day: Nonnegative
    cap: Nonnegative


@dataclass(frozen=True, config=STRICT)
class Segment:
    """One consumer segment h (section 2)."""

    id: Identifier
    label: str
    baseline_demand: Positive
    reference_price_cents: Annotated[int, Field(ge=1, le=10**9)]
    price_weight: Positive
    quality_weight: Nonnegative
    service_weight: Nonnegative
    awareness_weight: Nonnegative
    loyalty_weight: Nonnegative
    outside_utility: Real
    expected_quality: Positive
    service_target_days: Positive
    seasonal_amplitude: Annotated[float, Field(ge=0, lt=1)]
    seasonal_period_days: Annotated[float, Field(ge=0.001, le=1e6)]
    macro_sensitivity: Rate
    product_match: dict[Identifier, Real]
    channel_effect: dict[Identifier, Nonnegative]


@dataclass(frozen=True, config=STRICT)
class Product:
    """One product line j (section 2)."""

    id: Identifier
    base_quality: Positive
    initial_price_cents: CentsPerUnit
    purchase_cost_cents: Annotated[int, Field(ge=1, le=10**9)]
    liquidation_value_cents: CentsPerUnit
    holding_cost_cents: CentsPerUnit
    initial_stock: Units
    initial_reorder_target: Units
    procurement_days: Days


@dataclass(frozen=True, config=STRICT)
class CapacityTier:
    """One capacity tier; ``capital_cents`` is cumulative from tier 0 (section 2)."""

    units_per_day: Units
    overhead_cents: Cents
    capital_cents: Cents
    construction_days: Days


@dataclass(frozen=True, config=STRICT)
class Capacity:
    """Capacity ladder, downsizing and cancellation terms (section 5)."""

    tiers: tuple[CapacityTier, ...]
    downsizing_fee_cents: Cents
    downsizing_days: Days
    cancellation_fee_basis_points: BasisPoints
    cancellation_retention_basis_points: BasisPoints


@dataclass(frozen=True, config=STRICT)
class Advertising:
    """Impact, shared attention and goodwill (section 4)."""

    base_cents: AtLeastOne
    exponent: Exponent
    outside_attention: Positive
    goodwill_decay: Share
    attention_gain: Nonnegative
    initial_awareness: Annotated[float, Field(ge=0, lt=1)]
    awareness_floor: Positive


@dataclass(frozen=True, config=STRICT)
class Knowledge:
    """Development spend to knowledge to quality (section 4)."""

    development_yield: Factor
    maturation_days: Days
    depreciation: Share
    quality_gain: Nonnegative
    scale_cents: AtLeastOne


@dataclass(frozen=True, config=STRICT)
class InnovationTier:
    """One innovation project tier; gain is the company total over all products (section 4)."""

    cost_cents: Cents
    median_days: Days
    expected_gain_cents: AtLeastOne


@dataclass(frozen=True, config=STRICT)
class Innovation:
    """Innovation projects; ``max_pending`` null means no limit (section 4)."""

    tiers: tuple[InnovationTier, ...]
    duration_log_sd: LogDeviation
    gain_log_sd: LogDeviation
    max_pending: AtLeastOne | None


@dataclass(frozen=True, config=STRICT)
class Choice:
    """Logit stabilization and same-day switching (section 3)."""

    utility_floor: Annotated[float, Field(lt=0)]
    switching_share: Share


@dataclass(frozen=True, config=STRICT)
class Tenders:
    """Enterprise tenders (section 6)."""

    interval_days: Days
    bidding_days: Days
    delivery_days: Days
    size_units: TenderUnits
    minimum_share: Share
    maximum_share: Share
    quality_margin: Nonnegative
    reservation_markup: Factor
    penalty_basis_points: BasisPoints


@dataclass(frozen=True, config=STRICT)
class Service:
    """Failures, support, satisfaction and loyalty (section 7)."""

    failure_floor: Share
    failure_base: Share
    reliability_scale_cents: AtLeastOne
    utilization_knee: Nonnegative
    utilization_factor: Nonnegative
    failure_cost_cents: CentsPerUnit
    ticket_rate: Rate
    tickets_per_failure: Rate
    support_tickets: Nonnegative
    support_base_cents: AtLeastOne
    price_penalty: Nonnegative
    wait_penalty: Nonnegative
    loss_aversion: Positive
    satisfaction_memory: Share
    loyalty_memory: Share
    abandonment: Share


@dataclass(frozen=True, config=STRICT)
class ResearchLevel:
    """One level of paid market research (section 8)."""

    cost_cents: Cents
    delay_days: Days
    log_sd: Annotated[float, Field(gt=0, le=5)]


@dataclass(frozen=True, config=STRICT)
class Information:
    """Research, beliefs and the delayed public signal (section 8)."""

    research_levels: tuple[ResearchLevel, ...]
    signal_delay_days: Days
    prior_variation: Factor
    quality_prior_mean: Positive
    quality_prior_variance: Positive
    belief_drift: Rate
    denominator_floor: Annotated[float, Field(gt=0, le=1)]
