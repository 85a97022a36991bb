"""The campaign file: what it may say, what it means, and what is taken when it says nothing."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from campaigns.definition import (
    UNLIMITED,
    Allowances,
    CampaignDefinition,
    Candidate,
    load_definition,
)
from tests.campaigns.builders import campaign, campaign_data

COMPLETE = """
name = "two-houses"
release = "spring"
notes = "Every field once."
scenario = "scenarios/calm.json"
horizon_days = 70
seeds = [7, 0]
repeats = 2
baseline = "rule"
lineups = ["replacements"]
recovery = "cumulative-usage"

[limits]
max_active_runs = 4
lease_seconds = 10
[limits.allowances]
replies = 20
output_tokens = "unlimited"
seconds = 600

[[candidates]]
id = "model-x.1"
seat = 2
label = "Model X"
[candidates.route]
protocol = "chat"
options = { effort = "high", levels = [1, 2.5, true] }
[candidates.allowances]
replies = 8
output_tokens = 9_000

[[candidates]]
id = "growth"
seat = 1
policy = "growth"
parameters = { step_percent = 5 }

[[candidates]]
id = "rule"
policy = "rule"

[[groups]]
name = "first"
seeds = [7]
repeats = 1
lineups = ["reference"]
baseline = "rule"

[[groups]]
name = "second"
"""


def test_a_file_may_say_everything(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(COMPLETE)

    definition = load_definition(path)

    assert definition.name == "two-houses"
    assert definition.release == "spring"
    assert definition.scenario == tmp_path / "scenarios" / "calm.json"
    assert definition.horizon_days == 70
    assert definition.seeds == (7, 0)
    assert definition.repeats == 2
    assert definition.lineups == ("replacements",)
    assert definition.recovery == "cumulative-usage"
    assert definition.limits.max_active_runs == 4
    assert definition.limits.lease_seconds == 10
    assert [candidate.id for candidate in definition.panel()] == ["growth", "model-x.1"]
    model, growth, rule = definition.candidates
    assert model.route == {
        "protocol": "chat",
        "options": {"effort": "high", "levels": [1, 2.5, True]},
    }
    assert (model.label, growth.label) == ("Model X", "")
    assert growth.parameters == {"step_percent": 5}
    assert rule.seat is None
    assert [group.name for group in definition.groups] == ["first", "second"]
    assert definition.groups[0].seeds == (7,)
    assert definition.groups[1].seeds is None


def test_a_candidate_differs_from_the_campaigns_allowances_where_it_says_so(
    tmp_path: Path,
) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(COMPLETE)
    definition = load_definition(str(path))
    model, growth, _ = definition.candidates

    assert definition.allowances_of(model) == Allowances(
        replies=8, output_tokens=9_000, seconds=600
    )
    assert definition.allowances_of(growth) == Allowances(
        replies=20, output_tokens=UNLIMITED, seconds=600
    )


def test_a_candidate_may_lift_the_token_limit() -> None:
    data = campaign_data()
    data["candidates"][0]["allowances"] = {"output_tokens": "unlimited"}
    definition = campaign(candidates=data["candidates"])

    assert definition.allowances_of(definition.candidates[0]).output_tokens == UNLIMITED


def test_the_defaults_are_those_of_the_specification() -> None:
    definition = campaign()

    assert definition.limits.max_active_runs == 30
    assert definition.limits.allowances == Allowances(
        replies=32, output_tokens=131_072, seconds=3_600
    )
    assert definition.recovery == "fresh-allowance"
    assert definition.repeats == 1
    assert definition.scenario is None
    assert definition.horizon_days is None
    assert definition.release == "unreleased"


def test_a_definition_is_frozen() -> None:
    definition = campaign()

    with pytest.raises(ValidationError, match="frozen"):
        definition.name = "other"  # type: ignore[misc]


def test_a_definition_made_in_code_is_checked_as_well() -> None:
    twice = (Candidate(id="ada", seat=1, policy="x"), Candidate(id="ada", seat=2, policy="x"))

    with pytest.raises(ValidationError, match=r"candidates\[1\].id: \"ada\" is already taken"):
        CampaignDefinition(name="trial", seeds=(1,), lineups=("reference",), candidates=twice)


def test_a_dumped_definition_reads_back_equal() -> None:
    definition = campaign(groups=[{"name": "one", "repeats": 3}])

    for text in (definition.model_dump_json(), definition.model_dump_json(exclude_unset=True)):
        assert CampaignDefinition.model_validate_json(text) == definition


def test_a_relative_scenario_belongs_to_the_file_and_an_absolute_one_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "campaign.toml"
    path.parent.mkdir()
    path.write_text(COMPLETE.replace("scenarios/calm.json", "/data/calm.json"))

    assert load_definition(path).scenario == Path("/data/calm.json")
