"""Private, others, market and directed pairs (evaluation.md section 2), worked out by hand."""

import random
from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.analysis.contrasts import Contrasts, contrasts
from campaigns.analysis.exact import cents
from campaigns.definition import load_definition
from campaigns.plan import CampaignPlan, plan
from campaigns.records import CompanyOutcome
from manifests.errors import InputError
from tests.campaigns.analysis.panels import three, two, two_scores
from tests.campaigns.builders import campaign, outcomes


def matched(result: Contrasts, entrant: int) -> list[tuple[int, int, int, int]]:
    return [
        (contrast.seed, contrast.private, contrast.others, contrast.market)
        for contrast in result.entrants[entrant].matched
    ]


def test_a_panel_of_two_seed_by_seed() -> None:
    campaign_plan, records = two()

    result = contrasts(campaign_plan.runs, records)

    # Seed 5, ada: private 100 - 30, on bob 50 - 80, market 150 - 110.
    assert matched(result, 0) == [(5, 70, -30, 40), (3, -30, 15, -15)]
    # Seed 5, bob: private 50 - (-10), on ada 100 - 120, market 150 - 110.
    assert matched(result, 1) == [(5, 60, -20, 40), (3, -5, 10, 5)]


def test_a_panel_of_two_over_seeds() -> None:
    campaign_plan, records = two()

    ada, bob = contrasts(campaign_plan.runs, records).entrants

    assert (ada.private, ada.others, ada.per_rival, ada.market) == (
        Fraction(20),
        Fraction(-15, 2),
        Fraction(-15, 2),
        Fraction(25, 2),
    )
    assert (bob.private, bob.others, bob.per_rival, bob.market) == (
        Fraction(55, 2),
        Fraction(-5),
        Fraction(-5),
        Fraction(45, 2),
    )
    assert (ada.positive_market_seeds, bob.positive_market_seeds) == (1, 2)


def test_the_contrasts_as_json_round_half_to_even() -> None:
    campaign_plan, records = two()

    found = contrasts(campaign_plan.runs, records)

    assert found.entrants[0].to_json() == {
        "candidate": "ada",
        "private_cents": 20,
        "mean_externality_per_rival_cents": -8,
        "others_cents": -8,
        "market_cents": 12,
        "positive_market_seeds": 1,
        "matched": [
            {"seed": 5, "repeat": 1, "private_cents": 70, "others_cents": -30, "market_cents": 40},
            {"seed": 3, "repeat": 1, "private_cents": -30, "others_cents": 15, "market_cents": -15},
        ],
    }
    assert found.directed[1].to_json() == {
        "entrant": "bob",
        "rival": "ada",
        "mean_cents": -5,
        "matched": [
            {"seed": 5, "repeat": 1, "cents": -20},
            {"seed": 3, "repeat": 1, "cents": 10},
        ],
    }
    assert (found.seeds, found.unplanned) == ((5, 3), ())


def test_a_panel_of_three() -> None:
    campaign_plan, records = three()

    result = contrasts(campaign_plan.runs, records)

    assert matched(result, 0) == [(5, 5, -3, 2)]
    assert matched(result, 1) == [(5, 2, -5, -3)]
    assert matched(result, 2) == [(5, -3, 0, -3)]
    assert [entrant.per_rival for entrant in result.entrants] == [
        Fraction(-3, 2),
        Fraction(-5, 2),
        Fraction(0),
    ]
    assert [(pair.entrant, pair.rival, cents(pair.mean)) for pair in result.directed] == [
        ("ada", "bob", -5),
        ("ada", "cy", 2),
        ("bob", "ada", -4),
        ("bob", "cy", -1),
        ("cy", "ada", 0),
        ("cy", "bob", 0),
    ]
    assert [entrant.positive_market_seeds for entrant in result.entrants] == [1, 0, 0]


