"""The Rule, worked out by hand from interface.md section 8."""

from typing import Any

import pytest
from msgspec.structs import replace

from engine.observation import PublicOffer
from engine.policies.rule import Rule, RuleParameters
from manifests.errors import InputError
from tests.engine.policies.boundaries import observed, segment_budgets, settings
from tests.engine.worlds import altered, calm

FLOOR = 5_000_000


def rule(**parameters: Any) -> Rule:
    return Rule(RuleParameters(**parameters))


def test_the_evaluated_profile() -> None:
    decision = rule().decide(observed())
    off = {"affiliate": 0, "display": 0, "search": 0}
    assert decision.model_dump(mode="json") == {
        "company_id": "company-1",
        "world_version": 0,
        "products": {
            product: {
                "price_cents": price,
                "promotion_cents": 0,
                "reorder_target": target,
                "daily_development_budget_cents": development,
            }
            for product, price, target, development in (
                ("A", 4_000, 150, 0),
                ("B", 7_500, 100, 5_000),
                ("C", 13_500, 50, 0),
            )
        },
        "marketing": {
            # 5,000 = 3 * 1,666 + 2: the first two channels in identifier order get a cent more.
            "mainstream": {"affiliate": 1_667, "display": 1_667, "search": 1_666},
            "premium": off,
            "value": off,
        },
        "reliability_budget_cents": 2_500,
        "support_budget_cents": 5_000,
        "innovation_tier": None,
        "capacity": None,
        "bids": {},
        "research": [],
    }


@pytest.mark.parametrize(("focus", "core"), [("value", "A"), ("mainstream", "B"), ("premium", "C")])
def test_the_focus_gets_all_marketing_and_its_core_product_all_development(
    focus: str, core: str
) -> None:
    decision = rule(focus_segment=focus).decide(observed())
    expected_marketing = {"mainstream": 0, "premium": 0, "value": 0} | {focus: 5_000}
    assert segment_budgets(decision) == expected_marketing
    expected_development = {"A": 0, "B": 0, "C": 0} | {core: 5_000}
    assert settings(decision, "daily_development_budget_cents") == expected_development


@pytest.mark.parametrize(
    ("total", "shares"),
    [(0, (0, 0, 0)), (1, (1, 0, 0)), (2, (1, 1, 0)), (3, (1, 1, 1)), (2_500, (834, 833, 833))],
)
def test_the_remainder_goes_to_the_first_channels(total: int, shares: tuple[int, int, int]) -> None:
    decision = rule(marketing_cents=total).decide(observed())
    assert decision.marketing["mainstream"] == dict(
        zip(("affiliate", "display", "search"), shares, strict=True)
    )


def test_channels_count_in_identifier_order_however_they_are_listed() -> None:
    observation = observed()
    backwards = replace(observation.catalog, channels=("search", "display", "affiliate"))
    decision = rule(marketing_cents=2).decide(replace(observation, catalog=backwards))
    assert decision.marketing["mainstream"] == {"affiliate": 1, "display": 1, "search": 0}


@pytest.mark.parametrize(
    ("cash", "spends"), [(FLOOR + 1, True), (FLOOR, False), (FLOOR - 1, False), (0, False)]
)
def test_development_and_marketing_need_cash_above_the_floor(cash: int, spends: bool) -> None:
    decision = rule().decide(observed(cash_cents=cash))
    assert segment_budgets(decision)["mainstream"] == 5_000 * spends
    assert settings(decision, "daily_development_budget_cents")["B"] == 5_000 * spends
    assert decision.reliability_budget_cents == 2_500
    assert decision.support_budget_cents == 5_000
    assert settings(decision, "price_cents") == {"A": 4_000, "B": 7_500, "C": 13_500}


@pytest.mark.parametrize(
    ("percent", "prices"),
    [
        (90, (3_600, 6_750, 12_150)),
        (110, (4_400, 8_250, 14_850)),
        # 33% of 75.00 is 24.75, of 135.00 is 44.55: exact, no cent is lost.
        (33, (1_320, 2_475, 4_455)),
        (0, (1, 1, 1)),
    ],
)
def test_prices_are_a_multiple_of_the_initial_ones(
    percent: int, prices: tuple[int, int, int]
) -> None:
    decision = rule(price_multiplier_percent=percent).decide(observed())
    assert tuple(settings(decision, "price_cents").values()) == prices


def test_a_fraction_of_a_cent_is_dropped_but_never_the_last_cent() -> None:
    # 90% of 4,001 is 3,600.9; 90% of 1 is 0.9, and a price is at least one cent.
    scenario = calm({"products.0.initial_price_cents": 4_001, "products.1.initial_price_cents": 1})
    decision = rule(price_multiplier_percent=90).decide(observed(scenario))
    assert tuple(settings(decision, "price_cents").values()) == (3_600, 1, 12_150)


def test_it_restates_everything_and_looks_at_nothing_but_its_cash() -> None:
    def disturb(observation: Any) -> Any:
        rival = PublicOffer("company-2", 2, True, "A", 1, 0, 1)
        products = {
            name: replace(product, price_cents=1, promotion_cents=1, reorder_target=9, on_hand=0)
            for name, product in observation.products.items()
        }
        return replace(observation, products=products, offers=(rival,), support_queue=99, tier=2)

    at_start = rule().decide(observed())
    later = rule().decide(disturb(observed(day=350, asked=(400, 300, 200))))
    assert later == at_start.model_copy(update={"world_version": 50})


def test_a_scenario_without_its_segment_is_refused() -> None:
    observation = observed()
    renamed = {"b2b": observation.catalog.segments["value"]}
    catalog = replace(observation.catalog, segments=renamed)
    with pytest.raises(InputError, match=r"focus_segment.*'mainstream'[\s\S]*b2b"):
        rule().decide(replace(observation, catalog=catalog))


@pytest.mark.parametrize("targets", [{}, {"A": 1, "B": 1}, {"A": 1, "B": 1, "C": 1, "D": 1}])
def test_targets_name_exactly_the_products_of_the_scenario(targets: dict[str, int]) -> None:
    with pytest.raises(InputError, match="reorder_targets"):
        rule(reorder_targets=targets).decide(observed())


def test_a_scenario_without_the_core_product_is_refused() -> None:
    observation = observed()
    products = {name: observation.catalog.products[name] for name in ("A", "C")}
    catalog = replace(observation.catalog, products=products)
    with pytest.raises(InputError, match="focus_segment 'mainstream' stands for the product 'B'"):
        rule(reorder_targets={"A": 1, "C": 1}).decide(replace(observation, catalog=catalog))


def test_a_scenario_with_another_horizon_and_other_prices_is_fine() -> None:
    scenario = altered(calm(), {"horizon_days": 3, "initial_cash_cents": 0})
    decision = rule().decide(observed(scenario))
    assert segment_budgets(decision) == {"mainstream": 0, "premium": 0, "value": 0}
