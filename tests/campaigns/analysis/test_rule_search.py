"""The choice of the best profile (interface.md section 8)."""

import pytest
from msgspec.structs import replace

from campaigns.analysis.rule_search import rule_search
from campaigns.definition import load_definition
from campaigns.plan import CampaignPlan, PlannedRun, plan, resolve
from campaigns.records import CompanyOutcome
from campaigns.search import rule_search_definition
from manifests.errors import InputError
from tests.campaigns.builders import outcomes

# Scores of company-1 by profile on the seeds 7 and 19: 17 and 18 tie, 3 has the best single world.
SCORES = {
    "profile-03": {7: 900, 19: 0},
    "profile-17": {7: 500, 19: 501},
    "profile-18": {7: 501, 19: 500},
    "profile-24": {7: -5, 19: -6},
}


def small() -> CampaignPlan:
    definition = rule_search_definition(seeds=[7, 19], profiles=[3, 17, 18, 24])
    assert definition.search is not None
    search = definition.search.model_copy(update={"validation_seeds": (211, 307)})
    return plan(definition.model_copy(update={"search": search}))


def scores(run: PlannedRun) -> list[int]:
    # The background always earns more than the profile: only company-1 counts.
    own = SCORES[run.lineup[0]].get(run.seed, run.seed)
    return [own, *[5_000] * 8]


def development(campaign_plan: CampaignPlan) -> list[CompanyOutcome]:
    return outcomes([run for run in campaign_plan.runs if run.stage == "development"], scores)


def validation(campaign_plan: CampaignPlan, winner: str) -> list[CompanyOutcome]:
    runs = [resolve(run, winner) for run in campaign_plan.runs if run.stage == "validation"]
    return outcomes(runs, scores)


def test_the_highest_mean_wins_and_ties_go_to_the_first_in_the_grid() -> None:
    campaign_plan = small()

    result = rule_search(campaign_plan, development(campaign_plan))

    assert result.winner is not None
    assert (result.winner.number, result.winner.candidate) == (17, "profile-17")
    assert [(profile.number, profile.total) for profile in result.profiles] == [
        (3, 900),
        (17, 1_001),
        (18, 1_001),
        (24, -11),
    ]
    assert [profile.number for profile in result.ranked()] == [17, 18, 3, 24]
    assert result.worlds == 8
    assert list(result.missing) == [
        "rule-search-s211-winner",
        "rule-search-s307-winner",
    ]


def test_profiles_as_json_round_half_to_even() -> None:
    campaign_plan = small()
    records = [*development(campaign_plan), *validation(campaign_plan, "profile-17")]

    found = rule_search(campaign_plan, records)

    # Means 450, 500.5, 500.5 and -5.5.
    assert [profile.to_json() for profile in found.profiles] == [
        {"id": 3, "scores_cents": {"7": 900, "19": 0}, "mean_cents": 450},
        {"id": 17, "scores_cents": {"7": 500, "19": 501}, "mean_cents": 500},
        {"id": 18, "scores_cents": {"7": 501, "19": 500}, "mean_cents": 500},
        {"id": 24, "scores_cents": {"7": -5, "19": -6}, "mean_cents": -6},
    ]
    assert (found.validation, found.bankrupt, found.worlds) == ({211: 211, 307: 307}, 0, 10)
    assert found.missing == ()


def test_a_difference_of_one_cent_decides() -> None:
    campaign_plan = small()
    records = [
        replace(record, score_cents=record.score_cents + 1)
        if record.candidate == "profile-18" and record.seed == 19
        else record
        for record in development(campaign_plan)
    ]

    result = rule_search(campaign_plan, records)

    assert result.winner is not None
    assert result.winner.number == 18


def test_nobody_wins_while_a_development_run_is_missing() -> None:
    campaign_plan = small()
    records = [
        record
        for record in development(campaign_plan)
        if record.run_id != "rule-search-s19-profile-24"
    ]

    result = rule_search(campaign_plan, records)

    assert result.winner is None
    assert result.profiles[3].to_json() == {
        "id": 24,
        "scores_cents": {"7": -5},
        "mean_cents": None,
    }
    assert result.missing[0] == "rule-search-s19-profile-24"
    assert [profile.number for profile in result.ranked()] == [17, 18, 3]


def test_validation_cannot_change_the_choice() -> None:
    campaign_plan = small()
    lost = [
        replace(record, score_cents=-(10**9)) for record in validation(campaign_plan, "profile-17")
    ]

    result = rule_search(campaign_plan, [*development(campaign_plan), *lost])

    assert result.winner is not None
    assert result.winner.number == 17
    assert dict(result.validation) == {211: -(10**9), 307: -(10**9)}


def test_validation_of_another_candidate_is_refused() -> None:
    campaign_plan = small()
    wrong = validation(campaign_plan, "profile-18")

    with pytest.raises(InputError, match="has candidate profile-18, the plan profile-17"):
        rule_search(campaign_plan, [*development(campaign_plan), *wrong])


def test_bankruptcies_of_all_companies_are_counted() -> None:
    campaign_plan = small()
    records = [
        replace(record, exit_day=9) if record.seat == 4 else record
        for record in [*development(campaign_plan), *validation(campaign_plan, "profile-17")]
    ]

    assert rule_search(campaign_plan, records).bankrupt == 10


def test_the_whole_search_has_75_worlds_and_675_companies() -> None:
    campaign_plan = plan(load_definition("rule-search"))
    winner = outcomes([resolve(run, "profile-01") for run in campaign_plan.runs], lambda _: [0] * 9)

    result = rule_search(campaign_plan, winner)

    assert len(winner) == 675
    assert (result.worlds, result.bankrupt) == (75, 0)
    assert result.winner is not None
    assert result.winner.number == 1
    assert len(result.profiles) == 24


def test_a_campaign_without_a_search_is_refused() -> None:
    with pytest.raises(InputError, match='Campaign "main" is no search'):
        rule_search(plan(load_definition("main")), [])