def test_eight_candidates_make_56_pairs() -> None:
    campaign_plan = plan(load_definition("main"))

    result = contrasts(campaign_plan.runs, outcomes(campaign_plan.runs, lambda _: range(8)))

    assert len(result.directed) == 56
    assert len({(pair.entrant, pair.rival) for pair in result.directed}) == 56
    assert len(result.entrants) == 8


def test_a_market_without_rivals_has_no_externality_per_rival() -> None:
    campaign_plan = plan(campaign(("ada",), seeds=[1]))
    scores = {None: (9,), "ada": (4,)}

    result = contrasts(
        campaign_plan.runs, outcomes(campaign_plan.runs, lambda run: scores[run.replaced])
    )

    (ada,) = result.entrants
    assert (cents(ada.private), cents(ada.others), cents(ada.market)) == (5, 0, 5)
    assert ada.per_rival is None
    assert result.directed == ()
    assert ada.to_json()["mean_externality_per_rival_cents"] is None


def test_each_repeat_is_compared_with_its_own_reference() -> None:
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[5], repeats=2))
    # The second repeat adds 1000 to every Score; no contrast may see it.
    records = outcomes(
        campaign_plan.runs,
        lambda run: [score + 1000 * (run.repeat - 1) for score in two_scores(run)],
    )

    result = contrasts(campaign_plan.runs, records)

    assert matched(result, 0) == [(5, 70, -30, 40)] * 2
    assert [contrast.repeat for contrast in result.entrants[0].matched] == [1, 2]
    assert result.entrants[0].private == 70
    assert result.entrants[0].positive_market_seeds == 1


def test_a_seed_with_an_incomplete_repeat_is_in_no_mean() -> None:
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[5, 3], repeats=2))
    records = outcomes(campaign_plan.runs, two_scores)
    kept = [record for record in records if record.run_id != "trial-s5-r2-without-bob"]

    result = contrasts(campaign_plan.runs, kept)

    assert (result.seeds, result.left_out_seeds) == ((3,), (5,))
    assert cents(result.entrants[0].private) == -30


def test_a_market_that_does_not_change_is_not_positive() -> None:
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[1]))

    result = contrasts(campaign_plan.runs, outcomes(campaign_plan.runs, lambda _: (3, 4)))

    assert [entrant.market for entrant in result.entrants] == [Fraction(0), Fraction(0)]
    assert [entrant.positive_market_seeds for entrant in result.entrants] == [0, 0]


def test_a_seed_with_a_missing_run_is_in_no_mean() -> None:
    campaign_plan, records = two()
    kept = [record for record in records if record.run_id != "trial-s3-without-bob"]

    result = contrasts(campaign_plan.runs, kept)

    ada, bob = result.entrants
    # ada's contrast at seed 3 exists and is shown, but bob has none there: both means leave it out.
    assert matched(result, 0) == [(5, 70, -30, 40), (3, -30, 15, -15)]
    assert matched(result, 1) == [(5, 60, -20, 40)]
    assert (cents(ada.private), cents(bob.private)) == (70, 60)
    assert [pair.mean for pair in result.directed] == [-30, -20]
    assert (result.seeds, result.left_out_seeds) == ((5,), (3,))


def test_no_whole_seed_gives_no_mean() -> None:
    campaign_plan, records = two()
    kept = [record for record in records if record.replaced is not None]

    result = contrasts(campaign_plan.runs, kept)

    assert result.seeds == ()
    assert [entrant.market for entrant in result.entrants] == [None, None]
    assert result.entrants[0].to_json()["private_cents"] is None


def no_action() -> tuple[CampaignPlan, list[CompanyOutcome]]:
    """Replacements alone, in the group `idle`, at seed 5."""
    definition = campaign(
        ("ada", "bob"), seeds=[5], groups=[{"name": "idle", "lineups": ["replacements"]}]
    )
    idle = plan(definition)
    return idle, outcomes(idle.runs, two_scores)


