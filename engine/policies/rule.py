"""The Rule: a fixed plan, restated every window (interface.md section 8).

It reads its own cash, the product catalog and the segment and channel names, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from pydantic import Field, field_validator

from engine.decision import Amount, CompanyDecision
from engine.observation import Catalog, Observation
from engine.policies.base import Parameters, Policy
from engine.policies.bookkeeping import Percent, percent_of, require_segment, spread
from manifests.canonical import digest
from manifests.errors import InputError

CORE_PRODUCT: Final[Mapping[str, str]] = {"value": "A", "mainstream": "B", "premium": "C"}
"""The product that the Rule develops for its target segment."""


class RuleParameters(Parameters):
    """The Rule's plan; the defaults are the evaluated profile. Budgets are daily cents.

    ``price_multiplier_percent`` is the multiplier m of the initial prices: 100 stands for 1.0.
    ``cash_floor_cents`` is the floor F: at or below it, development and marketing stop.
    """

    price_multiplier_percent: Percent = 100
    focus_segment: str = "mainstream"
    reorder_targets: dict[str, Amount] = Field(
        default_factory=lambda: {"A": 150, "B": 100, "C": 50}
    )
    development_cents: Amount = 5_000
    marketing_cents: Amount = 5_000
    reliability_cents: Amount = 2_500
    support_cents: Amount = 5_000
    cash_floor_cents: Amount = 5_000_000

    @field_validator("focus_segment")
    @classmethod
    def _has_core_product(cls, segment_id: str) -> str:
        if segment_id not in CORE_PRODUCT:
            raise ValueError(f"must be one of {', '.join(sorted(CORE_PRODUCT))}")
        return segment_id


class Rule(Policy):
    """The deterministic baseline CEO. A price's fraction of a cent is dropped."""

    name: ClassVar[str] = "rule"
    version: ClassVar[str] = "v3"
    parameters_type = RuleParameters
    parameters: RuleParameters

    @property
    def identity(self) -> str:
        """``rule-ceo-fixed-v3-`` and the first 12 hex digits of the parameters' digest."""
        parameters_digest = digest(self.parameters.model_dump(mode="json")).removeprefix("sha256:")
        return f"rule-ceo-fixed-{self.version}-{parameters_digest[:12]}"

    def check(self, catalog: Catalog) -> None:
        """Raise InputError when the scenario lacks a segment or product of the parameters."""
        parameters = self.parameters
        require_segment(self.name, "focus_segment", parameters.focus_segment, catalog)
        if parameters.reorder_targets.keys() != catalog.products.keys():
            raise InputError(
                f"Policy {self.name!r}: reorder_targets has {sorted(parameters.reorder_targets)}, "
                f"but the scenario's products are {sorted(catalog.products)}.",
                remedy="Give one target for each product of the scenario.",
            )
        core_product = CORE_PRODUCT[parameters.focus_segment]
        if core_product not in catalog.products:
            raise InputError(
                f"Policy {self.name!r}: focus_segment {parameters.focus_segment!r} stands for "
                f"the product {core_product!r}, which the scenario does not have.",
                remedy="Use a policy that does not depend on product names.",
            )

    def decide(self, observation: Observation) -> CompanyDecision:
        parameters, catalog = self.parameters, observation.catalog
        self.check(catalog)
        spends = observation.cash_cents > parameters.cash_floor_cents
        core_product = CORE_PRODUCT[parameters.focus_segment]
        channels = sorted(catalog.channels)
        marketing = {segment_id: dict.fromkeys(channels, 0) for segment_id in catalog.segments}
        marketing[parameters.focus_segment] = spread(
            parameters.marketing_cents if spends else 0, channels
        )
        return self.hold(
            observation,
            products={
                product_id: {
                    "price_cents": max(
                        1,
                        percent_of(terms.initial_price_cents, parameters.price_multiplier_percent),
                    ),
                    "promotion_cents": 0,
                    "reorder_target": parameters.reorder_targets[product_id],
                    "daily_development_budget_cents": (
                        parameters.development_cents if spends and product_id == core_product else 0
                    ),
                }
                for product_id, terms in catalog.products.items()
            },
            marketing=marketing,
            reliability_budget_cents=parameters.reliability_cents,
            support_budget_cents=parameters.support_cents,
        )
