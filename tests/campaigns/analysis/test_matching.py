"""Outcomes matched with the plan: what is missing is named, what contradicts is refused."""

from typing import Any

import pytest
from msgspec.structs import replace

from campaigns.analysis.matching import match
from campaigns.plan import plan
from manifests.errors import InputError
from tests.campaigns.analysis.panels import two
from tests.campaigns.builders import campaign, outcome, outcomes


def test_a_whole_campaign_misses_nothing() -> None:
    campaign_plan, records = two()

    matched = match(campaign_plan.runs, reversed(records))

    assert matched.missing == ()
    assert matched.complete_seeds == (5, 3)
    assert matched.incomplete_seeds == ()
    seats = [record.seat for record in matched.outcomes["trial-s3-without-bob"]]
    assert seats == [1, 2]


def test_missing_runs_and_companies_are_named() -> None:
    campaign_plan, records = two()
    kept = [
        record
        for record in records
        if record.run_id != "trial-s3-without-ada"
        and (record.run_id, record.seat) != ("trial-s3-without-bob", 2)
    ]

    matched = match(campaign_plan.runs, kept)

    assert matched.missing == (
        "trial-s3-without-ada",
        "trial-s3-without-bob",
    )
    assert matched.complete_seeds == (5,)
    assert matched.incomplete_seeds == (3,)
    assert "trial-s3-without-bob" not in matched.outcomes


def test_other_groups_are_passed_over() -> None:
    campaign_plan = plan(campaign(("ada",), seeds=[1], groups=[{"name": "one"}, {"name": "two"}]))
    records = outcomes(campaign_plan.runs, lambda run: [0] * len(run.lineup))

    matched = match([run for run in campaign_plan.runs if run.group == "one"], records)

    assert set(matched.outcomes) == {"trial.one-s1-reference", "trial.one-s1-without-ada"}


def test_an_outcome_without_a_run_is_refused() -> None:
    campaign_plan, records = two()
    stranger = replace(records[0], run_id="trial-s9-reference")

    with pytest.raises(InputError, match="Run trial-s9-reference of group trial is not in"):
        match(campaign_plan.runs, [*records, stranger])


def test_an_outcome_given_twice_is_refused() -> None:
    campaign_plan, records = two()

    with pytest.raises(InputError, match="Run trial-s5-reference has two outcomes for seat 1"):
        match(campaign_plan.runs, [*records, records[0]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 8}, "the outcome has seed 8, the plan 5"),
        ({"repeat": 2}, "the outcome has repeat 2, the plan 1"),
        ({"replaced": "bob"}, "the outcome has replaced bob, the plan None"),
        ({"candidate": "rule"}, "the outcome has candidate rule, the plan ada"),
        ({"stage": "development"}, "the outcome has stage development, the plan None"),
    ],
)
def test_an_outcome_that_contradicts_its_run_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    campaign_plan, records = two()

    with pytest.raises(InputError) as caught:
        match(campaign_plan.runs, [replace(records[0], **changes)])

    assert f"Run trial-s5-reference, seat 1: {message}." in str(caught.value)


def test_a_seat_that_the_run_does_not_have_is_refused() -> None:
    campaign_plan, _ = two()
    run = campaign_plan.runs[0]

    with pytest.raises(InputError, match="seat 3: the outcome has candidate bob, the plan None"):
        match(campaign_plan.runs, [replace(outcome(run, 2, 0), seat=3)])
