"""The typed decision and its strictness (interface.md section 2)."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from engine.decision import (
    LARGEST_AMOUNT,
    CompanyDecision,
    company_name,
    validate_decision,
)
from engine.scenario import default_scenario
from tests.engine.worlds import decision, new_world

SCENARIO = default_scenario()


# --- the shape ----------------------------------------------------------------------------------


def test_an_empty_decision_is_a_hold() -> None:
    hold = CompanyDecision(company_id="company-1", world_version=0)
    assert not (hold.products)
    assert not (hold.marketing)
    assert not (hold.bids)
    assert not (hold.research)
    assert hold.innovation_tier is None
    assert hold.capacity is None
    assert hold.reliability_budget_cents is None
    assert hold.support_budget_cents is None


FULL: dict[str, Any] = {
    "company_id": "company-2",
    "world_version": 3,
    "products": {
        "A": {"price_cents": 1, "promotion_cents": 0},
        "B": {"reorder_target": 2, "daily_development_budget_cents": 3},
    },
    "marketing": {"value": {"search": 4}},
    "reliability_budget_cents": 5,
    "support_budget_cents": 6,
    "innovation_tier": 1,
    "capacity": {"action": "expand", "target_tier": 1},
    "bids": {"tender-000": 7},
    "research": [{"segment_id": "value", "level": 5}],
}


def parsed(**changes: Any) -> CompanyDecision:
    return CompanyDecision.model_validate_json(json.dumps(FULL | changes))


def test_a_decision_survives_its_json() -> None:
    full = parsed()
    assert CompanyDecision.model_validate_json(full.model_dump_json()) == full
    assert full.capacity is not None
    assert full.capacity.action == "expand"
    assert full.research[0].level == 5


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"run_id": 3}, ("run_id",)),
        ({"company_id": None}, ("company_id",)),
        ({"company_id": ""}, ("company_id",)),
        ({"world_version": -1}, ("world_version",)),
        ({"world_version": 1.0}, ("world_version",)),
        ({"world_version": "3"}, ("world_version",)),
        ({"world_version": True}, ("world_version",)),
        ({"products": {"A": {"price_cents": -1}}}, ("products", "A", "price_cents")),
        ({"products": {"A": {"price_cents": 1.5}}}, ("products", "A", "price_cents")),
        ({"products": {"A": {"price_cents": 2**53}}}, ("products", "A", "price_cents")),
        ({"products": {"A": {"promotion_cents": "1"}}}, ("products", "A", "promotion_cents")),
        ({"products": {"A": {"colour": 1}}}, ("products", "A", "colour")),
        ({"products": {"A": 5}}, ("products", "A")),
        ({"products": []}, ("products",)),
        ({"marketing": {"value": {"search": -4}}}, ("marketing", "value", "search")),
        ({"marketing": {"value": 4}}, ("marketing", "value")),
        ({"reliability_budget_cents": -1}, ("reliability_budget_cents",)),
        ({"support_budget_cents": 0.5}, ("support_budget_cents",)),
        ({"innovation_tier": 0}, ("innovation_tier",)),
        ({"innovation_tier": False}, ("innovation_tier",)),
        ({"capacity": {"action": "sell", "target_tier": 1}}, ("capacity",)),
        ({"capacity": {"target_tier": 1}}, ("capacity",)),
        ({"capacity": {"action": "expand"}}, ("capacity", "expand", "target_tier")),
        (
            {"capacity": {"action": "expand", "target_tier": 1, "project_id": "x"}},
            ("capacity", "expand", "project_id"),
        ),
        (
            {"capacity": {"action": "cancel", "target_tier": 1}},
            ("capacity", "cancel", "project_id"),
        ),
        ({"bids": {"tender-000": -7}}, ("bids", "tender-000")),
        ({"bids": {"tender-000": None}}, ("bids", "tender-000")),
        ({"research": [{"segment_id": "value", "level": 0}]}, ("research", 0, "level")),
        ({"research": [{"segment_id": "value"}]}, ("research", 0, "level")),
        ({"research": [{"segment_id": "value", "level": 1, "cents": 1}]}, ("research", 0, "cents")),
    ],
)
def test_arguments_are_strict(changes: dict[str, Any], place: tuple[str | int, ...]) -> None:
    """Unknown fields, wrong types, non-integers and out-of-range values, each with its place."""
    with pytest.raises(ValidationError) as caught:
        parsed(**changes)
    places = [problem["loc"] for problem in caught.value.errors()]
    assert place in places


def test_nothing_else_caps_amounts() -> None:
    """A 10,000-unit target or $75,000 a day is legal; so is the largest exact integer."""
    for amount in (0, 10_000, 7_500_000, LARGEST_AMOUNT):
        change = decision(
            new_world(SCENARIO),
            products={
                "A": {
                    "price_cents": amount,
                    "promotion_cents": 0,
                    "reorder_target": amount,
                    "daily_development_budget_cents": amount,
                }
            },
            marketing={"premium": {"display": amount}},
            reliability_budget_cents=amount,
            support_budget_cents=amount,
        )
        validate_decision(SCENARIO, new_world(SCENARIO), 1, change)


def test_a_decision_is_frozen() -> None:
    hold = CompanyDecision(company_id="company-1", world_version=0)
    with pytest.raises(ValidationError, match="frozen"):
        hold.world_version = 1  # type: ignore[misc]


def test_company_names_count_from_one() -> None:
    assert company_name(1) == "company-1"
    assert company_name(12) == "company-12"