def test_replacements_alone_say_that_the_reference_is_not_planned() -> None:
    idle, records = no_action()

    result = contrasts(idle.runs, records)

    assert [entrant.entrant for entrant in result.entrants] == ["ada", "bob"]
    assert [entrant.private for entrant in result.entrants] == [None, None]
    assert result.unplanned == ("lineup reference at seed 5, repeat 1",)


def test_replacements_take_the_reference_of_another_campaign() -> None:
    idle, records = no_action()
    campaign_plan, controls = two()
    reference = campaign_plan.runs[0]

    result = contrasts([reference, *idle.runs], [*controls[:2], *records])

    assert [entrant.private for entrant in result.entrants] == [70, 60]
    assert result.unplanned == ()


def test_two_groups_at_once_are_refused() -> None:
    campaign_plan = plan(campaign(("ada",), seeds=[1], groups=[{"name": "one"}, {"name": "two"}]))

    with pytest.raises(InputError, match=r"trial.one-s1-reference and trial.two-s1-reference have"):
        contrasts(campaign_plan.runs, [])


def test_a_search_has_no_contrasts() -> None:
    with pytest.raises(InputError, match="same seed, repeat and lineup"):
        contrasts(plan(load_definition("rule-search")).runs, [])


@st.composite
def campaigns_with_outcomes(draw: st.DrawFn) -> tuple[CampaignPlan, list[CompanyOutcome]]:
    panel = [f"c{number}" for number in range(draw(st.integers(1, 5)))]
    seeds = draw(st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True))
    campaign_plan = plan(campaign(panel, seeds=seeds, repeats=draw(st.integers(1, 2))))
    scores = st.integers(-(10**15), 10**15)
    return campaign_plan, outcomes(
        campaign_plan.runs,
        lambda run: draw(st.lists(scores, min_size=len(run.lineup), max_size=len(run.lineup))),
    )


@given(campaigns_with_outcomes())
def test_private_and_others_make_the_market_and_pairs_make_the_others(
    case: tuple[CampaignPlan, list[CompanyOutcome]],
) -> None:
    campaign_plan, records = case

    result = contrasts(campaign_plan.runs, records)

    rivals = len(result.entrants) - 1
    assert len(result.directed) == rivals * (rivals + 1)
    for entrant in result.entrants:
        for contrast in entrant.matched:
            assert contrast.private + contrast.others == contrast.market
        assert entrant.private is not None
        assert entrant.others is not None
        assert entrant.private + entrant.others == entrant.market
        own = [pair.mean or 0 for pair in result.directed if pair.entrant == entrant.entrant]
        assert sum(own, Fraction(0)) == entrant.others
        if entrant.per_rival is not None:
            assert entrant.per_rival * rivals == entrant.others


@given(campaigns_with_outcomes(), st.randoms(use_true_random=False))
def test_the_order_of_seeds_and_records_changes_no_number(
    case: tuple[CampaignPlan, list[CompanyOutcome]], chance: random.Random
) -> None:
    campaign_plan, records = case
    runs = list(campaign_plan.runs)
    shuffled_runs = chance.sample(runs, len(runs))
    shuffled_records = chance.sample(records, len(records))

    straight = contrasts(runs, records)
    shuffled = contrasts(shuffled_runs, shuffled_records)

    def numbers(result: Contrasts) -> list[object]:
        rows = [replace(entrant, matched=()) for entrant in result.entrants]
        return [*rows, *(replace(pair, matched=()) for pair in result.directed)]

    assert numbers(straight) == numbers(shuffled)


@given(campaigns_with_outcomes(), st.integers(-(10**9), 10**9))
def test_a_change_that_hits_a_whole_seed_changes_no_contrast(
    case: tuple[CampaignPlan, list[CompanyOutcome]], shift: int
) -> None:
    campaign_plan, records = case
    shifted = [
        msgspec.structs.replace(record, score_cents=record.score_cents + shift)
        for record in records
    ]

    assert contrasts(campaign_plan.runs, shifted) == contrasts(campaign_plan.runs, records)
