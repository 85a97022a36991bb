"""The grid of the Rule search (interface.md section 8) and searches on a part of it."""

from itertools import product
from pathlib import Path

import pytest

from campaigns.definition import load_definition
from campaigns.plan import DEVELOPMENT, plan
from campaigns.search import profiles, rule_search_definition
from manifests.errors import InputError
from tests.campaigns.test_library import EVALUATED_RULE

LIGHT = (5_000, 5_000, 2_500, 5_000)
STANDARD = (10_000, 10_000, 5_000, 10_000)


def test_the_grid_in_nesting_order_with_the_floor_fastest() -> None:
    expected = [
        {
            "price_multiplier_percent": multiplier,
            "focus_segment": segment,
            "reorder_targets": {"A": 150, "B": 100, "C": 50},
            "development_cents": development,
            "marketing_cents": marketing,
            "reliability_cents": reliability,
            "support_cents": support,
            "cash_floor_cents": floor,
        }
        for multiplier, segment, (development, marketing, reliability, support), floor in product(
            (90, 100),
            ("value", "mainstream", "premium"),
            (LIGHT, STANDARD),
            (5_000_000, 15_000_000),
        )
    ]

    grid = profiles()

    assert [profile.number for profile in grid] == list(range(1, 25))
    assert [profile.parameters for profile in grid] == expected


def test_the_evaluated_profile_is_number_17() -> None:
    assert profiles()[16].parameters == EVALUATED_RULE
    assert profiles()[16].candidate == "profile-17"


def test_the_background_is_light_at_full_price() -> None:
    panel = load_definition("rule-search").panel()

    assert [candidate.seat for candidate in panel] == list(range(2, 10))
    segments = ["value"] * 3 + ["mainstream"] * 3 + ["premium"] * 2
    assert [candidate.parameters for candidate in panel] == [
        EVALUATED_RULE | {"focus_segment": segment} for segment in segments
    ]
    assert {candidate.policy for candidate in panel} == {"rule"}


def test_nothing_chosen_is_the_whole_library_campaign() -> None:
    assert plan(rule_search_definition()).runs == plan(load_definition("rule-search")).runs


def test_a_part_of_the_grid() -> None:
    definition = rule_search_definition(
        name="small",
        seeds=[42, 7],
        profiles=[17, 3],
        scenario=Path("calm.json"),
    )

    assert [run.run_id for run in plan(definition).runs if run.stage == DEVELOPMENT] == [
        "small-s42-profile-03",
        "small-s42-profile-17",
        "small-s7-profile-03",
        "small-s7-profile-17",
    ]
    assert definition.scenario == Path("calm.json").absolute()
    contenders = definition.all_candidates()[8:]
    assert [candidate.parameters for candidate in contenders] == [
        profiles()[2].parameters,
        profiles()[16].parameters,
    ]


@pytest.mark.parametrize(
    ("seeds", "chosen", "expected"),
    [
        ([7, 7], [1], "seeds[1]: seed 7 stands twice"),
        ([], [1], "seeds: received []"),
        ([-7], [1], "seeds[0]: received -7"),
        ([7], [25], "search.profiles[0]: received 25, but the grid has 24 profiles"),
        ([7], [0], "search.profiles[0]: received 0"),
        ([7], [1, 1], "search.profiles[1]: profile 1 stands twice"),
        ([7], [], "search.profiles: received []"),
    ],
)
def test_a_wrong_choice_is_refused(seeds: list[int], chosen: list[int], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        rule_search_definition(seeds=seeds, profiles=chosen)

    assert f"the search rule-search: {expected}" in str(caught.value)
    assert caught.value.remedy
