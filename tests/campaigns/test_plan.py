"""From a definition to its runs: lineups, order, ids."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.consistency import SEARCH_WINNER
from campaigns.definition import load_definition
from campaigns.plan import CampaignPlan, plan, resolve
from campaigns.search import rule_search_definition
from manifests.errors import InputError
from tests.campaigns.builders import campaign

MODELS = (
    "gpt-6-astra",
    "deepseek-v4-pro",
    "claude-sonnet-5",
    "qwen3.8-max",
    "gpt-5.6-sol",
    "gemini-3.8-flash",
    "deepseek-v4-flash",
    "doubao-seed-1.8",
)
RULE = "deterministic-rule-ceo"


def ids(campaign_plan: CampaignPlan) -> list[str]:
    return [run.run_id for run in campaign_plan.runs]


def test_the_main_matrix_in_full() -> None:
    campaign_plan = plan(load_definition("main"))

    expected = [(f"main-s{seed}-reference", seed, None, MODELS) for seed in (11, 29, 47)] + [
        (
            f"main-s{seed}-without-{left_out}",
            seed,
            left_out,
            tuple(RULE if model == left_out else model for model in MODELS),
        )
        for seed in (11, 29, 47)
        for left_out in MODELS
    ]
    assert sorted(
        (run.run_id, run.seed, run.replaced, run.lineup) for run in campaign_plan.runs
    ) == sorted(expected, key=lambda run: run[0])
    assert ids(campaign_plan) == [
        f"main-s{seed}-{label}"
        for seed in (11, 29, 47)
        for label in ("reference", *(f"without-{model}" for model in MODELS))
    ]
    assert {(run.group, run.repeat) for run in campaign_plan.runs} == {("main", 1)}
    assert [run.baseline for run in campaign_plan.runs[:9]] == [None, *[RULE] * 8]


def test_every_candidate_of_main_has_24_outcomes() -> None:
    seats = [candidate for run in plan(load_definition("main")).runs for candidate in run.lineup]

    assert len(seats) == 216
    assert {candidate: seats.count(candidate) for candidate in (*MODELS, RULE)} == dict.fromkeys(
        (*MODELS, RULE), 24
    )


def test_repeats_run_the_same_lineups_twice() -> None:
    campaign_plan = plan(load_definition("repeats"))

    first, second = campaign_plan.runs[:9], campaign_plan.runs[9:]
    assert [run.lineup for run in first] == [run.lineup for run in second]
    assert {run.repeat for run in first} == {1}
    assert {run.repeat for run in second} == {2}
    assert first[1].run_id == "repeats-s11-without-gpt-6-astra"
    assert second[1].run_id == "repeats-s11-r2-without-gpt-6-astra"


def test_no_action_has_no_reference() -> None:
    runs = plan(load_definition("no-action")).runs

    assert [run.replaced for run in runs] == list(MODELS)
    assert {run.baseline for run in runs} == {"no-op-ceo"}
    assert runs[2].lineup == (*MODELS[:2], "no-op-ceo", *MODELS[3:])


def test_seeds_keep_the_order_of_the_list() -> None:
    campaign_plan = plan(campaign(("ada",), seeds=[47, 11]))

    assert [(run.seed, run.seed_position, run.position) for run in campaign_plan.runs] == [
        (47, 0, 0),
        (47, 0, 1),
        (11, 1, 2),
        (11, 1, 3),
    ]
    assert campaign_plan.seeds == (47, 11)


def test_one_seat_is_a_panel() -> None:
    runs = plan(campaign(("ada",), seeds=[1])).runs

    assert [(run.lineup_label, run.lineup) for run in runs] == [
        ("reference", ("ada",)),
        ("without-ada", ("rule",)),
    ]


def test_candidates_sit_by_seat_and_not_by_their_place_in_the_file() -> None:
    candidates = [
        {"id": "second", "seat": 2, "policy": "x"},
        {"id": "rule", "policy": "rule"},
        {"id": "first", "seat": 1, "policy": "x"},
    ]

    runs = plan(campaign(candidates=candidates, seeds=[1])).runs

    assert [run.lineup for run in runs] == [
        ("first", "second"),
        ("rule", "second"),
        ("first", "rule"),
    ]


GROUPED: dict[str, Any] = {
    "seeds": [11, 29],
    "candidates": [
        {"id": "ada", "seat": 1, "policy": "x"},
        {"id": "rule", "policy": "rule"},
        {"id": "idle", "policy": "no-action"},
    ],
    "groups": [
        {"name": "trial"},
        {"name": "again", "seeds": [11], "repeats": 2},
        {
            "name": "idle",
            "baseline": "idle",
            "lineups": ["replacements"],
            "seeds": [5, 11],
        },
    ],
}


def test_groups_have_their_own_seeds_repeats_baselines_and_lineups() -> None:
    campaign_plan = plan(campaign(**GROUPED))

    assert campaign_plan.seeds == (11, 29, 5)
    assert ids(campaign_plan) == [
        "trial-s11-reference",
        "trial-s11-without-ada",
        "trial.again-s11-reference",
        "trial.again-s11-without-ada",
        "trial.again-s11-r2-reference",
        "trial.again-s11-r2-without-ada",
        "trial.idle-s11-without-ada",
        "trial-s29-reference",
        "trial-s29-without-ada",
        "trial.idle-s5-without-ada",
    ]
    assert campaign_plan.groups() == ("trial", "again", "idle")
    idle = [run.baseline for run in campaign_plan.runs if run.group == "idle"]
    assert idle == ["idle", "idle"]


def test_more_seeds_repeats_or_candidates_keep_the_ids_of_finished_runs() -> None:
    before = set(ids(plan(campaign(("ada", "bob"), seeds=[11]))))

    assert before < set(ids(plan(campaign(("ada", "bob"), seeds=[11, 29], repeats=2))))
    assert before < set(ids(plan(campaign(("ada", "bob", "cy"), seeds=[11]))))


def test_ids_that_would_be_equal_are_refused() -> None:
    tricky = "x-s2-reference"
    groups = [{"name": "g"}, {"name": "g-s1-without-x"}]

    with pytest.raises(InputError, match="two runs would have the id") as caught:
        plan(campaign((tricky,), seeds=[1, 2], groups=groups))

    assert "trial.g-s1-without-x-s2-reference" in caught.value.message
    assert "Rename a group or a candidate" in caught.value.remedy


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,6}[a-z0-9])?", fullmatch=True).filter(
    lambda name: name != "rule"
)


@given(
    panel=st.lists(NAMES, min_size=1, max_size=10, unique=True),
    seeds=st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=4, unique=True),
    repeats=st.integers(1, 3),
)
def test_any_panel_gives_a_complete_matrix(
    panel: list[str], seeds: list[int], repeats: int
) -> None:
    runs = plan(campaign(panel, seeds=seeds, repeats=repeats)).runs

    assert len(runs) == (len(panel) + 1) * len(seeds) * repeats
    assert [run.position for run in runs] == list(range(len(runs)))
    assert len({run.run_id for run in runs}) == len(runs)
    for run in runs:
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*[a-z0-9]", run.run_id)
        assert len(run.lineup) == len(panel)
        changed = [seat for seat, name in enumerate(panel) if run.lineup[seat] != name]
        if run.replaced is None:
            assert changed == []
        else:
            assert changed == [panel.index(run.replaced)]
            assert run.lineup[changed[0]] == run.baseline == "rule"
    keys = [
        (run.seed_position, run.repeat, -1 if run.replaced is None else panel.index(run.replaced))
        for run in runs
    ]
    assert keys == sorted(keys)


BACKGROUND = (
    "background-value-1",
    "background-value-2",
    "background-value-3",
    "background-mainstream-1",
    "background-mainstream-2",
    "background-mainstream-3",
    "background-premium-1",
    "background-premium-2",
)


def test_the_rule_search_in_full() -> None:
    runs = plan(load_definition("rule-search")).runs

    development, validation = runs[:72], runs[72:]
    assert [(run.seed, run.lineup) for run in development] == [
        (seed, (f"profile-{number:02}", *BACKGROUND))
        for seed in (7, 19, 42)
        for number in range(1, 25)
    ]
    assert {run.stage for run in development} == {"development"}
    assert {run.depends_on for run in development} == {()}
    assert development[16].run_id == "rule-search-s7-profile-17"
    assert [(run.run_id, run.lineup) for run in validation] == [
        (f"rule-search-s{seed}-winner", (SEARCH_WINNER, *BACKGROUND)) for seed in (211, 307, 401)
    ]
    assert {run.stage for run in validation} == {"validation"}
    everything = tuple(run.run_id for run in development)
    assert {run.depends_on for run in validation} == {everything}


def test_the_winner_takes_its_seat() -> None:
    runs = plan(load_definition("rule-search")).runs

    resolved = resolve(runs[-1], "profile-17")

    assert resolved.lineup == ("profile-17", *BACKGROUND)
    assert resolved.run_id == runs[-1].run_id
    assert resolve(resolved, "profile-01") == resolved
    assert resolve(runs[0], "profile-17") == runs[0]


def test_a_search_may_contest_any_seat() -> None:
    definition = campaign(
        candidates=[
            {"id": "ada", "seat": 1, "policy": "x"},
            {"id": "bob", "seat": 3, "policy": "x"},
        ],
        baseline=None,
        seeds=[1],
        search={
            "seat": 2,
            "policy": "rule",
            "axes": [{"values": [{"p": 1}, {"p": 2}]}],
            "validation_seeds": [9],
        },
    )

    runs = plan(definition).runs

    assert [run.lineup for run in runs] == [
        ("ada", "profile-1", "bob"),
        ("ada", "profile-2", "bob"),
        ("ada", "search-winner", "bob"),
    ]
    assert [candidate.id for candidate in definition.all_candidates()] == [
        "ada",
        "bob",
        "profile-1",
        "profile-2",
    ]


def test_validation_on_a_development_seed_is_a_run_of_its_own() -> None:
    runs = plan(rule_search_definition(seeds=[211], profiles=[17])).runs

    assert [run.run_id for run in runs if run.seed == 211] == [
        "rule-search-s211-profile-17",
        "rule-search-s211-winner",
    ]
