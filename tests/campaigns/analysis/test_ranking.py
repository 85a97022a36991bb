"""The ranking by Mean Score (evaluation.md section 2), worked out by hand."""

import random
from fractions import Fraction

from msgspec.structs import replace

from campaigns.analysis.ranking import ranking
from campaigns.definition import load_definition
from campaigns.plan import plan
from tests.campaigns.analysis.panels import two
from tests.campaigns.builders import campaign, outcomes


def test_a_panel_of_two_on_two_seeds() -> None:
    campaign_plan, records = two()

    result = ranking(campaign_plan.runs, records)

    # ada 100 + 120 + 10 + 0; bob 50 + 80 + 20 + 5; rule 30 - 10 + 40 + 25.
    assert [(row.rank, row.candidate, row.mean_score) for row in result.rows] == [
        (1, "ada", Fraction(230, 4)),
        (2, "bob", Fraction(155, 4)),
        (3, "rule", Fraction(85, 4)),
    ]
    assert {(row.outcomes, row.lineups, row.bankruptcies) for row in result.rows} == {(4, 2, 0)}
    assert (result.seeds, result.worlds, result.equal_sets) == ((5, 3), 6, True)


def test_the_ranking_as_json_rounds_half_to_even() -> None:
    campaign_plan, records = two()

    found = [row.to_json() for row in ranking(campaign_plan.runs, records).rows]

    # 57.5, 38.75 and 21.25 cents.
    assert [(row["candidate"], row["mean_score_cents"]) for row in found] == [
        ("ada", 58),
        ("bob", 39),
        ("rule", 21),
    ]


def test_exact_ties_stand_in_the_order_of_ids() -> None:
    campaign_plan = plan(campaign(("zoe", "ada"), seeds=[1]))

    result = ranking(campaign_plan.runs, outcomes(campaign_plan.runs, lambda _: (7, 7)))

    assert [(row.rank, row.candidate) for row in result.rows] == [
        (1, "ada"),
        (2, "rule"),
        (3, "zoe"),
    ]


def test_a_difference_below_a_cent_is_no_tie() -> None:
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[1]))
    scores = {None: (0, 0), "ada": (0, 1), "bob": (0, 0)}

    result = ranking(
        campaign_plan.runs, outcomes(campaign_plan.runs, lambda run: scores[run.replaced])
    )

    assert [row.candidate for row in result.rows] == ["bob", "ada", "rule"]
    assert [row.to_json()["mean_score_cents"] for row in result.rows] == [0, 0, 0]


def test_scores_beyond_doubles_stay_exact() -> None:
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[1]))
    huge = 2**62
    scores = {None: (huge, huge), "ada": (0, huge + 2), "bob": (huge, 0)}

    result = ranking(
        campaign_plan.runs, outcomes(campaign_plan.runs, lambda run: scores[run.replaced])
    )

    assert [(row.candidate, row.mean_score) for row in result.rows[:2]] == [
        ("bob", Fraction(huge + 1)),
        ("ada", Fraction(huge)),
    ]


def test_bankruptcies_are_counted_and_their_scores_stay_in() -> None:
    campaign_plan, records = two()
    records = [
        replace(record, exit_day=40) if record.candidate == "bob" and record.seed == 5 else record
        for record in records
    ]

    result = ranking(campaign_plan.runs, records)

    assert [(row.candidate, row.bankruptcies, row.outcomes) for row in result.rows] == [
        ("ada", 0, 4),
        ("bob", 2, 4),
        ("rule", 0, 4),
    ]


def test_a_seed_with_a_missing_run_is_left_out_and_said() -> None:
    campaign_plan, records = two()
    kept = [record for record in records if record.run_id != "trial-s3-without-bob"]

    result = ranking(campaign_plan.runs, kept)

    assert [(row.candidate, row.mean_score, row.outcomes) for row in result.rows] == [
        ("ada", Fraction(220, 2), 2),
        ("bob", Fraction(130, 2), 2),
        ("rule", Fraction(20, 2), 2),
    ]
    assert (result.seeds, result.left_out_seeds, result.worlds) == ((5,), (3,), 3)


def test_nothing_finished_ranks_nobody() -> None:
    campaign_plan, _ = two()

    result = ranking(campaign_plan.runs, [])

    assert result.rows == ()
    assert result.worlds == 0


def test_unequal_sets_by_design_are_said() -> None:
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[1], lineups=["replacements"]))

    result = ranking(campaign_plan.runs, outcomes(campaign_plan.runs, lambda _: (3, 1)))

    assert {row.candidate: row.outcomes for row in result.rows} == {"ada": 1, "bob": 1, "rule": 2}
    assert result.equal_sets is False


def test_the_evaluated_design_gives_everybody_24_outcomes_in_eight_lineups() -> None:
    campaign_plan = plan(load_definition("main"))

    result = ranking(
        campaign_plan.runs, outcomes(campaign_plan.runs, lambda run: range(run.seed, run.seed + 8))
    )

    assert len(result.rows) == 9
    assert {(row.outcomes, row.lineups) for row in result.rows} == {(24, 8)}
    # Seat 8 always has seed + 7; the mean seed is 29.
    assert result.rows[0].candidate == "doubao-seed-1.8"
    assert result.rows[0].mean_score == 36


def test_the_order_of_records_changes_nothing() -> None:
    campaign_plan, records = two()
    shuffled = random.Random(1).sample(records, len(records))

    assert ranking(campaign_plan.runs, shuffled) == ranking(campaign_plan.runs, records)
