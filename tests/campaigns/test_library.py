"""The library campaigns against the tables of the specification."""

from collections import Counter

import pytest

from campaigns.definition import UNLIMITED, Allowances, load_definition
from campaigns.plan import plan
from campaigns.sources import library_names

# providers.md section 1: seat, model, protocol, options, native ceiling, aliases.
PANEL = [
    (1, "gpt-6-astra", "responses", {"reasoning": {"effort": "max"}}, 128_000, None),
    (
        2,
        "deepseek-v4-pro",
        "chat",
        {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        393_216,
        None,
    ),
    (
        3,
        "claude-sonnet-5",
        "messages",
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
        128_000,
        None,
    ),
    (
        4,
        "qwen3.8-max",
        "chat",
        {"enable_thinking": True, "reasoning_effort": "xhigh"},
        65_536,
        None,
    ),
    (5, "gpt-5.6-sol", "responses", {"reasoning": {"effort": "max"}}, 128_000, None),
    (6, "gemini-3.8-flash", "chat", {"reasoning_effort": "high"}, 65_536, None),
    (
        7,
        "deepseek-v4-flash",
        "chat",
        {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        393_216,
        ["deepseek-flash"],
    ),
    (
        8,
        "doubao-seed-1.8",
        "chat",
        {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        65_536,
        ["doubao-seed-1-8-251228"],
    ),
]

# How the Chat Completions of some vendors differ from the rest.
DIALECTS = {
    "qwen3.8-max": {"return_bad_arguments": "as empty object"},
    "gemini-3.8-flash": {"reasoning_tokens": "in total only"},
    "doubao-seed-1.8": {"output_limit_field": "max_completion_tokens"},
}

# interface.md section 8: the evaluated profile, money in cents a day.
EVALUATED_RULE = {
    "price_multiplier_percent": 100,
    "focus_segment": "mainstream",
    "reorder_targets": {"A": 150, "B": 100, "C": 50},
    "development_cents": 5_000,
    "marketing_cents": 5_000,
    "reliability_cents": 2_500,
    "support_cents": 5_000,
    "cash_floor_cents": 5_000_000,
}


def test_the_library_is_complete() -> None:
    named = {"main", "no-action", "rehearsal", "rehearsal-llm", "repeats", "rule-search"}
    assert set(library_names()) >= named


@pytest.mark.parametrize("name", library_names())
def test_every_library_campaign_is_named_like_its_file(name: str) -> None:
    assert load_definition(name).name == name


@pytest.mark.parametrize("name", ["main", "repeats", "no-action"])
def test_the_evaluated_panel(name: str) -> None:
    panel = load_definition(name).panel()

    seen = []
    for candidate in panel:
        route = candidate.route or {}
        assert set(route) <= {
            "protocol",
            "model",
            "native_ceiling",
            "options",
            "accepted_aliases",
            "endpoint_env",
            "credentials",
            "chat",
        }
        assert route.get("chat") == DIALECTS.get(candidate.id)
        assert route["model"] == candidate.id
        assert str(route["endpoint_env"]).endswith("_BASE_URL")
        seen.append(
            (
                candidate.seat,
                route["model"],
                route["protocol"],
                route["options"],
                route["native_ceiling"],
                route.get("accepted_aliases"),
            )
        )
    assert seen == PANEL


def test_main_runs_against_the_evaluated_rule_with_the_standard_allowances() -> None:
    main = load_definition("main")

    baseline = next(candidate for candidate in main.candidates if candidate.seat is None)
    assert main.baseline == baseline.id == "deterministic-rule-ceo"
    assert (baseline.policy, baseline.parameters) == ("rule", EVALUATED_RULE)
    assert main.seeds == (11, 29, 47)
    assert main.recovery == "fresh-allowance"
    assert {main.allowances_of(candidate) for candidate in main.panel()} == {Allowances()}


@pytest.mark.parametrize("name", ["repeats", "no-action"])
def test_the_later_campaigns_keep_usage_and_lift_two_token_limits(name: str) -> None:
    definition = load_definition(name)

    assert definition.recovery == "cumulative-usage"
    limits = [definition.allowances_of(candidate) for candidate in definition.panel()]
    assert [limit.output_tokens == UNLIMITED for limit in limits] == [
        seat in (1, 5) for seat in range(1, 9)
    ]
    assert {(limit.replies, limit.seconds) for limit in limits} == {(32, 3_600)}


def test_no_action_has_no_other_baseline() -> None:
    definition = load_definition("no-action")

    spare = [candidate for candidate in definition.candidates if candidate.seat is None]
    assert [(candidate.id, candidate.policy) for candidate in spare] == [("no-op-ceo", "no-action")]
    assert definition.baseline == "no-op-ceo"


def test_the_rehearsal_seats_eight_characters() -> None:
    rehearsal = load_definition("rehearsal")

    characters = [
        "price-follower",
        "growth",
        "quality-leader",
        "tender-hunter",
        "harvester",
        "overspender",
        "discounter",
        "balanced",
    ]
    assert [candidate.id for candidate in rehearsal.panel()] == characters
    assert [candidate.policy for candidate in rehearsal.panel()] == characters
    assert all(candidate.route is None for candidate in rehearsal.candidates)
    rule = rehearsal.candidates[-1]
    assert (rule.id, rule.parameters) == ("deterministic-rule-ceo", EVALUATED_RULE)
    assert rehearsal.seeds == (11, 29, 47)


def test_the_rehearsal_of_models_seats_eight_agents_of_the_gateway() -> None:
    rehearsal = load_definition("rehearsal-llm")

    agents = [
        "analyst",
        "trader",
        "builder",
        "researcher",
        "bidder",
        "diarist",
        "gambler",
        "apprentice",
    ]
    assert [candidate.id for candidate in rehearsal.panel()] == agents
    for candidate in rehearsal.panel():
        assert candidate.route is not None
        assert candidate.route["model"] == f"rehearsal-{candidate.id}"
        assert candidate.route["endpoint_env"] == "CEO_ARENA_REHEARSAL_URL"
    spoken = Counter((candidate.route or {})["protocol"] for candidate in rehearsal.panel())
    assert spoken == {"chat": 3, "responses": 3, "messages": 2}
    rule = rehearsal.candidates[-1]
    assert (rule.id, rule.parameters) == ("deterministic-rule-ceo", EVALUATED_RULE)
    assert rehearsal.baseline == rule.id
    assert rehearsal.seeds == (11, 29, 47)
    assert rehearsal.release == "rehearsal", "its results are kept apart from those of real models"


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("main", 27),
        ("repeats", 18),
        ("no-action", 8),
        ("rule-search", 75),
        ("rehearsal", 27),
        ("rehearsal-llm", 27),
    ],
)
def test_the_number_of_runs(name: str, count: int) -> None:
    assert len(plan(load_definition(name)).runs) == count
