from typing import Any

import pytest
from msgspec.structs import replace

from engine.policies.discounter import Discounter, DiscounterParameters
from manifests.errors import InputError
from tests.engine.policies.boundaries import observed, segment_budgets, settings


def discounter(**parameters: Any) -> Discounter:
    return Discounter(DiscounterParameters(**parameters))


def test_a_promotion_on_low_prices() -> None:
    decision = discounter().decide(observed())
    # 98% of 40.00, 75.00 and 135.00; then 6% off.
    assert settings(decision, "price_cents") == {"A": 3_920, "B": 7_350, "C": 13_230}
    assert settings(decision, "promotion_cents") == {"A": 235, "B": 441, "C": 793}


def test_what_lies_too_long_is_cleared() -> None:
    # Stock of 600 lasts 42 days at 100 a week, 400 of B lasts 20 days at 140 a week.
    decision = discounter().decide(observed(day=7, asked=(100, 140, 140)))
    assert settings(decision, "promotion_cents") == {"A": 548, "B": 441, "C": 793}


def test_the_promotion_leaves_the_margin() -> None:
    # Purchase costs of 26.00, 48.00 and 85.00 plus 45% are 37.70, 69.60 and 123.25.
    decision = discounter(margin_percent=45).decide(observed())
    assert settings(decision, "promotion_cents") == {"A": 150, "B": 390, "C": 793}
    dear = discounter(margin_percent=100).decide(observed())
    assert settings(dear, "price_cents") == {"A": 5_200, "B": 9_600, "C": 17_000}
    assert settings(dear, "promotion_cents") == {"A": 0, "B": 0, "C": 0}


def test_it_courts_one_segment() -> None:
    decision = discounter().decide(observed())
    assert segment_budgets(decision) == {"mainstream": 1_500, "premium": 1_500, "value": 7_000}


def test_a_scenario_without_its_segment_is_refused() -> None:
    observation = observed()
    labels = {"b2b": observation.catalog.segments["value"]}
    catalog = replace(observation.catalog, segments=labels)
    with pytest.raises(InputError, match=r"focus_segment is 'value'[\s\S]*b2b"):
        discounter().decide(replace(observation, catalog=catalog))
